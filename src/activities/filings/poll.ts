import { ApiError } from '../../api/errors/api-error';
import { pollDelayMs } from '../../domain/filing/poll-times';
import { readOpenRequests, storeRecord, type OpenRequest } from '../../ledger/attempts/records';
import { withTransaction } from '../../ledger/pool';
import { notYet } from '../application-failure';
import { withHeartbeat } from '../call-context';
import type { Deps } from '../dependencies';
import { withCredentials } from '../exporters/credential-guard';

/**
 * POST /genebrc/status for the open requests of a filing. Returns once a record is stored that the run has to judge, or
 * when `until` (epoch ms) is over; otherwise it is tried again after the time that fits the request's age. What an
 * execution stored whose answer never reached the run is news to the next one: `since` is when the run judged last.
 */
async function pollStatus(
  deps: Deps,
  { filingId, exporterId, until, since }: { filingId: string; exporterId: string; until: number; since: number },
): Promise<{ news: boolean }> {
  const { pool, settings } = deps;
  const { requests, openRequests, now, ...known } = await readOpenRequests(pool, filingId, since);
  let { news } = known;
  if (news || requests.length === 0 || now >= until) return { news };
  let delayMs = Infinity;
  for (const request of requests) {
    const { ageMs, polledAgoMs } = request;
    const due = pollDelayMs({ ...settings, ageMs: ageMs - (polledAgoMs ?? ageMs), openRequests });
    const leftMs = polledAgoMs === null ? settings.pollFirstMs - ageMs : due - polledAgoMs;
    if (leftMs <= 0) {
      news = (await ask(deps, filingId, exporterId, request)) || news;
      delayMs = Math.min(delayMs, pollDelayMs({ ...settings, ageMs, openRequests }));
    } else delayMs = Math.min(delayMs, leftMs);
  }
  if (news) return { news };
  throw notYet('The authority has not answered yet.', Math.max(1_000, Math.min(delayMs, until - now)));
}

/** Asks for one request; a denial is stored as one. @returns whether it is news */
async function ask(
  deps: Deps,
  filingId: string,
  exporterId: string,
  { number, requestId }: OpenRequest,
): Promise<boolean> {
  const { pool, api } = deps;
  const query = { platformCustomerId: exporterId, requestId };
  const call = () => withHeartbeat(exporterId, (context) => api.status(query, context));
  const record = await withCredentials(deps, exporterId, call).catch((error: unknown) => {
    if (error instanceof ApiError && DENIALS.includes(error.kind)) return null;
    throw error;
  });
  return withTransaction(pool, (client) => storeRecord(client, { filingId, number, requestId, record }));
}

/** Answers that deny a request: it does not exist, or its id is not well-formed. */
const DENIALS: readonly ApiError['kind'][] = ['request_not_found', 'validation_failed', 'not_found'];

export const pollActivities = { pollStatus };
