/**
 * One step of a filing's run: store what its last call came to, read the facts, decide, move. Everything is read anew
 * under the filing's lock, so that a repeated step, another run or another worker only asks again what is next.
 */
import type pg from 'pg';
import { DAY_MS, MINUTE_MS } from '../../domain/dates';
import type { Decided, LedgerTime, Next, PauseReason, Told } from '../../domain/filing/facts';
import { nextStep } from '../../domain/filing/next-step';
import { hasErrors, type Finding } from '../../domain/rules/finding';
import {
  ACCESS,
  ACTIVATION,
  CREDENTIALS,
  delayMs,
  pauseReasonOf,
  type Schedule,
} from '../../domain/service/retry-table';
import type { ErrorKind } from '../../domain/service/error-kinds';
import type { FilingState } from '../../domain/filing/states';
import { withTransaction } from '../pool';
import { insertUnknown, noteSilent, readAttempts, type AttemptRow } from './attempts';
import { carryOutDecisions } from './decisions';
import { readFacts, type DecidingSettings } from './facts';
import { applyRecords } from './follow';
import { lockFiling, lockIrmsOf, type LockedFiling } from './lock';
import { addEvent, moveFiling } from './move';
import { assignIec, checkFiling } from './check';
import { reserveBalances } from './reserve';
import { applyReadings } from './settle';

/** Why a call failed, as the failure mapper gave it. */
export interface CallFailure {
  /** Null: it did not come from our code, such as a lost worker. */
  kind: ErrorKind | null;
  message: string;
  credentialsVersion?: number;
}

/** Who asks what is next. */
export interface Asking {
  filingId: string;
  workflowId: string;
  /** The run, and the one that it continues: the same chain remembers `told`. */
  run: string;
  continues: string | null;
  told: Told | null;
  /** The call that ended, and why it failed; null: a wait ended, or nothing was called yet. */
  failure: CallFailure | null;
  called: Next['do'] | null;
  /** The run was cancelled in the Temporal UI. */
  cancelled: boolean;
  settings: DecidingSettings & { singlePerson: boolean };
}

export interface Step {
  filing: LockedFiling;
  decided: Decided;
  told: Told | null;
  time: LedgerTime;
}

/** Ledger steps that a run may take in a row before it goes back to Temporal: a bound against a defect alone. */
const STEPS_IN_A_ROW = 12;

/** Advances a filing until something outside of the ledger is next. @throws FilingMissing, LedgerUnavailableError */
export async function advance(pool: pg.Pool, asking: Asking): Promise<Step> {
  let step = await advanceOnce(pool, asking);
  for (let steps = 1; ; steps += 1) {
    const { next } = step.decided;
    if (next.do !== 'check' && next.do !== 'reserve') return step;
    if (steps === STEPS_IN_A_ROW) throw new Error(`Filing ${asking.filingId} repeats the step ${next.do}.`);
    await (next.do === 'check' ? check : reserve)(pool, asking);
    step = await advanceOnce(pool, { ...asking, failure: null, called: null, told: step.told });
  }
}

async function advanceOnce(pool: pg.Pool, asking: Asking): Promise<Step> {
  return withTransaction(pool, async (client) => {
    // Rows may be held again or planned again: their IRMs are locked before the filing.
    await lockIrmsOf(client, asking.filingId);
    const filing = await lockFiling(client, asking.filingId);
    // Another workflow's filing goes on there: this run ends with what stands.
    if (filing.workflowId !== asking.workflowId) return standing(filing, asking);
    const told = await noteLostTime(client, filing, asking);
    await noteSilent(client, filing, asking.settings.httpTimeoutMs);
    await storePause(client, filing, asking);
    if (asking.cancelled) await cancel(client, filing);
    const before = await progressOf(client, filing);
    await applyRecords(client, filing);
    await applyReadings(client, filing, asking.settings);
    await carryOutDecisions(client, filing, asking.settings);
    const progressed = (await progressOf(client, filing)) !== before;
    let decided = nextStep(await readFacts(client, filing, asking.settings));
    await move(client, filing, decided, asking, progressed);
    // An ended filing may still have its workbook to be annotated.
    if (filing.closed && decided.next.do === 'end')
      decided = nextStep(await readFacts(client, filing, asking.settings));
    const time = { epoch: filing.epochNow, beat: filing.beat };
    const { next } = decided;
    const nowTold = next.do === 'submit' && next.n >= (told?.n ?? 0) ? { n: next.n, ...time } : told;
    await noteRun(client, filing, asking, nowTold);
    return { filing, decided, told: nowTold, time };
  });
}

const standing = (filing: LockedFiling, { told }: Asking): Step => ({
  filing,
  decided: { next: { do: 'end' }, state: filing.state, attention: filing.attention, asked: filing.asked, text: '' },
  told,
  time: { epoch: filing.epochNow, beat: filing.beat },
});

/**
 * Inserts an attempt as unknown where the ledger may have lost it: the run was told to make it and the ledger's time went
 * back since, or another run, in another epoch, moved the filing last. Only where no other attempt may have arrived.
 */
async function noteLostTime(client: pg.PoolClient, filing: LockedFiling, asking: Asking): Promise<Told | null> {
  const { told, run, continues, settings } = asking;
  const lost = { settleMs: settings.settleAfterMs, timeoutMs: settings.httpTimeoutMs };
  const anotherRun = filing.run !== null && filing.run !== run && filing.run !== continues;
  const suspicious = told === null && anotherRun && filing.epoch !== filing.epochNow;
  if (told === null && !suspicious) return null;
  const attempts = await readAttempts(client, filing.filingId);
  const last = attempts.at(-1)?.number ?? 0;
  const sendable = !filing.closed && !attempts.some(mayBeFiled) && filing.iec !== null;
  if (told !== null) {
    if (attempts.some(({ number }) => number === told.n)) return told;
    const wentBack = told.epoch !== filing.epochNow || filing.beat < told.beat;
    // Nothing was begun: n is told again.
    if (!wentBack && !told.lost) return told;
    // What the run found stays with it until the attempt was inserted, also once the beat has caught up.
    if (!sendable) return { ...told, lost: true };
    await insertUnknown(client, filing, told.n, lost);
    return { n: told.n, epoch: filing.epochNow, beat: filing.beat };
  }
  // Before its first check a filing was never told to be sent by anybody.
  if (!sendable || filing.checkedAt === null) return null;
  await insertUnknown(client, filing, last + 1, lost);
  return { n: last + 1, epoch: filing.epochNow, beat: filing.beat };
}

const mayBeFiled = ({ verdict }: AttemptRow): boolean => ['sending', 'unknown', 'accepted'].includes(verdict);

/** The run and epoch of the last move. A run that was never told to send does not take over another epoch's filing. */
async function noteRun(client: pg.PoolClient, filing: LockedFiling, { run }: Asking, told: Told | null): Promise<void> {
  if (filing.run === run && filing.epoch === filing.epochNow) return;
  if (filing.run !== null && filing.epoch !== filing.epochNow && told === null && filing.checkedAt !== null) return;
  await client.query('UPDATE filings SET run = $2, epoch = $3 WHERE filing_id = $1', [
    filing.filingId,
    run,
    filing.epochNow,
  ]);
}

const SCHEDULES: Record<PauseReason, Schedule> = {
  credentials: CREDENTIALS,
  access: ACCESS,
  activation: ACTIVATION,
  failure: { initialMs: 30_000, factor: 2, maxMs: 15 * MINUTE_MS },
};

/** A failed call pauses the filing; one that succeeded ends the pause. */
async function storePause(client: pg.PoolClient, filing: LockedFiling, { failure, called }: Asking): Promise<void> {
  if (called === null || called === 'wait') return;
  if (failure === null) {
    if (filing.pause === null) return;
    await client.query(
      'UPDATE filings SET pause = NULL, pause_until = NULL, pause_tries = 0, pause_text = NULL, credentials_seen = NULL WHERE filing_id = $1',
      [filing.filingId],
    );
    Object.assign(filing, { pause: null, pauseUntil: null, pauseTries: 0, pauseText: null, credentialsSeen: null });
    return;
  }
  const reason: PauseReason = pauseReasonOf(failure.kind) ?? 'failure';
  const tries = filing.pause === reason ? filing.pauseTries + 1 : 1;
  const { rows } = await client.query<Pick<LockedFiling, 'pauseUntil'>>(
    `UPDATE filings f SET pause = $2, pause_tries = $3, pause_text = $4, credentials_seen = $5, pause_until = greatest(
        clock_timestamp() + $6 * interval '1 ms',
        CASE WHEN $2 = 'activation' THEN (SELECT activates_at + interval '1 s' FROM exporters e WHERE e.exporter_id = f.exporter_id) END)
      WHERE filing_id = $1 RETURNING floor(extract(epoch FROM pause_until) * 1000)::float8 AS "pauseUntil"`,
    [
      filing.filingId,
      reason,
      tries,
      pauseText(reason, filing, failure),
      failure.credentialsVersion ?? 0,
      delayMs(SCHEDULES[reason], tries),
    ],
  );
  Object.assign(filing, {
    pause: reason,
    pauseTries: tries,
    pauseText: pauseText(reason, filing, failure),
    ...rows[0],
  });
  if (tries === 1) await addEvent(client, filing, { kind: failure.kind ?? 'call_failed', text: failure.message });
}

function pauseText(reason: PauseReason, { exporterId }: LockedFiling, { message }: CallFailure): string {
  const said = /[.!?]$/u.test(message) ? message : `${message}.`;
  if (reason === 'credentials')
    return `${said} Submit working credentials: ebrc credentials ${exporterId} --username … --password-stdin. The filing continues by itself.`;
  if (reason === 'access')
    return `${said} This is about our own API key or agreement: check EBRC_API_KEY and the agreements in the service's console. It is tried again by itself.`;
  return reason === 'activation' ? 'The authority has not opened API access for the exporter yet.' : said;
}

/** A cancelled run: its filing is abandoned before a send. After it the filing goes on, and that is noted once. */
async function cancel(client: pg.PoolClient, filing: LockedFiling): Promise<void> {
  if (filing.closed) return;
  const attempts = await readAttempts(client, filing.filingId);
  if (attempts.every(({ verdict }) => verdict === 'not_sent')) {
    await client.query(
      `UPDATE filing_rows SET state = 'released', settled_at = clock_timestamp() WHERE filing_id = $1 AND state = 'planned'`,
      [filing.filingId],
    );
    const event = { kind: 'abandoned', text: 'cancelled in Temporal before anything was sent', who: 'Temporal' };
    return moveFiling(client, filing, { state: 'abandoned', attention: null, asked: false, event });
  }
  const { rowCount } = await client.query(
    `SELECT FROM events WHERE filing_id = $1 AND kind = 'cancel_refused' LIMIT 1`,
    [filing.filingId],
  );
  if (!rowCount)
    await addEvent(client, filing, {
      kind: 'cancel_refused',
      text: 'cancelled in Temporal after it was sent: it goes on',
    });
}

/** What counts as progress: outcomes of rows, verdicts, approvals and decisions. */
async function progressOf(client: pg.PoolClient, { filingId }: LockedFiling): Promise<string> {
  const { rows } = await client.query<{ progress: string }>(
    `SELECT concat_ws('/', (SELECT count(*) FROM filing_rows WHERE filing_id = $1 AND settled_at IS NOT NULL),
        (SELECT string_agg(verdict, ',' ORDER BY number) FROM attempts WHERE filing_id = $1),
        (SELECT count(*) FROM decisions WHERE filing_id = $1 AND outcome IS NOT NULL),
        (SELECT count(*) FROM attempts WHERE filing_id = $1 AND ended_at IS NOT NULL)) AS progress`,
    [filingId],
  );
  return rows[0]?.progress ?? '';
}

/** Records how the filing stands now, with its attention: a state that asks, or its time is past. */
async function move(
  client: pg.PoolClient,
  filing: LockedFiling,
  decided: Decided,
  { settings }: Asking,
  progressed: boolean,
): Promise<void> {
  const { state, text, asked } = decided;
  const entered = state !== filing.state;
  const fresh = progressed || filing.dueAt === null || (entered && DUE_ANEW.includes(state));
  const late =
    !fresh && filing.dueAt !== null && filing.now > filing.dueAt && decided.attention === null && !filing.closed;
  const attention = late ? `${LATE[state] ?? 'It takes longer than it should'}: see \`ebrc show\`.` : decided.attention;
  const lastAttention = endAttention(state, attention);
  await moveFiling(client, filing, {
    ...{ state, asked, attention: lastAttention },
    ...(fresh ? { dueInMs: dueInMs(state, settings) } : {}),
    event: { kind: state, text: text || state },
  });
}

/** States in which the time until it is overdue begins anew when they are entered. */
const DUE_ANEW: readonly FilingState[] = ['submitting', 'processing', 'collecting'];

const LATE: Partial<Record<FilingState, string>> = {
  processing: 'The acknowledgement of the authority is overdue',
  submitting: 'It has waited long to be sent',
};

/** 999 PDFs at five a window take more than three hours: collecting has its own time. */
const dueInMs = (state: FilingState, { overdueAfterMs, rateWindowMs }: DecidingSettings): number =>
  state === 'collecting' ? Math.max(overdueAfterMs, Math.min(DAY_MS, 200 * rateWindowMs)) : overdueAfterMs;

function endAttention(state: FilingState, attention: string | null): string | null {
  if (state === 'partly_certified' || state === 'rejected')
    return 'The authority rejected rows: correct them and file them again with `ebrc correct`.';
  if (state === 'needs_correction') return 'It was refused: correct it and file it again with `ebrc correct`.';
  return attention;
}

/** Checks exporter, IRMs and documents once they were read; errors end the filing at the door. */
async function check(pool: pg.Pool, { filingId }: Asking): Promise<void> {
  await withTransaction(pool, async (client) => {
    await lockIrmsOf(client, filingId);
    const filing = await lockFiling(client, filingId);
    if (filing.closed || filing.checkedAt !== null) return;
    const findings = [...(await assignIec(client, filing)), ...(await checkFiling(client, filing))];
    if (hasErrors(findings)) return refuseFiling(client, filing, findings);
    await client.query(
      'UPDATE filings SET checked_at = clock_timestamp(), warnings = warnings || $2::jsonb WHERE filing_id = $1',
      [filingId, JSON.stringify(findings)],
    );
  });
}

/** Reserves the balances, or refuses what they do not cover. */
async function reserve(pool: pg.Pool, { filingId }: Asking): Promise<void> {
  await withTransaction(pool, async (client) => {
    await lockIrmsOf(client, filingId);
    const filing = await lockFiling(client, filingId);
    if (filing.closed) return;
    const { outcome, findings } = await reserveBalances(client, filing);
    if (outcome === 'reserved') {
      await client.query(`UPDATE filings SET pause = NULL, pause_tries = 0, pause_text = NULL WHERE filing_id = $1`, [
        filingId,
      ]);
      return;
    }
    if (outcome === 'refused') return refuseFiling(client, filing, findings);
    // Short through what others have sent: their outcome frees it or not. Stale: the balances are read afresh.
    const text = findings[0]?.message ?? 'The balance may not cover it yet';
    if (outcome === 'stale') {
      await client.query('UPDATE exporters SET irms_refreshed_at = NULL WHERE exporter_id = $1', [filing.exporterId]);
      return;
    }
    await client.query(
      `UPDATE filings SET pause = 'failure', pause_text = $2, pause_tries = pause_tries + 1, pause_until = clock_timestamp() + interval '15 min'
        WHERE filing_id = $1`,
      [filingId, text],
    );
  });
}

async function refuseFiling(client: pg.PoolClient, filing: LockedFiling, findings: readonly Finding[]): Promise<void> {
  await client.query(
    `UPDATE filing_rows SET state = 'released', settled_at = clock_timestamp() WHERE filing_id = $1 AND state = 'planned'`,
    [filing.filingId],
  );
  await client.query('UPDATE filings SET errors = $2 WHERE filing_id = $1', [
    filing.filingId,
    JSON.stringify(findings),
  ]);
  const text = findings.find(({ severity }) => severity === 'error')?.message ?? 'refused';
  const attention = endAttention('needs_correction', null);
  await moveFiling(client, filing, {
    state: 'needs_correction',
    attention,
    asked: false,
    event: { kind: 'refused', text },
  });
}
