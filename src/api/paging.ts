/** One page of a list, in whichever of the shapes the service may use. */
export interface Page {
  items: unknown[];
  totalPages: number | null;
}

/** The service's largest page (spec: "Pagination"). */
export const MAX_PAGE_SIZE = 100;

/** A list that never ends is a defect of the service; it must not become an endless loop here. */
const MAX_PAGES = 10_000;

/** Reads a page: `{data, meta}`, or a bare array (the shape of the customer list is not shown). Null if it is neither. */
export function readPage(value: unknown): Page | null {
  if (Array.isArray(value)) return { items: value as unknown[], totalPages: null };
  if (!isObject(value) || !Array.isArray(value.data)) return null;
  const meta = isObject(value.meta) ? value.meta : {};
  const totalPages = Number(meta.totalPages);
  const known = meta.totalPages !== null && meta.totalPages !== '' && Number.isInteger(totalPages);
  return { items: value.data as unknown[], totalPages: known ? totalPages : null };
}

/**
 * Goes through all pages, one call at a time. Ends at the last page that the service names, else at the first page
 * that is not full. A page that repeats the one before it ends the list too: a service that ignores `page` would
 * otherwise send its first page for ever.
 */
export async function* allPages<T>(
  pageSize: number,
  fetchPage: (page: number) => Promise<{ items: T[]; totalPages: number | null }>,
): AsyncGenerator<T> {
  let before: string | null = null;
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const { items, totalPages } = await fetchPage(page);
    const content = JSON.stringify(items);
    if (content === before) return;
    before = content;
    yield* items;
    const isLast = totalPages === null ? items.length < pageSize : page >= totalPages;
    if (isLast || items.length === 0) return;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
