/** Sent filings with attempts, readings and certificates, by the times of a settle time that is over or not. */
import type { Mapping, MappingRow } from '../../../src/domain/filing/mapping';
import type { Verdict } from '../../../src/domain/filing/states';
import type { StatusEntry } from '../../../src/domain/service/request-status';
import type { TestDatabase } from '../../support/postgres';
import { recordOf } from '../../domain/filing/row-facts';
import { EXPORTER, IEC, made } from './recording';

export const HOUR = 3_600_000;
export const SETTLE = 4 * HOUR;
/** A sent attempt whose settle time is over began this long ago. */
const AGE = 6 * HOUR;

type Ledger = Pick<TestDatabase, 'pool' | 'select'>;

export interface Sent {
  verdict?: Verdict;
  requestId?: string | null;
  requestFrom?: 'service' | 'person';
  ageMs?: number;
  /** The balances before it, by IRM; default: the sample's IRM had 10,000. */
  balances?: Record<string, string | null>;
  state?: string;
  asked?: boolean;
  number?: number;
}

/** A recorded filing of these rows whose attempt began `ageMs` ago. @returns its id */
export async function sentFiling(
  { pool }: Ledger,
  reference: string,
  rows: MappingRow[],
  sent: Sent = {},
): Promise<string> {
  const filingId = await made({ pool }, reference, rows);
  await addAttempt({ pool }, filingId, sent);
  const { ageMs = AGE, state = 'outcome_unknown', asked = false } = sent;
  await pool.query(
    `UPDATE filing_rows SET state = 'sent', sent_at = clock_timestamp() - $2 * interval '1 ms' WHERE filing_id = $1`,
    [filingId, ageMs],
  );
  await pool.query(`UPDATE filings SET state = $2, asked = $3, checked_at = clock_timestamp() WHERE filing_id = $1`, [
    filingId,
    state,
    asked,
  ]);
  return filingId;
}

export async function addAttempt({ pool }: Pick<Ledger, 'pool'>, filingId: string, sent: Sent = {}): Promise<void> {
  const { verdict = 'unknown', requestId = null, requestFrom = 'service', ageMs = AGE, number = 1 } = sent;
  const before = sent.balances ?? { IRM2026000001: '10000' };
  const balances = Object.fromEntries(
    Object.entries(before).map(([irm, available]) => [irm, { available, readAt: ago(ageMs + HOUR / 2) }]),
  );
  await pool.query(
    `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, marked_at, epoch, beat, settle_beats, settle_ms, timeout_ms,
        balances, request_id, request_from)
     VALUES ($1, $2, 'test', $3, $4, clock_timestamp() - $5 * interval '1 ms', server_epoch(), 1, 10, $6, 30000, $7, $8, $9)`,
    [
      ...[filingId, number, EXPORTER, verdict, ageMs, SETTLE, JSON.stringify(balances)],
      ...[requestId, requestId === null ? null : requestFrom],
    ],
  );
}

const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();

/** A reading that began `agoMs` ago and was whole. */
export async function wholeReading(
  { pool }: Ledger,
  agoMs = 0,
  more: { whole?: boolean; beat?: number } = {},
): Promise<void> {
  const { whole = true, beat = 100 } = more;
  await pool.query(
    `INSERT INTO readings (mode, iec, exporter_id, began_at, beat, ended_at, from_date, to_date, whole, irms_whole)
     VALUES ('test', $1, $2, clock_timestamp() - $3 * interval '1 ms', $4, clock_timestamp(), current_date, current_date, $5, $5)`,
    [IEC, EXPORTER, agoMs, beat, whole],
  );
}

/** The request of an attempt has a record with this list. */
export async function answered(
  { pool }: Ledger,
  filingId: string,
  list: StatusEntry[],
  number = 1,
  more: object = {},
): Promise<void> {
  await pool.query(
    `UPDATE attempts SET record = $3, record_at = clock_timestamp() WHERE filing_id = $1 AND number = $2`,
    [filingId, number, JSON.stringify({ ...recordOf(list), ...more })],
  );
}

/** The entry of a status record for a mapping. */
export const statusOf = (mapping: Mapping, more: Partial<StatusEntry> = {}): StatusEntry => ({
  serialNo: String(mapping.serialNo),
  irmNumber: mapping.irmNumber,
  irmDt: mapping.irmDt,
  iecNumber: IEC,
  sbCumInvoiceNumber: mapping.sbCumInvoiceNumber,
  sbCumInvoiceDate: mapping.sbCumInvoiceDate,
  billNo: mapping.billNo,
  fobFCC: mapping.mappedIRMAmountFCC,
  fcc: mapping.irmFCC,
  eBRCNumber: null,
  eBRCDt: '10012026',
  processingStatus: 'Processed',
  errorDetails: [],
  ...more,
});

export const rowsIn = async ({ select }: Ledger, filingId: string) =>
  (
    await select(
      'SELECT state, ebrc_number, certified_by, record_status FROM filing_rows WHERE filing_id = $1 ORDER BY position',
      filingId,
    )
  ).map(({ state, ebrc_number, certified_by, record_status }) =>
    [state, ebrc_number ?? record_status, certified_by].filter(Boolean).join(' '),
  );

export const verdictsOf = async ({ select }: Ledger, filingId: string) =>
  (await select('SELECT verdict FROM attempts WHERE filing_id = $1 ORDER BY number', filingId)).map(
    ({ verdict }) => verdict,
  );

export const namesOf = async ({ select }: Ledger, filingId: string) =>
  (
    await select(
      `SELECT evidence -> 'names' AS names FROM attempts WHERE filing_id = $1 ORDER BY number DESC LIMIT 1`,
      filingId,
    )
  )[0]?.names;

export const findingsOf = async ({ select }: Ledger, filingId: string) =>
  (
    await select(
      'SELECT kind, text FROM findings WHERE filing_id = $1 AND closed_at IS NULL ORDER BY first_seen_at',
      filingId,
    )
  ).map(({ kind, text }) => `${kind as string}: ${text as string}`);

export const eventsOf = async ({ select }: Ledger, filingId: string) =>
  (await select(`SELECT text FROM events WHERE filing_id = $1 AND text IS NOT NULL ORDER BY ordinal`, filingId)).map(
    ({ text }) => text,
  );
