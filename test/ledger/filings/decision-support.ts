/** Filings in the states in which persons decide about them, written straight into the ledger. */
import type pg from 'pg';
import { withTransaction } from '../../../src/ledger/pool';
import { carryOutDecisions } from '../../../src/ledger/decisions/decisions';
import { decide, type Decided } from '../../../src/ledger/decisions/decide';
import type { Decision } from '../../../src/ledger/decisions/asked';
import type { DecisionSettings } from '../../../src/ledger/decisions/in-question';
import { lockFiling, lockIrmsOf } from '../../../src/ledger/filings/lock';
import { principalOf } from '../../support/principals';
import { mapping } from '../../../dev/sample-mapping';
import type { Role } from '../../../src/domain/principal';

const SETTINGS: DecisionSettings = { settleAfterMs: 4 * 3_600_000, singlePerson: false };
const IEC = 'AAGCM4521K';

export async function knowCompany(pool: pg.Pool): Promise<void> {
  await pool.query(
    `INSERT INTO exporters (exporter_id, mode, name, email, iec, iec_source, is_active, has_credentials)
     VALUES ('exporter-1', 'test', 'Asha Exports', 'asha@example.test', $1, 'irms', true, true)`,
    [IEC],
  );
  // Settle times are over by beats too.
  await pool.query('UPDATE ledger SET beat = 100000');
}

let made = 0;

export interface Made {
  filingId: string;
  reference: string;
  /** The document number of its first row. */
  document: string;
}

interface Wanted {
  state?: string;
  rows?: number;
  maker?: string | null;
  approval?: string | null;
  n?: number;
  reference?: string;
}

/** A filing whose rows are planned. */
export async function makeFiling(pool: pg.Pool, wanted: Wanted = {}): Promise<Made> {
  const { state = 'awaiting_approval', rows = 1, maker = 'meera', approval = null, n = 1 } = wanted;
  made += 1;
  const filingId = `F${made}`;
  const reference = wanted.reference ?? `JULY-${made}`;
  const makerId = maker === null ? null : (await principalOf(pool, maker)).principalId;
  await pool.query(`INSERT INTO filing_inputs (input_ref, rows, row_count, source_kind) VALUES ($1, '[]', 0, 'json')`, [
    filingId,
  ]);
  await pool.query(
    `INSERT INTO filings (filing_id, mode, exporter_id, iec, reference, n, workflow_id, content_hash, input_ref, upload_type,
        declaration, channel, declared_by, made_by, maker_id, approval, state, asked, checked_at)
     VALUES ($1, 'test', 'exporter-1', $2, $3, $4, $5, 'hash', $1, 101, 'Y', 'push', 'x', $6, $7, $8, $9, $10, clock_timestamp())`,
    [
      ...[filingId, IEC, reference, n, `file/test/${reference}/${n}`, maker ?? 'somebody', makerId],
      ...[approval, state, state === 'awaiting_approval'],
    ],
  );
  const document = `90${made}00`;
  for (let position = 0; position < rows; position += 1) {
    const number = `90${made}0${position}`;
    await pool.query(
      `INSERT INTO filing_rows (filing_id, position, source_row, mode, iec, mapping, irm_key, document_key, amount, currency, fingerprint)
       VALUES ($1, $2, $3, 'test', $4, $5, $6, $7, 8000, 'USD', $8)`,
      [
        ...[filingId, position, position + 2, IEC],
        ...[mapping({ serialNo: position + 1, sbCumInvoiceNumber: number }), `IRM${made}`, number, `${IEC}/${number}`],
      ],
    );
  }
  return { filingId, reference, document };
}

interface Sent extends Wanted {
  verdict?: 'sending' | 'unknown' | 'accepted';
  requestId?: string | null;
  /** How long ago it was sent; default: longer than the settle time. */
  ageMs?: number;
  evidence?: readonly string[] | null;
  /** How long ago the reading began that the evidence rests on. */
  readAgoMs?: number;
  denied?: boolean;
  answer?: object | null;
}

/** A filing whose attempt may have arrived. */
export async function makeSent(pool: pg.Pool, sent: Sent = {}): Promise<Made> {
  const filing = await makeFiling(pool, { state: 'outcome_unknown', ...sent });
  const { verdict = 'unknown', requestId = null, ageMs = 5 * 3_600_000, denied = false, answer = null } = sent;
  await pool.query(
    `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, reason, marked_at, epoch, beat, settle_beats, settle_ms,
        timeout_ms, request_id, request_from, denied_since, answer)
     VALUES ($1, 1, 'test', 'exporter-1', $2, 'timeout', clock_timestamp() - $3 * interval '1 ms', 'e', 1, 10, 14400000, 60000, $4,
       CASE WHEN $4::text IS NOT NULL THEN 'service' END, CASE WHEN $5 THEN clock_timestamp() - interval '5 h' END, $6)`,
    [filing.filingId, verdict, ageMs, requestId, denied, answer],
  );
  await pool.query(
    `UPDATE filing_rows SET state = 'sent', sent_at = clock_timestamp() - $2 * interval '1 ms' WHERE filing_id = $1`,
    [filing.filingId, ageMs],
  );
  if (sent.evidence !== null) await judgedBy(pool, filing, sent.evidence ?? [], sent.readAgoMs ?? 600_000);
  return filing;
}

/** The evidence of an attempt, by a whole reading that began this long ago. */
export async function judgedBy(pool: pg.Pool, { filingId }: Made, names: readonly string[], agoMs = 0): Promise<void> {
  const { rows } = await pool.query<{ at: string }>(
    `INSERT INTO readings (mode, iec, exporter_id, began_at, ended_at, from_date, to_date, whole, irms_whole)
     VALUES ('test', $1, 'exporter-1', clock_timestamp() - $2 * interval '1 ms', clock_timestamp(), current_date - 1, current_date, $3, $3)
     RETURNING to_char(began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at`,
    [IEC, agoMs, !names.includes('reading:none')],
  );
  const evidence = { readAt: rows[0]?.at, names, entries: [] };
  await pool.query(`UPDATE attempts SET evidence = $2, judged_at = clock_timestamp() WHERE filing_id = $1`, [
    filingId,
    JSON.stringify(evidence),
  ]);
}

export async function issue(
  pool: pg.Pool,
  number: string,
  { document, amount = 8000, status = 'Issued' }: { document: string; amount?: number; status?: string },
): Promise<void> {
  await pool.query(
    `INSERT INTO certificates (mode, iec, ebrc_number, exporter_id, ebrc_date, status, document_no, document_key, amount, currency,
        detail, asked_at) VALUES ('test', $1, $2, 'exporter-1', '01022026', $3, $4, $4, $5, 'USD', '{}', clock_timestamp())`,
    [IEC, number, status, document, amount],
  );
}

/** What a person decides; `who` null: somebody without a token. */
export async function say(
  pool: pg.Pool,
  { filingId }: Made,
  who: string | null,
  what: Omit<Decision, 'filingId' | 'by'>,
  { roles, ...settings }: Partial<DecisionSettings> & { roles?: readonly Role[] } = {},
): Promise<Decided> {
  const by = who === null ? { name: 'a claim' } : { name: who, principal: await principalOf(pool, who, roles) };
  return decide(pool, { filingId, by, ...what }, { ...SETTINGS, ...settings });
}

/** The part of a run's step that carries decisions out. */
export async function step(pool: pg.Pool, { filingId }: Made, settings: Partial<DecisionSettings> = {}) {
  return withTransaction(pool, async (client) => {
    await lockIrmsOf(client, filingId);
    return carryOutDecisions(client, await lockFiling(client, filingId), { ...SETTINGS, ...settings });
  });
}

/** Moves what was said so far into the past. A trigger keeps decisions unchanged, so it is set aside for it. */
export async function daysAgo(pool: pg.Pool, days: number): Promise<void> {
  await pool.query('ALTER TABLE decisions DISABLE TRIGGER decisions_unchanged');
  await pool.query(`UPDATE decisions SET at = at - $1 * interval '1 day' WHERE outcome IS NULL`, [days]);
  await pool.query('ALTER TABLE decisions ENABLE TRIGGER decisions_unchanged');
  await pool.query(`UPDATE principals SET created_at = created_at - $1 * interval '1 day'`, [days]);
}

/** How a filing stands: its state, rows, attempts and what came of decisions. */
export async function standing(pool: pg.Pool, { filingId }: Made) {
  const { rows } = await pool.query<
    Record<'rows' | 'verdicts' | 'said', string[]> & { state: string; approved: boolean; evidence: string[] }
  >(
    `SELECT state, approved_at IS NOT NULL AS approved, approved_evidence AS evidence,
            ARRAY(SELECT state FROM filing_rows r WHERE r.filing_id = f.filing_id ORDER BY position) AS rows,
            ARRAY(SELECT verdict FROM attempts a WHERE a.filing_id = f.filing_id ORDER BY number) AS verdicts,
            ARRAY(SELECT d.name || ' ' || d.kind || ' ' || coalesce(outcome, 'waits') FROM decisions d
                   WHERE d.filing_id = f.filing_id ORDER BY decision_id) AS said
       FROM filings f WHERE filing_id = $1`,
    [filingId],
  );
  if (!rows[0]) throw new Error('no filing');
  return rows[0];
}

/** Outcome and reason of a decision. */
export const told = (decided: Decided): string =>
  decided.outcome === 'refused'
    ? `${decided.code}: ${decided.why}`
    : `${decided.outcome}${decided.why ? `: ${decided.why}` : ''}`;
