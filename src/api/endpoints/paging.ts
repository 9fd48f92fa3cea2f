import { isObject } from '../../domain/values';
import { wholeNumber } from '../schemas/clean';

export interface Page {
  items: unknown[];
  totalPages: number | null;
  /** Records of the whole list; null where the page does not say. */
  total: number | null;
}

/** The service's largest page (spec: "Pagination"). */
export const MAX_PAGE_SIZE = 100;

/** An endless list is a defect of the service; it must not become an endless loop here. */
const MAX_PAGES = 10_000;

/** Reads `{data, meta}`, an array, or an object with one list: the customer list's shape is not shown. */
export function readPage(value: unknown): Page | null {
  if (value === null || value === '') return EMPTY;
  if (Array.isArray(value)) return { ...EMPTY, items: value as unknown[] };
  if (!isObject(value)) return null;
  if ('data' in value && (value.data === null || value.data === '')) {
    const counts = countsOf(value, 0);
    // No list: an entry that cannot be read, unless the page itself says that there is none.
    return { items: counts.total === 0 ? [] : [null], ...counts };
  }
  const lists = Array.isArray(value.data) ? [value.data as unknown[]] : Object.values(value).filter(isList);
  const [items] = lists;
  return items && lists.length === 1 ? { items, ...countsOf(value, items.length) } : null;
}

const EMPTY: Page = { items: [], totalPages: null, total: null };

/**
 * The totals from `meta`, `pagination`, or the page itself; that of pages is computed from the number of items and the
 * page size if only these are there.
 */
function countsOf(page: Record<string, unknown>, listed: number): Omit<Page, 'items'> {
  const about = [page.meta, page.pagination].find(isObject) ?? page;
  const [totalPages, total, limit] = [about.totalPages, about.total, about.limit].map(wholeNumber);
  // Without a page size, the page itself shows it.
  const perPage = limit || listed;
  const computed = total !== undefined && perPage ? Math.ceil(total / perPage) : null;
  return { totalPages: totalPages ?? computed, total: total ?? null };
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

/**
 * Reads all pages, one call at a time. Ends at the last that is named, or the first that is not full or repeated: a
 * service that ignores `page` would send its first page for ever.
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
