import type pg from 'pg';
import type { StoredAnswer, SubmissionKey } from '../../domain/filing/attempt';
import { phaseOf } from '../../domain/filing/run-judgement';
import { endOf, type StateLimitSettings } from '../../domain/filing/states';
import { errorAt, type Finding } from '../../domain/rules/finding';
import { cutText } from '../../domain/text';
import { saveOfFiling } from '../../ledger/filings/filing-notes';
import { readNow } from '../../ledger/filings/filing-now';
import type { Held } from '../../ledger/filings/filing-progress';
import { releaseUnfiled } from '../../ledger/gates/release';
import { readFacts } from '../../ledger/filings/filing-lock';
import { releaseAbsent } from '../../ledger/gates/release-absent';
import { type FilingRow, moveRows, readRows, saveRowErrors } from '../../ledger/rows/filing-rows';
import { lastRefusal, reportContradiction } from '../../ledger/submissions/answers';
import { isDenial, readRequests } from '../../ledger/submissions/requests';
import { readSubmissions, settleSubmission } from '../../ledger/submissions/submissions';
import { judgeByGrant } from '../../ledger/principals/granted-words';
import { now, type Deps } from '../dependencies';
import { stepId } from '../call-context';
import { FINDINGS_IN_RESULT } from './filing-request';
import { DIFFERS, moveOnSettled, onHeld, recordEnd, settledStep, onHeldWhole } from './moves';
import type { Decided, Differs, Left } from './moves';

export interface Refused extends Left {
  errors: Finding[];
}

export interface RefusedPart {
  filingId: string;
  submission: number | null;
  answer: StoredAnswer | null;
  errors: Finding[];
}

/** Refuses a submission that the service refused, or all that is unsent after a check of ours (`submission` null). */
const refuseFiling = (deps: Deps, { seq, ...refusal }: Decided & RefusedPart): Promise<Refused | Differs> =>
  onHeldWhole(deps, { filingId: refusal.filingId, seq }, (client, held, at) => refuse(client, held, refusal, at));

/** Judges the service's statement that nothing was filed. Rows are `freed` if a look after the window proves it. */
function concludeStatement(
  deps: Deps,
  { requestId, submission, errors, ...decided }: Decided & { submission: number; requestId: string; errors: string[] },
): Promise<(Refused & { freed: boolean }) | Differs> {
  const { settings } = deps;
  const { filingId } = decided;
  return onHeldWhole(deps, decided, async (client, held, at) => {
    const request = (await readRequests(client, filingId, submission)).find((each) => each.requestId === requestId);
    const statement = request?.statement ?? null;
    const processed = statement === 'errored';
    const said = processed ? `reports request ${requestId} as Errored` : `does not know request ${requestId}`;
    const reason = `the service ${said}, and shows no certificate of it`;
    const messages = errors.length > 0 ? errors : [reason];
    const subject = { requestId, filingId, submission };
    const claim = { subject, settleMs: settings.settleAfterMs, unseen: false, notOurs: [], reason, errors: messages };
    // A denial only counts while the request is followed; persons answer what an ended request leaves open.
    const denied = isDenial(statement) && request?.state === 'followed';
    const freed =
      held === 'repeated' || (denied && (await releaseAbsent(client, { ...claim, at })).outcome !== 'refused');
    if (!freed) return { filing: await readNow(client, filingId), errors: [], freed };
    const left = await afterAbsence(settings, client, held, { filingId, submission, processed, messages, at });
    return { ...left, freed };
  });
}

/** Abandons a filing: rows that were never sent are freed, rows that may become certificates stay live. */
function giveUpFiling(
  deps: Deps,
  { by, note, wordId, ...decided }: Decided & { by: string; note: string; wordId?: string },
): Promise<(Left & { refused?: string }) | Differs> {
  const { filingId } = decided;
  const giveUp = async (client: pg.PoolClient, held: Held, at: Date): Promise<Left & { refused?: string }> => {
    if (held !== 'repeated') {
      if (wordId !== undefined) {
        const { refused } = await judgeByGrant(client, { wordId, filingId, action: 'abandon', at });
        if (refused !== null) return { filing: null, refused };
      }
      await releaseUnfiled(client, { filingId, submission: null, state: 'withdrawn', reason: note, at });
      await moveRows(client, { filingId, submission: null, state: 'abandoned_after_send' });
      await saveOfFiling(client, filingId, { note });
    }
    const withdrawn = (await readRows(client, filingId)).every(({ state }) => state === 'withdrawn');
    const event = { kind: withdrawn ? 'withdrawn' : 'abandoned', text: note, who: by };
    return { filing: await recordEnd(client, held, { filingId, state: 'abandoned', event }, at) };
  };
  return onHeldWhole(deps, decided, giveUp, { attemptId: null });
}

/** Ends the filing once all rows have an outcome. Also `differs` if a submission is open again. */
function endFiling(deps: Deps, decided: Decided): Promise<Left | Differs> {
  const { filingId } = decided;
  return onHeld(deps.pool, decided, async (client, held) => {
    const before = await readNow(client, filingId, stepId());
    const state = endOf(before.counts);
    if (held === 'repeated') return { filing: before };
    if (state === null) {
      const settled = phaseOf(await readFacts(client, filingId)) === 'collect';
      return settled ? { filing: before } : DIFFERS;
    }
    return { filing: await recordEnd(client, held, { filingId, state, now: before }, now(deps)) };
  });
}

/** The errors of a refused part, complete from the ledger, because the passed answer is abridged. */
async function findingsOf(client: pg.PoolClient, { filingId, submission, answer, errors }: RefusedPart) {
  if (submission === null) return answer ? fieldErrorsOf([], answer) : errors;
  const whole = await lastRefusal(client, filingId, submission);
  const refusal = whole && whole.kind === answer?.kind ? whole : answer;
  return refusal ? fieldErrorsOf(await readRows(client, filingId, submission), refusal) : errors;
}

/** Frees the rows of a refused submission and all unsent rows; the filing ends if nothing else is left of it. */
async function refuse(client: pg.PoolClient, held: Held, refusal: RefusedPart, at: Date): Promise<Refused> {
  const { filingId, submission } = refusal;
  const errors = await findingsOf(client, refusal);
  if (held !== 'repeated') {
    const freed = { filingId, state: 'needs_correction' as const, reason: errors[0]?.message ?? 'refused', at };
    const { doubtful } =
      submission === null ? { doubtful: [] } : await releaseUnfiled(client, { ...freed, submission });
    for (const doubted of doubtful) {
      const text =
        `The service refused submission ${doubted} after an earlier attempt of it was treated as not filed: perhaps because ` +
        'that one was filed. Look at the portal, and answer again.';
      const key = `${doubted}/${at.getTime()}`;
      await reportContradiction(client, { filingId, kind: 'refused_after_absent', key, text, at });
    }
    await releaseUnfiled(client, { ...freed, submission: null });
    await saveRowErrors(client, filingId, errors);
    await saveOfFiling(client, filingId, { errors });
  }
  return ended(client, held, { filingId, errors }, at);
}

async function ended(
  client: pg.PoolClient,
  held: Held,
  { filingId, errors }: { filingId: string; errors: readonly Finding[] },
  at: Date,
): Promise<Refused> {
  const left = (await readSubmissions(client, filingId)).some(({ state }) => state !== 'released');
  const filing = await recordEnd(client, held, { filingId, state: left ? null : 'needs_correction' }, at);
  const shown = errors.slice(0, FINDINGS_IN_RESULT);
  return { filing, errors: shown.map((each) => ({ ...each, message: cutText(each.message, 500) })) };
}

/** Ends a submission of which nothing was filed: released, or settled if the authority processed or certified rows. */
async function afterAbsence(
  settings: StateLimitSettings,
  client: pg.PoolClient,
  held: Held,
  of: SubmissionKey & { processed: boolean; messages: string[]; at: Date },
): Promise<Refused> {
  const { filingId, submission, processed, messages, at } = of;
  const rows = (await readRows(client, filingId, submission)).filter(({ state }) => state !== 'abandoned_after_send');
  const certified = rows.some(({ state }) => state === 'certified');
  // What the authority processed has an outcome, even if it is a rejection.
  const settled = certified || processed;
  const again = held === 'repeated';
  // On a repeat nothing is settled, because the conclusion may have been taken back since the first try.
  if (!again) await settleSubmission(client, { filingId, submission, state: settled ? 'settled' : 'released', at });
  if (settled) {
    const filing = await (again ? readNow(client, filingId, settledStep()) : moveOnSettled(client, settings, held, at));
    return { filing, errors: [] };
  }
  const errors = messages.map((message) => errorAt(null, null, 'authority', message));
  await saveOfFiling(client, filingId, { errors });
  return ended(client, held, { filingId, errors }, at);
}

/** First data row of a workbook that we write for a submission; row 1 is the header. */
const FIRST_UPLOADED_ROW = 2;

/** A refusal's errors by the caller's rows. The service names rows of an uploaded workbook, or serials of a message. */
function fieldErrorsOf(rows: readonly FilingRow[], answer: StoredAnswer): Finding[] {
  const { kind, errorCode, message = 'The service refused the submission.', fieldErrors = [] } = answer;
  if (fieldErrors.length === 0) return [errorAt(null, null, errorCode?.toLowerCase() ?? kind, message)];
  return fieldErrors.map(({ row, field = null, message }) => {
    const ofWorkbook = kind === 'workbook_rejected' && row !== undefined;
    const found = ofWorkbook ? rows[row - FIRST_UPLOADED_ROW] : rows.find((each) => each.serialNo === row);
    return errorAt(found?.sourceRow ?? row ?? null, field, 'refused_by_service', message);
  });
}

export const endFilingActivities = { refuseFiling, concludeStatement, giveUpFiling, endFiling };
