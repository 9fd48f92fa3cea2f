import { isObject } from '../../domain/values';
import { wholeNumber } from '../schemas/clean';

export interface Page {
  items: unknown[];
  totalPages: number | null;
  /** Number of records in the whole list; null if unknown. */
  total: number | null;
}

/** The service's largest page (spec: "Pagination"). */
export const MAX_PAGE_SIZE = 100;

/** Keeps an endless list of the service from becoming an endless loop. */
const MAX_PAGES = 10_000;

/** Reads `{data, meta}`, an array, or an object with one list, because the spec does not show the list's shape. */
export function readPage(value: unknown): Page | null {
  if (value === null || value === '') return EMPTY;
  if (Array.isArray(value)) return { ...EMPTY, items: value as unknown[] };
  if (!isObject(value)) return null;
  if ('data' in value && (value.data === null || value.data === '')) {
    const counts = countsOf(value, 0);
    // No list counts as an unreadable entry, unless the page's total is 0.
    return { items: counts.total === 0 ? [] : [null], ...counts };
  }
  const lists = Array.isArray(value.data) ? [value.data as unknown[]] : Object.values(value).filter(isList);
  const [items] = lists;
  return items && lists.length === 1 ? { items, ...countsOf(value, items.length) } : null;
}

const EMPTY: Page = { items: [], totalPages: null, total: null };

/**
 * The totals from `meta`, `pagination`, or the page itself. Without a number of pages it is computed from the number of
 * records and the page size.
 */
function countsOf(page: Record<string, unknown>, listed: number): Omit<Page, 'items'> {
  const about = [page.meta, page.pagination].find(isObject) ?? page;
  const [totalPages, total, limit] = [about.totalPages, about.total, about.limit].map(wholeNumber);
  // Without a page size, use the length of this page.
  const perPage = limit || listed;
  const computed = total !== undefined && perPage ? Math.ceil(total / perPage) : null;
  return { totalPages: totalPages ?? computed, total: total ?? null };
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

/**
 * Reads all pages, one call at a time. Ends after the announced last page, else at the first page that is not full, and
 * at a repeated page, because a service that ignores `page` would send its first page forever.
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
