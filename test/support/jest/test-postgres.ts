/**
 * How jest's global set-up tells the test processes where the database server is: environment variables reach them all.
 */
export const ADMIN_URL_VARIABLE = 'EBRC_TEST_ADMIN_URL';
export const TEMPLATE_VARIABLE = 'EBRC_TEST_TEMPLATE';

/** The same server, another database. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${encodeURIComponent(database)}`;
  return changed.toString();
}
