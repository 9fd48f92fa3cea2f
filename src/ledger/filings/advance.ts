/**
 * One step of a filing's run: store what its last call came to, read the facts, decide, move. Everything is read anew
 * under the filing's lock, so that a repeated step, another run or another worker only asks again what is next.
 */
import type pg from 'pg';
import { DAY_MS } from '../../domain/dates';
import type { Decided, LedgerTime, Next, Told } from '../../domain/filing/facts';
import { nextStep } from '../../domain/filing/next-step';
import { mayBeFiled, type FilingState } from '../../domain/filing/states';
import { hasErrors } from '../../domain/rules/finding';
import { withTransaction } from '../pool';
import { doubtIfLost, readLedgerTime, wentBackSince, type SeenTime } from '../time';
import { assignIec } from './check';
import { insertUnknown, noteSilent, readAttempts } from '../attempts/attempts';
import { carryOutDecisions } from '../decisions/decisions';
import { readFacts, type DecidingSettings } from './facts';
import { applyRecords } from '../attempts/follow';
import { lockFiling, lockIrmsOf, type LockedFiling } from './lock';
import { addEvent, moveFiling } from './move';
import { storePause, type CallFailure } from './pauses';
import { check, refuseFiling, reserve } from './prepare';
import { applyReadings } from '../attempts/settle';

export type { CallFailure };

/** Who asks what is next. */
export interface Asking {
  filingId: string;
  workflowId: string;
  /** The run, and the one that it continues: the same chain remembers `told`. */
  run: string;
  continues: string | null;
  told: Told | null;
  /** Another run may have been told to send too, or a sender ended without its word. */
  shared: boolean;
  /** The send that ended says itself that it did not begin. */
  notBegun: boolean;
  /** The call that ended, and why it failed; null: a wait ended, or nothing was called yet. */
  failure: CallFailure | null;
  called: Next['do'] | null;
  /** The run was cancelled in the Temporal UI. */
  cancelled: boolean;
  /** The ledger's time as this process saw it. */
  seen: SeenTime;
  settings: DecidingSettings & { singlePerson: boolean };
}

export interface Step {
  filing: LockedFiling;
  decided: Decided;
  told: Told | null;
  shared: boolean;
  time: LedgerTime;
}

/** Decisions in one step: check, reserve, end. More is a defect. */
const DECISIONS = 6;

/**
 * Advances a filing until something outside of the ledger is next, in one transaction: what the call came to, records,
 * readings and decisions of persons, then check and reserve. @throws FilingMissing, LedgerUnavailableError
 */
export function advance(pool: pg.Pool, asking: Asking): Promise<Step> {
  return withTransaction(pool, async (client) => {
    // Rows may be held or planned again: their IRMs are locked before the filing.
    await lockIrmsOf(client, asking.filingId);
    const filing = await lockFiling(client, asking.filingId);
    // Another workflow's filing goes on there: this run ends with what stands.
    if (filing.workflowId !== asking.workflowId) return standing(filing, asking);
    const shared = asking.shared || isOfAnotherRun(filing, asking);
    const told = await noteLostTime(client, filing, { ...asking, shared });
    await storePause(client, filing, asking);
    if (asking.cancelled) await cancel(client, filing);
    const progressed = await applyAll(client, filing, asking.settings);
    // The time until it is overdue begins anew: what is next is not decided by the one that has passed.
    if (progressed) filing.dueAt = null;
    for (let decisions = 1; ; decisions += 1) {
      const decided = nextStep(await readFacts(client, filing, asking.settings));
      if (decided.next.do === 'check') await check(client, filing);
      else if (decided.next.do === 'reserve') await reserve(client, filing);
      else {
        const wasClosed = filing.closed;
        await move(client, filing, decided, asking, progressed && decisions === 1);
        // An ended filing may still have its workbook to be annotated.
        if (wasClosed || !filing.closed) return finish(client, filing, decided, { ...asking, shared }, told);
      }
      if (decisions === DECISIONS) throw new Error(`Filing ${filing.filingId} repeats the step ${decided.next.do}.`);
    }
  });
}

/** Judges what came since: silence, records, readings, decisions. @returns whether an outcome became known */
async function applyAll(client: pg.PoolClient, filing: LockedFiling, settings: Asking['settings']): Promise<boolean> {
  await learnCompany(client, filing);
  const silent = await noteSilent(client, filing, settings.httpTimeoutMs);
  const { changed } = await applyRecords(client, filing);
  const { adopted } = await applyReadings(client, filing, settings);
  // What is decided shows in the state; what waits for a second person is no progress, and stays overdue.
  if (filing.openDecisions > 0) await carryOutDecisions(client, filing, settings);
  return silent || changed || adopted > 0;
}

/** Gives a filing its company once the exporter's IEC is known; what others of the company hold may refuse it. */
async function learnCompany(client: pg.PoolClient, filing: LockedFiling): Promise<void> {
  if (filing.iec !== null || filing.closed) return;
  const findings = await assignIec(client, filing);
  if (hasErrors(findings)) await refuseFiling(client, filing, findings);
}

async function finish(
  client: pg.PoolClient,
  filing: LockedFiling,
  decided: Decided,
  asking: Asking,
  told: Told | null,
): Promise<Step> {
  const time = timeOf(filing);
  const { next } = decided;
  const nowTold = next.do === 'submit' ? { n: next.n, ...time } : told;
  await noteRun(client, filing, asking, nowTold);
  return { filing, decided, told: nowTold, shared: asking.shared, time };
}

const standing = (filing: LockedFiling, { told, shared }: Asking): Step => ({
  shared,
  filing,
  decided: { next: { do: 'end' }, state: filing.state, attention: filing.attention, asked: filing.asked, text: '' },
  told,
  time: timeOf(filing),
});

/**
 * Inserts an attempt as unknown where the ledger may have lost it: the run was told to make it and the ledger's time
 * went back since, or another run, in another epoch, moved the filing last. Only where no other may have arrived.
 */
async function noteLostTime(client: pg.PoolClient, filing: LockedFiling, asking: Asking): Promise<Told | null> {
  const { told, shared, notBegun, seen, settings } = asking;
  const { epoch } = filing.ledger;
  // A lost beat means the same to every filing: an older copy of the ledger was brought back.
  if (await doubtIfLost(client, [told, seen.of(epoch)], filing.ledger)) {
    const { whole, ...ledger } = await readLedgerTime(client, filing.mode);
    Object.assign(filing, { ledger, ledgerWhole: whole });
  }
  const lost = { settleMs: settings.settleAfterMs, timeoutMs: settings.httpTimeoutMs };
  const suspicious = told === null && isOfAnotherRun(filing, asking) && filing.epoch !== filing.ledger.epoch;
  if (told === null && !suspicious) return null;
  const attempts = await readAttempts(client, filing.filingId);
  const last = attempts.at(-1)?.number ?? 0;
  const sendable = !filing.closed && !attempts.some(mayBeFiled) && filing.iec !== null;
  if (told !== null) {
    if (attempts.some(({ number }) => number === told.n)) return told;
    const wentBack = wentBackSince(told, filing.ledger);
    // The only execution that was ever told to make n says that it did not: up to now nothing of it is lost.
    if (notBegun && !shared && !told.lost) return { n: told.n, ...timeOf(filing) };
    // Nothing was begun: n is told again.
    if (!wentBack && !told.lost) return told;
    // What the run found stays with it until the attempt was inserted, also once the beat has caught up.
    if (!sendable) return { ...told, lost: true };
    await insertUnknown(client, filing, told.n, { ...lost, fromMs: told.at });
    return { n: told.n, ...timeOf(filing) };
  }
  if (!sendable) return null;
  await insertUnknown(client, filing, last + 1, lost);
  return { n: last + 1, ...timeOf(filing) };
}

const timeOf = ({ ledger: { epoch, beat, at } }: LockedFiling): LedgerTime => ({ epoch, beat, at });

const isOfAnotherRun = (filing: LockedFiling, { run, continues }: Asking): boolean =>
  filing.run !== null && filing.run !== run && filing.run !== continues;

/**
 * The run and epoch of the last move. A run that was never told to send does not take over another epoch's filing of
 * another chain.
 */
async function noteRun(client: pg.PoolClient, filing: LockedFiling, asking: Asking, told: Told | null): Promise<void> {
  const { run } = asking;
  if (filing.run === run && filing.epoch === filing.ledger.epoch) return;
  if (isOfAnotherRun(filing, asking) && filing.epoch !== filing.ledger.epoch && told === null) return;
  await client.query('UPDATE filings SET run = $2, epoch = $3 WHERE filing_id = $1', [
    filing.filingId,
    run,
    filing.ledger.epoch,
  ]);
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
  await moveFiling(client, filing, {
    ...{ state, asked, attention },
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
