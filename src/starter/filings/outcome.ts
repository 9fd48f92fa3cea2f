import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { FilingResult } from '../../domain/contracts';
import type { FilingView } from '../../domain/filing/view';
import { readFilingView } from '../../ledger/filings/filing-view';
import { getFiling } from '../../ledger/filings/filings';

/** How long, and how often, the ledger is polled for a move that the workflow has made. */
const RECORDED_WITHIN_MS = 10_000;
const RECORDED_LOOK_MS = 100;

/** What came of a call on a filing. */
export interface FilingOutcome {
  filing: FilingView;
  /** Whether only a person can bring it on: approve, resolve, new credentials, access to the service. */
  waitsForPerson: boolean;
  /** What a person should know that the filing itself does not say, such as that no worker runs. */
  notice: string | null;
}

/** States that time alone does not end. */
const PERSON_NEEDED: ReadonlySet<string> = new Set(['awaiting_approval', 'needs_credentials', 'needs_access']);

/** Whether a filing stands still until a person does something. `overdue` goes on being polled. */
export function waitsForPerson({ state, asked }: Pick<FilingResult, 'state' | 'asked'>): boolean {
  // An unknown outcome gathers evidence by itself before a person is asked.
  return PERSON_NEEDED.has(state) || (state === 'outcome_unknown' && asked);
}

/** The recorded filing behind a workflow's answer; what the answer alone tells where nothing is recorded. */
export async function viewOfResult(
  pool: pg.Pool,
  result: FilingResult | null,
  started: { workflowId: string; reference: string; exporterId: string },
): Promise<FilingView> {
  if (result) await untilRecorded(pool, result);
  const recorded = result?.filingId ? await readFilingView(pool, result.filingId) : null;
  if (recorded) return recorded.errors.length > 0 ? recorded : { ...recorded, errors: result?.errors ?? [] };
  return {
    ...EMPTY,
    ...started,
    ...(result && {
      filingId: result.filingId,
      state: result.state,
      attention: result.attention,
      needsAttention: result.attention !== null || result.errors.length > 0,
      requestId: result.requestId,
      dgftAckId: result.dgftAckId,
      counts: result.counts,
      errors: result.errors,
    }),
  };
}

/**
 * A workflow answers as soon as it has moved; the ledger, which is printed, records the move a moment later. After a
 * while this stops waiting, and the ledger's state so far is printed.
 */
async function untilRecorded(pool: pg.Pool, { filingId, seq }: FilingResult): Promise<void> {
  if (filingId === null) return;
  for (const until = Date.now() + RECORDED_WITHIN_MS; Date.now() < until; await sleep(RECORDED_LOOK_MS)) {
    if (((await getFiling(pool, filingId))?.seq ?? seq) >= seq) return;
  }
}

const EMPTY: Omit<FilingView, 'workflowId' | 'reference' | 'exporterId'> = {
  filingId: null,
  state: 'started',
  needsAttention: false,
  attention: null,
  asked: false,
  requestId: null,
  dgftAckId: null,
  uploadType: null,
  channel: null,
  declaration: null,
  madeBy: null,
  madeAt: null,
  attempt: null,
  corrects: null,
  correctedBy: [],
  counts: { rows: 0, certified: 0, archived: 0, errored: 0, open: 0 },
  submissions: [],
  warnings: [],
  rows: [],
  errors: [],
  evidence: null,
  annotated: null,
};
