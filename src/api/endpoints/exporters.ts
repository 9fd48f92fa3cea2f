import { z } from 'zod';
import type { Operation } from '../../domain/service/operations';
import type { CallContext, Caller, CallRequest } from '../http/call';
import { callJson, download, jsonBody, outgoing, type DownloadSink } from './calls';
import { MAX_PAGE_SIZE, allPages, readPage, type Page } from './paging';
import {
  createCustomerBody,
  credentialsBody,
  customer,
  updateCustomerBody,
  irm,
  type Customer,
  type Irm,
} from '../schemas/exporters';
import { readText } from '../http/answers';

const customerId = z.string().min(1, 'the customer id is empty');

/** A page of a list. Unreadable items become null, so that a full page still counts as full. */
function pageOf<T>(item: z.ZodType<T>): z.ZodType<Omit<Page, 'items'> & { items: (T | null)[] }> {
  return z
    .unknown()
    .transform((value, context): Page => {
      const page = readPage(value);
      if (page !== null) return page;
      context.addIssue({ code: 'custom', message: 'neither a list nor an object with one list in it' });
      return z.NEVER;
    })
    .pipe(
      z.object({
        items: z.array(item.nullable().catch(null)),
        totalPages: z.number().nullable(),
        total: z.number().nullable(),
      }),
    );
}

/** The fields of the spec, which are the same in every reading of a record; its times and unknown fields may not be. */
const fieldsOf = (schema: { in: { shape: object } }): string[] =>
  Object.keys(schema.in.shape).filter((name) => name !== 'createdAt' && name !== 'updatedAt');

const CUSTOMERS = { page: pageOf(customer), fields: fieldsOf(customer) };

/**
 * The readable items of all pages; unreadable ones are counted and logged. If records change their order between two
 * pages, one appears twice and another not at all, so the list is read again while its total exceeds the items seen and
 * a reading shows new ones. Returns how many records were unreadable or on no page.
 */
async function* readable<T>(
  caller: Caller,
  { operation, query }: Pick<CallRequest, 'operation' | 'query'>,
  { limit, page: schema, fields }: { limit: number; page: ReturnType<typeof pageOf<T>>; fields: string[] },
  call: CallContext,
): AsyncGenerator<T, number> {
  const seen = new Set<string>();
  let total = 0;
  const list = async (page: number) => {
    const answer = await callJson(caller, { operation, query: { ...query, page, limit } }, call, schema);
    total = answer.total ?? 0;
    return answer;
  };
  let unread = 0;
  const missing = () => Math.max(0, total - seen.size - unread);
  for (let reading = 1, before = -1; reading <= MAX_READINGS && seen.size > before; reading += 1) {
    before = seen.size;
    unread = 0;
    for await (const item of allPages(limit, list)) {
      if (item === null) {
        unread += 1;
        continue;
      }
      // Compare whole records: two with the same id must both be returned.
      const content = JSON.stringify(item, fields);
      if (seen.has(content)) continue;
      seen.add(content);
      yield item;
    }
    if (missing() === 0) break;
  }
  caller.noteUnread(operation, unread + missing());
  return unread + missing();
}

/** The most readings of a list whose pages leave records out. */
const MAX_READINGS = 5;

/** Customers and their credentials (spec: "POST /platform-customers" to "check-dgft-credentials"). */
export function createCustomerApi(caller: Caller) {
  function forCustomer(operation: Operation, id: string): Pick<CallRequest, 'operation' | 'params'> {
    return { operation, params: { id: outgoing(operation, customerId, id) } };
  }

  return {
    async createCustomer(
      input: Omit<z.input<typeof createCustomerBody>, 'type'>,
      call: CallContext = {},
    ): Promise<Customer> {
      const body = outgoing('createCustomer', createCustomerBody, { ...input, type: 'customer' });
      const request: CallRequest = { operation: 'createCustomer', ...jsonBody(body), secrets: [body.dgftPassword] };
      return callJson(caller, request, call, customer);
    },
    /** The answer lacks `mode`. */
    getCustomer: async (id: string, call: CallContext = {}): Promise<Customer> =>
      callJson(caller, forCustomer('getCustomer', id), call, customer),
    /** Fields that are left out stay unchanged. */
    async updateCustomer(id: string, patch: z.input<typeof updateCustomerBody>, call: CallContext = {}) {
      const body = outgoing('updateCustomer', updateCustomerBody, patch);
      return callJson(caller, { ...forCustomer('updateCustomer', id), ...jsonBody(body) }, call, customer);
    },
    /** All pages; the items lack `mode` and `dgftApiStatus`. `limit`: page size. */
    async *listCustomers(query: { search?: string; limit?: number } = {}, call: CallContext = {}) {
      const limit = Math.min(Math.max(query.limit ?? MAX_PAGE_SIZE, 1), MAX_PAGE_SIZE);
      const request = { operation: 'listCustomers' as const, query: { search: query.search } };
      yield* readable(caller, request, { limit, ...CUSTOMERS }, call);
    },
    /** Makes a real portal login, so it may take long. */
    async checkCredentials(id: string, credentials: z.input<typeof credentialsBody>, call: CallContext = {}) {
      const body = outgoing('checkCredentials', credentialsBody, credentials);
      const secrets = [body.dgftPassword];
      return callJson(caller, { ...forCustomer('checkCredentials', id), ...jsonBody(body), secrets }, call, customer);
    },
  };
}

/** A record without an IRM number counts as unreadable, because it can be neither filed nor stored. */
const IRMS = { page: pageOf(irm), fields: fieldsOf(irm) };

/** Saved IRM records (spec: "GET /irm", "GET /irm/bulk-template", "POST /irm/refresh"). */
export function createIrmApi(caller: Caller) {
  return {
    /** All IRMs of a customer. Returns how many could not be read: with any, the list is not whole. */
    async *listIrms(platformCustomerId: string, call: CallContext = {}): AsyncGenerator<Irm, number> {
      const query = { platformCustomerId: outgoing('listIrms', customerId, platformCustomerId) };
      return yield* readable(caller, { operation: 'listIrms', query }, { limit: MAX_PAGE_SIZE, ...IRMS }, call);
    },
    async irmTemplate<T>(platformCustomerId: string, sink: DownloadSink<T>, call: CallContext = {}): Promise<T> {
      const query = { platformCustomerId: outgoing('irmTemplate', customerId, platformCustomerId) };
      return download(caller, { operation: 'irmTemplate', query }, sink, call);
    },
    /** The spec does not show the answer's shape, so any 2xx counts as a refresh. */
    async refreshIrms(platformCustomerId: string, call: CallContext = {}): Promise<void> {
      const body = { platformCustomerId: outgoing('refreshIrms', customerId, platformCustomerId) };
      await caller.call({ operation: 'refreshIrms', ...jsonBody(body) }, call, ({ body: answer }) => readText(answer));
    },
  };
}
