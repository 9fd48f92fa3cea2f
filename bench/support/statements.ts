import pg from 'pg';

/** As it was given to `pg`: with its name, where it is prepared. */
export type Statement = [text: string | { text: string }, values?: unknown[]];

export const textOf = ([first]: Statement): string => (typeof first === 'string' ? first : first.text);

let sent: Statement[] = [];
// eslint-disable-next-line @typescript-eslint/unbound-method -- called with the client it was called on
const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  sent.push(args as Statement);
  return query.apply(this, args);
} as typeof pg.Client.prototype.query;

/** What this process sends to PostgreSQL while `work` runs. */
export async function statementsOf(work: () => Promise<unknown>): Promise<Statement[]> {
  sent = [];
  await work();
  return sent.splice(0);
}
