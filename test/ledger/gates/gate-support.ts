/** What the gates are asked about: filings of an exporter of their own, its certificates, looks and requests. */
import { filingDateInKolkata } from '../../../src/domain/dates';
import { partsOfAttemptId } from '../../../src/domain/filing/attempt';
import type { Mapping } from '../../../src/domain/filing/mapping';
import { saveCertificates, type CertificateDetailRecord } from '../../../src/ledger/certificates/certificates';
import { certifyByRecord } from '../../../src/ledger/gates/certify';
import { saveSnapshot } from '../../../src/ledger/certificates/snapshots';
import { lockFiling } from '../../../src/ledger/filings/filing-lock';
import type { Intent } from '../../../src/ledger/filings/filing-intent';
import { releaseRejected } from '../../../src/ledger/gates/release';
import { releaseAbsent } from '../../../src/ledger/gates/release-absent';
import { withTransaction, type Queryable } from '../../../src/ledger/pool';
import { moveRows, readRows } from '../../../src/ledger/rows/filing-rows';
import { storeAnswer } from '../../../src/ledger/submissions/answers';
import { recordLook, type Look } from '../../../src/ledger/submissions/lost-time';
import {
  addRequest,
  endRequest,
  notePoll,
  settleIfDone,
  type Statement,
} from '../../../src/ledger/submissions/requests';
import { detailOf } from '../../reports/ledger-of-a-month';
import { useTestDatabase } from '../../support/postgres';
import { knowExporter, minutesLater, move, NOW, open, readBalancesAgain, rowsOf } from '../filing-support';
import { markSending } from '../ledger-steps';
import { ACCEPTED, attemptSteps, SENDER, SETTLE_MS } from '../submissions/attempt-support';

type AbsenceArgs = Parameters<typeof releaseAbsent>[1];

/** The settle window after a mark at NOW is over, and a complete look may begin. */
export const OVER = minutesLater(241);
/** After that look. */
export const LATER = minutesLater(242);

export interface Sent {
  filingId: string;
  attemptId: string;
}

type Row = Partial<Mapping>;

let made = 0;

/** One ledger for a test file. */
export function useGates() {
  const ledger = useTestDatabase();
  const steps = attemptSteps(ledger);
  const step = <T>(work: (client: Queryable) => Promise<T>) => withTransaction(ledger.pool, work);
  /** As the activities take the gates: under the filing's lock. */
  const under = <T>(filingId: string, work: (client: Queryable) => Promise<T>) =>
    step(async (client) => {
      await lockFiling(client, filingId);
      return work(client);
    });

  const accept = ({ attemptId }: Pick<Sent, 'attemptId'>, requestId: string | null, at = NOW) =>
    step((client) => storeAnswer(client, { attemptId, answer: { ...ACCEPTED, requestId }, at }));

  /** Asks the release gate for absence. */
  const absent = (subject: AbsenceArgs['subject'], more: Partial<AbsenceArgs> = {}) => {
    const filingId = 'attemptId' in subject ? partsOfAttemptId(subject.attemptId).filingId : subject.filingId;
    const args = { subject, settleMs: SETTLE_MS, unseen: false, notOurs: [], reason: 'not filed', at: LATER, ...more };
    return under(filingId, (client) => releaseAbsent(client, args));
  };

  /**
   * A request ends with these rows Errored, and names certificates for others that they cannot have.
   * @returns the rows that were freed by it
   */
  const rejectRows = (
    filingId: string,
    requestId: string,
    errored: number[] = [],
    at = LATER,
    contradicted: number[] = [],
  ) =>
    under(filingId, async (client) => {
      const outcome = errored.map((position) => ({ position, errors: ['ERR28: date'] }));
      const end = { state: 'ended' as const, processingStatus: 'Errored', errored: outcome, contradicted, at };
      await endRequest(client, { filingId, submission: 1, requestId }, end);
      const freed = await releaseRejected(client, { filingId, submission: 1, at });
      await settleIfDone(client, { filingId, submission: 1, at });
      return freed;
    });

  /** A client of an IEC, by default of one of its own: looks and certificates are the party's. */
  async function exporter(iec = `AAGC${String(100_001 + made)}`) {
    made += 1;
    const exporterId = `gate-exporter-${made}`;
    await knowExporter(ledger, exporterId, iec);

    /** A filing of rows with documents and bills of their own. @returns its id */
    const file = (rows: Row[] = [{}], more: Partial<Intent> = {}): Promise<string> => {
      const own = rows.map((row) => {
        made += 1;
        const document = String(8_000_000 + made);
        return { sbCumInvoiceNumber: document, billNo: `EXP/${document}`, mappedIRMAmountFCC: 5, ...row };
      });
      return open(ledger, `GATE-${made}`, rowsOf(...own), { exporterId, ...more });
    };

    /** An attempt that is marked as sent, after a snapshot that held these numbers; null: none was taken. */
    const sendAttempt = async (
      filingId: string,
      { held = [], at = NOW, settleMs = 0 }: { held?: string[] | null; at?: Date; settleMs?: number } = {},
    ): Promise<Sent> => {
      const snapshot = { filingId, submission: 1, exporterId, certificates: held, at };
      if (held) await saveSnapshot(ledger.pool, snapshot);
      const attemptId = await steps.opened(filingId);
      const args = { attemptId, sender: SENDER, payloadHash: 'hash', settleMs, at };
      const mark = await step((client) => markSending(client, args));
      if (!mark.marked) throw new Error(mark.reason);
      return { filingId, attemptId };
    };

    /** A filing of two rows, each in a submission of its own, as of more rows than one request takes. */
    const fileInTwo = async (): Promise<string> => {
      const filingId = await file([{}, {}]);
      await ledger.pool.query(
        `WITH second AS (INSERT INTO submissions (filing_id, submission, mode, customer_id, row_count) VALUES ($1, 2, 'test', $2, 1))
         UPDATE filing_rows SET submission = 2 WHERE filing_id = $1 AND position = 1`,
        [filingId, exporterId],
      );
      return filingId;
    };

    const sent = async (rows?: Row[], how: Parameters<typeof sendAttempt>[1] = {}): Promise<Sent> =>
      sendAttempt(await file(rows), how);

    /** A look at the party's certificates, complete unless there is a problem, after a reading of the balances. */
    const look = async (beganAt: Date, { balances = true, ...more }: Partial<Look> & { balances?: boolean } = {}) => {
      if (balances) await readBalancesAgain(ledger, exporterId, beganAt);
      await recordLook(ledger.pool, {
        exporterId,
        beganAt,
        endedAt: beganAt,
        from: '01012026',
        to: filingDateInKolkata(beganAt.getTime()),
        problem: null,
        ...more,
      });
    };

    return {
      exporterId,
      iec,
      file,
      fileInTwo,
      sendAttempt,
      /** A filing of which an attempt was sent, and has no answer. */
      sent,
      look,
      /** A first attempt that was judged absent after a complete look, and the next one, open. */
      absentAndNext: async () => {
        const { filingId, attemptId: first } = await sent();
        await look(OVER);
        expect(await absent({ attemptId: first })).toEqual({ outcome: 'again' });
        await look(minutesLater(250));
        return { filingId, first, second: await steps.opened(filingId) };
      },
      /** A filing of a row that the authority rejected, and the correction that took it over. */
      corrected: async () => {
        const reference = `CORRECTED-${made}`;
        const original = await file([{}], { reference });
        await accept(await sendAttempt(original), `R-${original}`);
        expect(await rejectRows(original, `R-${original}`, [0])).toEqual([0]);
        await move(ledger, original, 'submitting', 'processing', 'collecting', 'rejected');
        return { original, correction: await file([{}], { reference, n: 2, corrects: original }) };
      },
      /** The record of a filing's own request names certificates for its rows. @returns what contradicts them */
      certify: (filingId: string, certificates: Record<number, string>, at = LATER) =>
        under(filingId, (client) => {
          const records = Object.entries(certificates).map(([position, eBRCNumber]) => ({
            position: Number(position),
            eBRCNumber,
            eBRCDate: '10022026',
          }));
          return certifyByRecord(client, { filingId, submission: 1, exporterId, records, at });
        }),
      /** A certificate that agrees with a row of a filing, in everything but what is given. */
      show: async (
        filingId: string,
        eBRCNumber: string,
        { position = 0, ...more }: Partial<CertificateDetailRecord> & { position?: number } = {},
      ) => {
        const mapping = (await readRows(ledger.pool, filingId))[position]?.mapping;
        if (!mapping) throw new Error(`row ${position} of ${filingId} is not there`);
        const details = [{ ...detailOf(eBRCNumber, mapping, NOW), ...more }];
        await saveCertificates(ledger.pool, { exporterId, details, at: NOW });
      },
    };
  }

  return {
    ...steps,
    ledger,
    step,
    under,
    exporter,
    accept,
    absent,
    /** A person names a request of a filing's submission. */
    name: (filingId: string, requestId: string) =>
      step((client) =>
        addRequest(client, { filingId, submission: 1, requestId, source: 'named', attemptId: null, since: NOW }),
      ),
    /** A poll of a request that found no outcome. */
    poll: (filingId: string, requestId: string, statement: Statement | null, at: Date) =>
      step((client) => notePoll(client, { filingId, submission: 1, requestId }, { statement, ageMs: 0, at })),
    endRequest: rejectRows,
    /** Columns of a filing's rows, or of another table of its filing. */
    stored: async (filingId: string, columns: string, table = 'filing_rows') =>
      (await ledger.pool.query(`SELECT ${columns} FROM ${table} WHERE filing_id = $1 ORDER BY 1`, [filingId])).rows,
    /** Puts a filing's rows into a state, as a step would that this test is not about. */
    putRows: (filingId: string, state: Parameters<typeof moveRows>[1]['state']) =>
      moveRows(ledger.pool, { filingId, submission: null, state }),
    releases: async (filingId: string) => {
      const { rows } = await ledger.pool.query<{ ground: string; withdrawn: boolean }>(
        `SELECT ground, withdrawn_at IS NOT NULL AS withdrawn FROM releases WHERE filing_id = $1 ORDER BY release_id`,
        [filingId],
      );
      return rows;
    },
    requests: async (filingId: string) => {
      const { rows } = await ledger.pool.query<{ id: string; source: string; state: string }>(
        `SELECT request_id AS id, source, state FROM requests WHERE filing_id = $1 ORDER BY since, request_id`,
        [filingId],
      );
      return rows;
    },
  };
}
