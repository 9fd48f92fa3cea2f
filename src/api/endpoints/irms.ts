import { z } from 'zod';
import { readText } from '../http/answers';
import type { Caller } from '../http/call';
import { cleanAnswer, cleanWords, parseJson } from '../schemas/clean';
import type { CallContext, FilingApi } from '../client-types';
import { pageOf, readable } from './customers';
import { createDownload, callJson, jsonBody, outgoing } from './calls';
import { MAX_PAGE_SIZE, allPages } from './paging';
import { irm, listIrmsQuery, type ListIrmsQuery } from '../schemas/irms';

type IrmApi = Pick<FilingApi, 'listIrms' | 'irmTemplate' | 'refreshIrms'>;

const customerId = z.string().min(1, 'platformCustomerId is empty');
/** A record without an IRM number can be neither filed nor stored. */
const PAGE = pageOf(irm);

/** Saved IRM records (spec: "GET /irm", "GET /irm/bulk-template", "POST /irm/refresh"). */
export function createIrmApi(caller: Caller): IrmApi {
  const download = createDownload(caller);

  async function* listIrms(input: ListIrmsQuery, call: CallContext) {
    const query = outgoing('listIrms', listIrmsQuery, input);
    const list = (page: number) => ({
      operation: 'listIrms' as const,
      query: { ...query, page, limit: MAX_PAGE_SIZE },
    });
    yield* readable(
      caller,
      'listIrms',
      allPages(MAX_PAGE_SIZE, (page) => callJson(caller, list(page), call, PAGE)),
    );
  }

  return {
    listIrms: (query, call = {}) => listIrms(query, call),
    irmTemplate: async (platformCustomerId, sink, call = {}) => {
      const query = { platformCustomerId: outgoing('irmTemplate', customerId, platformCustomerId) };
      const request = { operation: 'irmTemplate' as const, query };
      return download(request, sink, call);
    },
    refreshIrms: async (platformCustomerId, call = {}) => {
      const body = { platformCustomerId: outgoing('refreshIrms', customerId, platformCustomerId) };
      // The answer's shape is not shown: the status alone proves that the refresh was made.
      return caller.call({ operation: 'refreshIrms', ...jsonBody(body) }, call, async (answer) =>
        parsedOrText(await readText(answer.body)),
      );
    },
  };
}

function parsedOrText(text: string): unknown {
  try {
    return cleanAnswer(parseJson(text));
  } catch {
    return text === '' ? null : cleanWords(text);
  }
}
