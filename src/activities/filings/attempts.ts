import { errorsInShort } from '../../domain/service/request-status';
import { comparableText, irmIdentity } from '../../domain/identity';
import { addEvent, holdFiling } from '../../ledger/filings/filing-progress';
import { answerInShort, partsOfAttemptId, type AttemptReading, type StoredAnswer } from '../../domain/filing/attempt';
import { storeAnswer, storedAnswer, unexpectedAcceptances } from '../../ledger/submissions/answers';
import { markRowsUnknown, readAttempt } from '../../ledger/submissions/attempts';
import { openAttempt, type OpenedAttempt } from '../../ledger/submissions/open-attempt';
import { readRows, type FilingRow } from '../../ledger/rows/filing-rows';
import {
  adoptRequestId,
  closeByPerson,
  type NotFiledOutcome,
  type NotFiledAnswer,
} from '../../ledger/submissions/person-answers';
import { withTransaction } from '../../ledger/pool';
import { adoptAnswer, needSubmission } from '../../ledger/submissions/submissions';
import { voidUnsent } from '../../ledger/sends/sends';
import type { ActivityDependencies } from '../dependencies';
import { stepId } from '../step-id';
import { NOT_MOVED, recordMove, type Moved, type MoveArgs } from './moves';
import { onWholeLedger } from './whole-ledger';

export interface AdoptedAnswer {
  requestId: string | null;
  dgftAckId: string | null;
  ackStatus: string | null;
  submittedAt: number;
  /** What the acknowledgement complained of. */
  errors: string[];
  /** What a person should look at: the service read other rows than were sent, or accepted two attempts. */
  standing: string | null;
}

/** A request that a person found at the service. */
export interface NamedRequest {
  attemptId: string;
  requestId: string;
}

export interface AdoptedRequest {
  /** Why it cannot be taken over; null where it was. */
  doubt: string | null;
  /** ms since the epoch. */
  submittedAt: number;
}

/** Opening attempts, reading what became of them, and taking their answers over. Local work on the ledger. */
export function createAttemptActivities(deps: ActivityDependencies) {
  const { pool, documents, clock, logger, settings } = deps;
  const now = () => new Date(clock());
  return {
    /**
     * Opens a submission's next attempt, or returns why there is none: one stands, or nothing is to be sent any more.
     */
    openAttempt: ({
      seq,
      ...args
    }: {
      filingId: string;
      seq: number;
      submission: number;
    }): Promise<OpenedAttempt | { outcome: 'differs' }> =>
      onWholeLedger(deps, args.filingId, async (client) =>
        (await holdFiling(client, { filingId: args.filingId, seq }))
          ? openAttempt(client, args)
          : { outcome: 'differs' },
      ),

    /** Reads what became of an attempt after its activity failed, was lost or was cut off. */
    async readAttempt(args: { attemptId: string; refusal?: string }): Promise<AttemptReading> {
      const reading = await onWholeLedger(deps, filingOf(args), (client, { seen }) => {
        const unsent = () => voidUnsent(client, documents, { attemptId: args.attemptId, at: now(), seen });
        return readAttempt(client, { ...args, at: now(), unsent });
      });
      return { ...reading, answer: reading.answer && answerInShort(reading.answer) };
    },

    /**
     * Takes an answer over into the ledger, the whole of it where it is stored already; `answer` is the sample that
     * travelled. Repeating it changes nothing. With `move`, the filing goes there in the same transaction, where there
     * is a request to follow and nothing to look at.
     */
    async adoptAnswer(args: {
      filingId: string;
      submission: number;
      attemptId: string;
      answer: StoredAnswer;
      move?: MoveArgs;
    }): Promise<AdoptedAnswer & Moved> {
      const { filingId, submission, attemptId, move } = args;
      const at = now();
      return withTransaction(pool, async (client) => {
        await storeAnswer(client, { attemptId, answer: args.answer, at });
        const answer = (await storedAnswer(client, attemptId)) ?? args.answer;
        await adoptAnswer(client, { filingId, submission, attemptId, answer, at });
        const adopted = await needSubmission(client, filingId, submission);
        const mismatch = reconcileUpload(await readRows(client, filingId, submission), answer);
        if (mismatch) {
          logger.warn({ filingId, submission }, 'the service read other rows than were sent');
          const step = `${stepId()}/mismatch`;
          await addEvent(client, { filingId, step, at, kind: 'upload_mismatch', text: mismatch });
        }
        const standing =
          [
            mismatch && `The service read other rows than were sent: ${mismatch}. Compare the filing with the service.`,
            await unexpectedAcceptances(client, filingId),
          ]
            .filter(Boolean)
            .join(' ') || null;
        // What somebody should look at is part of the move: the run makes one of its own then.
        const plain = adopted.requestId !== null && standing === null;
        return {
          requestId: adopted.requestId,
          dgftAckId: answer.dgftAckId ?? null,
          ackStatus: answer.ackStatus ?? null,
          submittedAt: (adopted.submittedAt ?? at).getTime(),
          errors: errorsInShort(answer.errorDetails ?? []),
          standing,
          ...(move && plain ? await recordMove(client, move, at) : NOT_MOVED),
        };
      });
    },

    /** A person found the request of an attempt at the service. `doubt`: why it cannot be taken over. */
    async adoptRequestId({ move, ...named }: NamedRequest & { move: MoveArgs }): Promise<AdoptedRequest & Moved> {
      const at = now();
      const { filingId, submission } = partsOfAttemptId(named.attemptId);
      return withTransaction(pool, async (client) => {
        const doubt = await adoptRequestId(client, { ...named, at });
        if (doubt !== null) return { doubt, submittedAt: at.getTime(), ...NOT_MOVED };
        const { submittedAt } = await needSubmission(client, filingId, submission);
        const moved = await recordMove(client, move, at);
        return { doubt, submittedAt: (submittedAt ?? at).getTime(), ...moved };
      });
    },

    /**
     * A person states that nothing of an attempt was filed. The filing goes on to its next attempt (`move`), or its
     * rows without a certificate are to be corrected, which stands in an event.
     */
    closeByPerson: ({
      move,
      ...word
    }: Omit<NotFiledAnswer, 'at' | 'settleAfterMs'> & { move: MoveArgs }): Promise<NotFiledOutcome & Moved> =>
      onWholeLedger(deps, filingOf(word), async (client) => {
        const at = now();
        const said = await closeByPerson(client, { ...word, settleAfterMs: settings.settleAfterMs, at });
        if (said.outcome === 'resend') return { ...said, ...(await recordMove(client, move, at)) };
        if (said.outcome === 'freed') {
          const { filingId, event } = move;
          const data = { ...(event.data as object), freed: said.freed };
          await addEvent(client, { ...event, filingId, step: stepId(), at, data });
        }
        return { ...said, ...NOT_MOVED };
      }),

    /** The rows of an attempt of unknown outcome are shown as such. */
    markRowsUnknown: ({ attemptId, move }: { attemptId: string; move: MoveArgs }): Promise<Moved> =>
      withTransaction(pool, (client) => recordMove(client, move, now(), () => markRowsUnknown(client, attemptId))),
  };
}

const filingOf = ({ attemptId }: { attemptId: string }): string => partsOfAttemptId(attemptId).filingId;

/**
 * Compares the rows that the service reports to have read from a workbook with those that were sent, by `irms` and
 * never by `irmNumbers` (spec: "POST /genebrc/bulk-upload"). Null when they agree or the answer holds none.
 */
function reconcileUpload(sent: readonly FilingRow[], answer: StoredAnswer): string | null {
  const differences: string[] = [];
  const read = answer.parsedRowCount;
  if (typeof read === 'number' && read !== sent.length)
    differences.push(`the service read ${read} rows, ${sent.length} were sent`);
  const accepted = answer.recordResCount;
  if (typeof accepted === 'number' && accepted !== sent.length) {
    differences.push(`the acknowledgement counts ${accepted} records, ${sent.length} were sent`);
  }
  if (answer.irms && answer.irms.length > 0) {
    const ours = new Map<string, number>();
    for (const row of sent) count(ours, keyOf(row.mapping), 1);
    for (const entry of answer.irms) count(ours, keyOf(entry as ReadBack), -1);
    const off = [...ours].filter(([, balance]) => balance !== 0);
    if (off.length > 0)
      differences.push(`${off.length} of the IRM-to-document rows it read are not the ones that were sent`);
  }
  return differences.length > 0 ? differences.join('; ') : null;
}

function count(balances: Map<string, number>, key: string, by: number): void {
  balances.set(key, (balances.get(key) ?? 0) + by);
}

/** What of an entry of `irms` is compared; anything may stand in them. */
type ReadBack = Partial<Record<'irmNumber' | 'irmAdCode' | 'sbCumInvoiceNumber', unknown>>;

function keyOf({ irmNumber, irmAdCode, sbCumInvoiceNumber }: ReadBack): string {
  const text = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');
  const irm = irmIdentity({ irmNumber: text(irmNumber), irmAdCode: text(irmAdCode) });
  return `${irm} ${comparableText(text(sbCumInvoiceNumber))}`;
}
