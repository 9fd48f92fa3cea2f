import type { FilingApi } from '../../api/client-types';
import { ApiError } from '../../api/errors/api-error';
import { firstLine } from '../errors';
import { clockResult, fine, wrong, type CheckResult } from './finding';

const ANSWER_WITHIN_MS = 10_000;

const ADVICE: Readonly<Record<string, string>> = {
  unauthorized: 'Check EBRC_API_KEY: the service does not know this key.',
  forbidden: 'Check that the agreements are signed and that EBRC_API_KEY is a platform key.',
};

/**
 * Checks of the filing service: reachable, accepts the key, its clock. `api` is within the budget that the workers
 * share; without it the key is not tried.
 */
export async function serviceChecks(apiUrl: string, api: (() => Promise<FilingApi>) | null): Promise<CheckResult[]> {
  const clock = await checkClock(apiUrl);
  // If the service does not answer, no call of the budget is used.
  if (!clock.reached) return [wrong('service', clock.why, 'Check EBRC_API_URL, and that it can be reached from here.')];
  const key = api ? await checkKey(api) : fine('service', 'reached; the key is tried once the ledger is usable');
  return [key, ...(clock.result ? [clock.result] : [])];
}

async function checkKey(api: () => Promise<FilingApi>): Promise<CheckResult> {
  try {
    for await (const _customer of (await api()).listCustomers({ limit: 1 }, {})) break;
    return fine('service', 'reached, and accepts the key');
  } catch (error) {
    const kind = error instanceof ApiError ? error.kind : '';
    const advice = ADVICE[kind] ?? 'Check EBRC_API_URL, and run `ebrc doctor` again in a minute.';
    return wrong('service', firstLine(error), advice);
  }
}

type Clock = { reached: true; result: CheckResult | null } | { reached: false; why: string };

/**
 * Asked without the key, so that no call of its budget is used: the refusal has a Date header too (spec:
 * "Authentication").
 */
async function checkClock(apiUrl: string): Promise<Clock> {
  try {
    const asked = Date.now();
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const answer = await fetch(`${apiUrl}/platform-customers`, { signal, redirect: 'manual' });
    const answered = Date.now();
    await answer.body?.cancel();
    const theirs = Date.parse(answer.headers.get('date') ?? '');
    if (Number.isNaN(theirs)) return { reached: true, result: null };
    const times = { asked, theirs, answered, coarseMs: 1_000 };
    return { reached: true, result: clockResult('clock of the service', 'the filing service', times) };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { reached: false, why: `it does not answer (${firstLine(cause)})` };
  }
}
