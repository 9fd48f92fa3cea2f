/**
 * The steps of a filing's run and of persons: the ledger's functions that an activity calls, and the moves of the
 * filing that its workflow makes of their results.
 */
import type { StoredAnswer } from '../../src/domain/filing/attempt';
import { isEnd, mayFollow, type FilingState } from '../../src/domain/filing/states';
import { lockFiling } from '../../src/ledger/filings/filing-lock';
import { recordProgress } from '../../src/ledger/filings/filing-progress';
import { moveRows, releaseRows, releaseUnsent, settleRows } from '../../src/ledger/rows/filing-rows';
import { assertWhole, voidUnsent } from '../../src/ledger/sends/sends';
import { acknowledge } from '../../src/ledger/submissions/acknowledgement';
import { storeAnswer, storedAnswer } from '../../src/ledger/submissions/answers';
import { latestAttempt, markRowsUnknown, readAttempt } from '../../src/ledger/submissions/attempts';
import { openAttempt } from '../../src/ledger/submissions/open-attempt';
import { adoptRequestId, closeByPerson } from '../../src/ledger/submissions/person-answers';
import { otherAttemptInDoubt, switchToOtherAttempt } from '../../src/ledger/submissions/other-attempts';
import { moveSubmission } from '../../src/ledger/submissions/submissions';
import { EXPORTER } from '../ledger/filing-support';
import type { World } from './driver';
import type { Step } from './model-trace';

const MINUTE = 60_000;
const SETTLE_AFTER_MS = 240 * MINUTE;
const SUBMISSION = 1;

interface Standing {
  state: FilingState;
  seq: number;
}

export function createRunSteps(world: World) {
  const { ledger, store, transaction } = world;
  const { pool } = ledger;
  const saidOf = new Map<number, number | null>();
  const filingOf = (attempt: number) => world.filingIds[Math.floor(attempt / 2)] ?? 'F-NONE';

  async function standing(filingId: string): Promise<Standing | null> {
    const { rows } = await pool.query<Standing>('SELECT state, seq::int AS seq FROM filings WHERE filing_id = $1', [
      filingId,
    ]);
    return rows[0] ?? null;
  }

  /** A move as the workflow records it, from the states given; none where the filing stands elsewhere. */
  async function move(filingId: string, state: FilingState, from: readonly FilingState[] | 'any'): Promise<void> {
    const now = await standing(filingId);
    if (!now || isEnd(now.state) || now.state === state || (from !== 'any' && !from.includes(now.state))) return;
    if (!mayFollow(now.state, state)) throw new Error(`${state} does not follow ${now.state}`);
    const event = { kind: state, text: state };
    const note = { filingId, seq: now.seq + 1, state, attention: null, at: world.now, event };
    await transaction((client) => recordProgress(client, note));
  }

  async function attemptsOf(filingId: string): Promise<{ number: number; state: string; kind: string | null }[]> {
    const { rows } = await pool.query<{ number: number; state: string; kind: string | null }>(
      `SELECT number, state, answer ->> 'kind' AS kind FROM attempts WHERE filing_id = $1 ORDER BY number`,
      [filingId],
    );
    return rows;
  }
  const underWay = (states: readonly { state: string }[]) => states.some(({ state }) => state !== 'not_sent');

  /** Nothing of it was accepted: its rows are free, and the filing is to be corrected. */
  async function refuse(filingId: string): Promise<void> {
    const freed = { filingId, state: 'needs_correction' as const, at: world.now };
    await transaction(async (client) => {
      await releaseRows(client, { ...freed, submission: SUBMISSION });
      await releaseUnsent(client, freed);
    });
    await move(filingId, 'needs_correction', 'any');
  }

  /** Where the rows are to be sent again, the filing goes on. */
  async function goOn(filingId: string): Promise<void> {
    const { rowCount } = await pool.query(`SELECT FROM filing_rows WHERE filing_id = $1 AND state = 'planned'`, [
      filingId,
    ]);
    if (rowCount) await move(filingId, 'submitting', ['outcome_unknown']);
  }

  const acceptance = (execution: number): StoredAnswer => ({
    kind: 'accepted',
    status: 200,
    requestId: world.requestId(execution),
  });

  const takeOver = (attemptId: string, answer: StoredAnswer): Promise<void> =>
    transaction(async (client) => {
      await storeAnswer(client, { attemptId, answer, at: world.now });
      const stored = (await storedAnswer(client, attemptId)) ?? answer;
      await acknowledge(client, { attemptId, answer: stored, at: world.now });
    });

  /** The execution of the attempt whose request the model has in one of these states. */
  function requestOf(attempt: number, before: Step | null, requests: readonly string[]): number | null {
    const found = before?.executions.findIndex((each) => each.attempt === attempt && requests.includes(each.request));
    return found === undefined || found < 0 ? null : found;
  }

  async function sayNotFiled(attempt: number, markedAt: number | null, at: Date): Promise<void> {
    const filingId = filingOf(attempt);
    const attemptId = world.attemptId(attempt);
    const said = { attemptId, markedAt, by: 'ravi', note: 'looked', at, lookFailed: null, unseen: false };
    const { outcome } = await transaction(async (client) => {
      await lockFiling(client, filingId);
      await assertWhole(client, store);
      return closeByPerson(client, { ...said, settleAfterMs: SETTLE_AFTER_MS });
    });
    if (outcome === 'resend') await goOn(filingId);
  }

  async function markedAt(attempt: number): Promise<number | null> {
    const { rows } = await pool.query<{ at: Date | null }>(
      'SELECT sending_at AS at FROM attempts WHERE attempt_id = $1',
      [world.attemptId(attempt)],
    );
    return rows[0]?.at?.getTime() ?? null;
  }

  return {
    acceptance,
    takeOver,
    goOn,

    async openNext(f: number): Promise<void> {
      const filingId = world.filingIds[f] ?? null;
      const now = filingId === null ? null : await standing(filingId);
      if (filingId === null || !now || !['checking', 'submitting'].includes(now.state)) return;
      const latest = await latestAttempt(pool, filingId, SUBMISSION);
      // The model has only so many attempts.
      const out = latest?.state === 'not_sent' && latest.number >= (world.trace.attempts[f] ?? 0);
      if (out && !underWay(await attemptsOf(filingId))) return;
      const opened = await transaction((client) => openAttempt(client, { filingId, submission: SUBMISSION }));
      if (opened.outcome === 'rows_gone') await refuse(filingId);
      if (opened.outcome === 'attempt' && opened.state === 'open') await move(filingId, 'submitting', ['checking']);
    },

    async adopt(attempt: number, before: Step | null): Promise<void> {
      const filingId = filingOf(attempt);
      const now = await standing(filingId);
      const execution = before?.executions.findIndex((each) => each.attempt === attempt && each.returnedAnswer) ?? -1;
      if (!now || isEnd(now.state) || execution < 0) return;
      await takeOver(world.attemptId(attempt), acceptance(execution));
    },

    async read(attempt: number): Promise<void> {
      const filingId = filingOf(attempt);
      const attemptId = world.attemptId(attempt);
      const at = world.now;
      const number = (attempt % 2) + 1;
      const before = await attemptsOf(filingId);
      const other = before.find((each) => each.number === 3 - number);
      const reading = await transaction(async (client) => {
        await lockFiling(client, filingId);
        const { seen } = await assertWhole(client, store);
        return readAttempt(client, { attemptId, at, unsent: () => voidUnsent(client, store, { attemptId, at, seen }) });
      });
      const now = await standing(filingId);
      if (!now || isEnd(now.state)) return;
      if (reading.verdict === 'answered' && reading.answer) return takeOver(reading.attemptId, reading.answer);
      if (reading.verdict === 'not_sent') {
        const kind = reading.answer?.kind ?? null;
        const latest = Math.max(...before.map((each) => each.number)) === number;
        if (kind !== null && kind !== 'accepted') {
          if (latest && !underWay(other ? [other] : [])) await refuse(filingId);
        } else if (kind === null) await goOn(filingId);
        return;
      }
      // Of an attempt that the ledger has lost only the next one is asked for, and none beside another.
      const own = before.find((each) => each.number === number);
      if (!own && ((number > 1 && !other) || (other && other.state !== 'not_sent'))) return;
      await transaction((client) => markRowsUnknown(client, attemptId));
      await move(filingId, 'submitting', ['checking']);
      await move(filingId, 'outcome_unknown', 'any');
    },

    async settle(attempt: number, before: Step | null): Promise<void> {
      const filingId = filingOf(attempt);
      const now = await standing(filingId);
      if (!now || isEnd(now.state)) return;
      const settled = { filingId, exporterId: EXPORTER, at: world.now };
      const moved = { filingId, submission: SUBMISSION, at: world.now };
      if (requestOf(attempt, before, ['certified']) !== null) {
        const verdict = {
          position: 0,
          outcome: 'certified' as const,
          eBRCNumber: randomNumber(),
          eBRCDate: '10022026',
        };
        await transaction(async (client) => {
          await lockFiling(client, filingId);
          await settleRows(client, { ...settled, verdicts: [verdict] });
          await moveSubmission(client, { ...moved, state: 'settled' });
        });
        await move(filingId, 'collecting', 'any');
        return move(filingId, 'certified', 'any');
      }
      const execution = requestOf(attempt, before, ['errored']);
      if (execution === null) return;
      const requestId = world.requestId(execution);
      const accepted = before?.state.attempts[attempt]?.state === 'accepted';
      if (!accepted) return;
      const other = await transaction(async (client) => {
        const found = await otherAttemptInDoubt(client, { filingId, submission: SUBMISSION, requestId });
        if (found !== null) await switchToOtherAttempt(client, { ...moved, requestId });
        return found;
      });
      if (other !== null) {
        if (before.state.attempts[attempt ^ 1]?.state === 'sending') await move(filingId, 'outcome_unknown', 'any');
        return;
      }
      await transaction(async (client) => {
        await lockFiling(client, filingId);
        await settleRows(client, { ...settled, verdicts: [{ position: 0, outcome: 'errored', errors: ['no'] }] });
        await moveSubmission(client, { ...moved, state: 'terminal' });
      });
      await move(filingId, 'rejected', 'any');
    },

    async abandon(f: number): Promise<void> {
      const filingId = world.filingIds[f] ?? 'F-NONE';
      const now = await standing(filingId);
      if (!now || isEnd(now.state)) return;
      await transaction(async (client) => {
        await lockFiling(client, filingId);
        await assertWhole(client, store);
        await releaseUnsent(client, { filingId, state: 'withdrawn', at: world.now });
        await moveRows(client, { filingId, submission: null, state: 'abandoned_after_send' });
      });
      await move(filingId, 'abandoned', 'any');
    },

    async notFiled(attempt: number, step: Step, before: Step | null): Promise<void> {
      const marked = await markedAt(attempt);
      if (step.repeatedLater) saidOf.set(attempt, marked);
      // The window is over when nothing of the attempt travels any more.
      const over = requestOf(attempt, before, ['travelling']) === null;
      await sayNotFiled(attempt, marked, new Date((marked ?? +world.now) + (over ? SETTLE_AFTER_MS : MINUTE)));
    },

    notFiledLate: (attempt: number): Promise<void> =>
      sayNotFiled(attempt, saidOf.get(attempt) ?? null, new Date(+world.now + 2 * SETTLE_AFTER_MS)),

    async filed(attempt: number, before: Step | null): Promise<void> {
      const execution = requestOf(attempt, before, ['taken', 'taken_to_be_errored', 'certified', 'errored']);
      if (execution === null) return;
      const requestId = world.requestId(execution);
      const doubt = await transaction((client) =>
        adoptRequestId(client, { attemptId: world.attemptId(attempt), requestId, at: world.now }),
      );
      if (doubt === null) await move(filingOf(attempt), 'processing', ['submitting', 'outcome_unknown']);
    },
  };
}

let numbers = 0;
function randomNumber(): string {
  numbers += 1;
  return `EBRC${String(numbers).padStart(8, '0')}`;
}
