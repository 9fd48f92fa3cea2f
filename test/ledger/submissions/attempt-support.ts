import type { StoredAnswer } from '../../../src/domain/filing/attempt';
import type { Carried } from '../../../src/domain/filing/questions';
import { lockFiling } from '../../../src/ledger/filings/filing-lock';
import { carryOutWord } from '../../../src/ledger/gates/persons';
import { recordWord, type NewWord } from '../../../src/ledger/submissions/words';
import { storeAnswer } from '../../../src/ledger/submissions/answers';
import { senderOf } from '../../../src/ledger/sends/send-record';
import { countSend } from '../../../src/ledger/sends/conclusion';
import type { SendStore } from '../../../src/ledger/sends/sends';
import { noteUnknown } from '../../../src/ledger/submissions/attempts';
import { withTransaction } from '../../../src/ledger/pool';
import type { Mark } from '../../../src/ledger/gates/send';
import type { TestDatabase } from '../../support/postgres';
import { reserveBalances } from '../../../src/ledger/rows/balance-reservation';
import { minutesLater, NOW, open, rowsOf } from '../filing-support';
import { closeNotSent, markSending, openAttempt, readAttempt } from '../ledger-steps';

export const ACCEPTED: StoredAnswer = { kind: 'accepted', status: 200, requestId: 'R1', dgftAckId: 'A1' };

/** The settle window of whoever judges. */
export const SETTLE_MS = 240 * 60_000;

/** The secret of the execution that sends. */
export const SENT_BY = 'this-execution';
export const SENDER = senderOf(SENT_BY);

/** What a word says where nothing is said otherwise. */
export const WORD = {
  ...{ kind: 'not_filed' as const, attemptId: null, requestId: null, sourceRows: null },
  ...{ certificates: [], notOurs: [], unseen: false, note: 'looked' },
};

let filings = 0;
let words = 0;

/** The steps on attempts as activities take them, each in a transaction of its own. */
export function attemptSteps(ledger: TestDatabase) {
  const at = NOW;
  const step = <T>(work: Parameters<typeof withTransaction<T>>[1]) => withTransaction(ledger.pool, work);
  return {
    /** A filing of one row, each time another mapping and another bill. @returns its id */
    filing: () => {
      filings += 1;
      const document = String(2_000_000 + filings);
      const row = { sbCumInvoiceNumber: document, billNo: `EXP/${document}`, mappedIRMAmountFCC: 1 };
      return open(ledger, `ATTEMPTS-${filings}`, rowsOf(row));
    },
    /** The next attempt of the filing's submission; fails where there is none to send with. */
    opened: async (filingId: string, submission = 1): Promise<string> => {
      const opened = await step((client) => openAttempt(client, { filingId, submission, at }));
      if (opened.outcome !== 'attempt' || opened.verdict !== 'open') throw new Error(JSON.stringify(opened));
      return opened.attemptId;
    },
    open: (filingId: string, submission = 1, now = at) =>
      step((client) => openAttempt(client, { filingId, submission, at: now })),
    /** Checks the balances, as before every send after the first. */
    check: (filingId: string) =>
      reserveBalances(ledger.pool, { filingId, at }, (_client, findings) => Promise.resolve(findings)),
    mark: (attemptId: string, sender = SENDER): Promise<Mark> =>
      step((client) => markSending(client, { attemptId, sender, payloadHash: 'hash', at })),
    /** Marks an attempt and counts its send, as right before its first byte. */
    count: async (attemptId: string, store: SendStore): Promise<void> => {
      const by = { attemptId, sender: SENDER, at };
      const mark = await step((client) => markSending(client, { ...by, payloadHash: 'hash' }));
      if (!mark.marked) throw new Error(mark.reason);
      const send = { ...by, number: mark.sendNumber, settleMs: 240 * 60_000, timeoutMs: 60_000 };
      const refused = await countSend(ledger.pool, store, send);
      if (refused !== null) throw new Error(refused);
    },
    /** A person's word, recorded and carried out as a run does it; by default two minutes after the window is over. */
    word: async ({
      singlePerson = false,
      ...word
    }: Partial<NewWord> & { filingId: string; by: string; singlePerson?: boolean }): Promise<Carried> => {
      words += 1;
      const said: NewWord = { ...WORD, at: minutesLater(242), step: `word-${words}`, ...word };
      const wordId = await recordWord(ledger.pool, said);
      return step(async (client) => {
        await lockFiling(client, said.filingId);
        return carryOutWord(client, {
          filingId: said.filingId,
          wordId,
          settleMs: SETTLE_MS,
          singlePerson,
          at: said.at,
        });
      });
    },
    /** `refusal`: that its own execution returned. */
    read: (attemptId: string, refusal?: string) => {
      const refused = refusal && { reason: refusal, sender: SENDER };
      return step((client) => readAttempt(client, { attemptId, ...(refused && { refused }), at }));
    },
    close: (attemptId: string, sender = SENDER) =>
      step((client) => closeNotSent(client, { attemptId, sender, reason: 'not_sent', at })),
    lose: (attemptId: string, sender = SENDER) =>
      noteUnknown(ledger.pool, { attemptId, sender, reason: 'the answer was lost' }),
    answer: (attemptId: string, answer: StoredAnswer = ACCEPTED) =>
      step((client) => storeAnswer(client, { attemptId, answer, at })),
    rows: async (filingId: string): Promise<{ state: string; live: boolean; sent: boolean; ordinal: number }[]> => {
      const { rows } = await ledger.pool.query<{ state: string; live: boolean; sent: boolean; ordinal: number }>(
        `SELECT r.state, r.live, r.submitted_at IS NOT NULL AS sent, coalesce(max(h.ordinal), 0) AS ordinal
           FROM filing_rows r LEFT JOIN held_mappings h USING (filing_id, position)
          WHERE r.filing_id = $1 GROUP BY r.filing_id, r.position ORDER BY r.position`,
        [filingId],
      );
      return rows;
    },
    attempts: async (filingId: string): Promise<string[]> => {
      const { rows } = await ledger.pool.query<{ verdict: string }>(
        'SELECT verdict FROM attempts WHERE filing_id = $1 ORDER BY submission, number',
        [filingId],
      );
      return rows.map(({ verdict }) => verdict);
    },
  };
}
