import type { StoredAnswer } from '../../../src/domain/filing/attempt';
import { storeAnswer } from '../../../src/ledger/submissions/answers';
import { closeNotSent, noteUnknown, readAttempt } from '../../../src/ledger/submissions/attempts';
import { openAttempt } from '../../../src/ledger/submissions/open-attempt';
import { adoptRequestId, closeByPerson, type NotFiledAnswer } from '../../../src/ledger/submissions/person-answers';
import { withTransaction } from '../../../src/ledger/pool';
import { markSending, type Mark } from '../../../src/ledger/submissions/sending-mark';
import type { TestDatabase } from '../../support/postgres';
import { minutesLater, NOW, open, rowsOf } from '../filing-support';

export const ACCEPTED: StoredAnswer = { kind: 'accepted', status: 200, requestId: 'R1', dgftAckId: 'A1' };

/** Said by a person after the settle window, while the service can be looked at. */
const WORD = {
  by: 'ravi',
  note: 'looked',
  at: minutesLater(240),
  settleAfterMs: 240 * 60_000,
  lookFailed: null,
  unseen: false,
};

let filings = 0;

/** The steps on attempts as activities take them, each in a transaction of its own. */
export function attemptSteps(ledger: () => TestDatabase) {
  const at = NOW;
  const step = <T>(work: Parameters<typeof withTransaction<T>>[1]) => withTransaction(ledger().pool, work);
  return {
    /** A filing of one row, each time another mapping. @returns its id */
    filing: () => {
      filings += 1;
      const row = { sbCumInvoiceNumber: String(2_000_000 + filings), mappedIRMAmountFCC: 1 };
      return open(ledger(), `ATTEMPTS-${filings}`, rowsOf(row));
    },
    /** The next attempt of the filing's submission; fails where there is none to send with. */
    opened: async (filingId: string, submission = 1): Promise<string> => {
      const opened = await step((client) => openAttempt(client, { filingId, submission }));
      if (opened.outcome !== 'attempt' || opened.state !== 'open') throw new Error(JSON.stringify(opened));
      return opened.attemptId;
    },
    open: (filingId: string, submission = 1) => step((client) => openAttempt(client, { filingId, submission })),
    mark: (attemptId: string, sender = 'this-execution'): Promise<Mark> =>
      step((client) => markSending(client, { attemptId, sender, payloadHash: 'hash', at })),
    read: (attemptId: string, refusal?: string) => step((client) => readAttempt(client, { attemptId, refusal, at })),
    close: (attemptId: string, sender = 'this-execution') =>
      step((client) => closeNotSent(client, { attemptId, sender, reason: 'not_sent', at })),
    lose: (attemptId: string, sender = 'this-execution') =>
      noteUnknown(ledger().pool, { attemptId, sender, reason: 'the answer was lost', at }),
    answer: (attemptId: string, answer: StoredAnswer = ACCEPTED) =>
      step((client) => storeAnswer(client, { attemptId, answer, at })),
    /** A person says that nothing was filed, of the mark that the ledger shows now where the test names none. */
    say: (attemptId: string, more: Partial<NotFiledAnswer> = {}) =>
      step(async (client) => {
        const { rows } = await client.query<{ at: Date | null }>(
          'SELECT sending_at AS at FROM attempts WHERE attempt_id = $1',
          [attemptId],
        );
        return closeByPerson(client, { ...WORD, attemptId, markedAt: rows[0]?.at?.getTime() ?? null, ...more });
      }),
    /** A person names the request of an attempt. */
    found: (attemptId: string, requestId: string) =>
      step((client) => adoptRequestId(client, { attemptId, requestId, at })),
    rows: async (filingId: string): Promise<{ state: string; live: boolean; sent: boolean; ordinal: number }[]> => {
      const { rows } = await ledger().pool.query<{ state: string; live: boolean; sent: boolean; ordinal: number }>(
        `SELECT state, live, submitted_at IS NOT NULL AS sent, ordinal FROM filing_rows WHERE filing_id = $1 ORDER BY position`,
        [filingId],
      );
      return rows;
    },
    attempts: async (filingId: string): Promise<string[]> => {
      const { rows } = await ledger().pool.query<{ state: string }>(
        'SELECT state FROM attempts WHERE filing_id = $1 ORDER BY submission, number',
        [filingId],
      );
      return rows.map(({ state }) => state);
    },
  };
}
