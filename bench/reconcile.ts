import { rm, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { startEmbeddedPostgres } from '../dev/postgres';
import { migrate } from '../src/ledger/migrate';
import { createPool } from '../src/ledger/pool';
import { compareParty } from '../src/ledger/reconciliation/compare';

/**
 * Comparing a party's certificates with its rows, by SQL in the ledger and in the plain way: everything read into this
 * process, nested maps. Both sides have as many entries as the first column shows; one in a hundred differs in one of
 * six ways. The second run on the same data changes nothing.
 *
 * Run through `npm run bench`.
 */
const SIZES = [1_000, 10_000, 100_000];
/** Time may grow by this much where the ledger grows tenfold; and the longest that the largest may take. */
const LIMITS = { growth: 15, largestMs: 10_000 };
const DAY = '2026-02-10';

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-bench-'));
  const postgres = await startEmbeddedPostgres({ folder, temporary: true });
  const url = postgres.urlOf('postgres');
  await migrate(url);
  const pool = createPool({ url, applicationName: 'ebrc-bench' });
  console.log('rows      findings   first run   second run   plain way   memory: ours   plain');
  const times: number[] = [];
  for (const size of SIZES) {
    const partyId = await seed(pool, size);
    const before = peak();
    const first = await timed(() => compare(pool, partyId));
    const second = await timed(() => compare(pool, partyId));
    const ours = peak() - before;
    if (second.result.opened !== 0 || second.result.closed !== 0) throw new Error('the second run changed something');
    const base = peak();
    const plain = await timed(() => plainWay(pool, partyId));
    const theirs = peak() - base;
    if (plain.result !== first.result.opened) {
      throw new Error(`the plain way finds ${plain.result}, SQL ${first.result.opened}`);
    }
    times.push(Math.max(first.ms, second.ms));
    const ms = (value: number) => `${value.toFixed(0)} ms`.padStart(11);
    const mb = (value: number) => `${(Math.max(0, value) / 1024 / 1024).toFixed(0)} MB`.padStart(11);
    console.log(
      `${String(size).padEnd(10)}${String(first.result.opened).padEnd(9)}${ms(first.ms)}${ms(second.ms)}${ms(plain.ms)}${mb(ours)}${mb(theirs)}`,
    );
  }
  await pool.end();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
  const [, middle = NaN, largest = NaN] = times;
  const growth = largest / middle;
  console.log(`growth from 10,000 to 100,000     ${growth.toFixed(1)} (at most ${LIMITS.growth})`);
  console.log(
    `100,000 rows                      ${(largest / 1_000).toFixed(1)} s (at most ${LIMITS.largestMs / 1_000} s)`,
  );
  if (!(growth <= LIMITS.growth) || largest > LIMITS.largestMs) process.exitCode = 1;
}

const peak = () => process.memoryUsage().rss;

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const start = performance.now();
  const result = await work();
  return { ms: performance.now() - start, result };
}

const compare = (pool: pg.Pool, partyId: number) =>
  compareParty(pool, {
    mode: 'test',
    partyId,
    checks: ['certificates', 'balances', 'documents', 'filings'],
    windows: [{ from: '2026-01-01', to: '2026-03-31', readAt: new Date('2026-02-20T00:00:00Z') }],
    withoutWorkflow: [],
    overdueAfterMs: 3_600_000,
    at: new Date('2026-02-20T01:00:00Z'),
  });

/**
 * Filings of 999 certified rows, and the certificates as a reading of today left them; of a hundred, one is changed.
 */
async function seed(pool: pg.Pool, size: number): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    `INSERT INTO parties (mode, iec) VALUES ('test', lpad($1::text, 10, 'B')) RETURNING party_id AS id`,
    [size],
  );
  const partyId = rows[0]?.id ?? 0;
  const name = `bench-${size}`;
  await pool.query(
    `INSERT INTO exporters (exporter_id, party_id, mode, name, email) VALUES ($1, $2, 'test', $1, $1 || '@example.test')`,
    [name, partyId],
  );
  await pool.query(`INSERT INTO filing_inputs (input_ref, rows, row_count, source_kind) VALUES ($1, '[]', 0, 'json')`, [
    name,
  ]);
  await pool.query(
    `INSERT INTO filings (filing_id, mode, exporter_id, reference, workflow_id, content_hash, input_ref, upload_type, declaration,
        channel, state, made_by, made_at, declared_by, closed_at)
     SELECT $1 || '-' || n, 'test', $1, $1 || '-' || n, $1 || '-' || n, 'h', $1, 101, 'Y', 'bulk', 'certified', 'bench', $2, 'bench', $2
       FROM generate_series(0, ($3 - 1) / 999) n`,
    [name, `${DAY}T06:00:00Z`, size],
  );
  await pool.query(
    `INSERT INTO filing_rows (filing_id, position, source_row, submission, serial_no, exporter_id, party_id, irm_key, mapping, match_key,
        mapped_amount, currency, fingerprint, live, state, ebrc_number, settled_at)
     SELECT $1 || '-' || n / 999, n % 999, n % 999 + 2, 1, n % 999 + 1, $1, $2, 'IRM' || n / 10 || ' 0510001',
            jsonb_build_object('irmNumber', 'IRM' || n / 10, 'sbCumInvoiceNumber', n::text, 'sbCumInvoiceDate', '03012026'),
            jsonb_build_array(n::text, '03012026', '1000', 'USD')::text, 1000, 'USD', $2::int || ':' || n, true, 'certified', 'E' || n, $3
       FROM generate_series(0, $4 - 1) n`,
    [name, partyId, `${DAY}T08:00:00Z`, size],
  );
  await pool.query(
    `INSERT INTO certificates (party_id, exporter_id, ebrc_number, status, first_status, document_no, document_date, amount, currency,
        detail, filing_id, position, seen_at, claimed_at, issued_on, match_key, archived_at, pdf_problem)
     SELECT $2::int, $1, 'E' || n, CASE WHEN n % 500 = 3 THEN 'Cancelled' ELSE 'Issued' END, 'Issued', n::text, '03012026',
            CASE WHEN n % 500 = 2 THEN 999 ELSE 1000 END, 'USD', '{}'::jsonb, $1 || '-' || n / 999, n % 999,
            CASE WHEN n % 500 = 1 THEN timestamptz '2026-02-19' ELSE timestamptz '2026-02-20 00:00:01+00' END,
            timestamptz '2026-02-18', $3::date, jsonb_build_array(n::text, '03012026', '1000', 'USD')::text, timestamptz '2026-02-18',
            CASE WHEN n % 500 = 4 THEN 'damaged' END
       FROM generate_series(0, $4 - 1) n
     UNION ALL
     SELECT $2::int, $1, 'X' || n, 'Issued', 'Issued', n::text, '03012026', 1000, 'USD', '{}'::jsonb, NULL, NULL, timestamptz '2026-02-20 00:00:01+00',
            NULL::timestamptz, $3::date, jsonb_build_array(CASE WHEN n % 1000 = 0 THEN n::text ELSE 'foreign' END, '03012026', '1000', 'USD')::text,
            NULL, NULL
       FROM generate_series(0, $4 - 1, 500) n`,
    [name, partyId, DAY, size],
  );
  await pool.query('ANALYZE');
  return partyId;
}

interface PlainRow {
  number: string;
  key: string;
  amount: string;
}
interface PlainCertificate extends PlainRow {
  seen: boolean;
  ours: boolean;
  status: string;
  firstStatus: string;
  problem: string | null;
}

/** Everything in memory. @returns how many findings there are */
async function plainWay(pool: pg.Pool, partyId: number): Promise<number> {
  const { rows } = await pool.query<PlainRow>(
    `SELECT ebrc_number AS number, match_key AS key, mapped_amount::text AS amount, mapping FROM filing_rows WHERE party_id = $1`,
    [partyId],
  );
  const { rows: certificates } = await pool.query<PlainCertificate>(
    `SELECT ebrc_number AS number, match_key AS key, amount::text AS amount, seen_at >= '2026-02-20' AS seen, filing_id IS NOT NULL AS ours,
            status, first_status AS "firstStatus", pdf_problem AS problem, detail FROM certificates WHERE party_id = $1`,
    [partyId],
  );
  const byNumber = new Map(certificates.map((certificate) => [certificate.number, certificate]));
  const found = new Set<string>();
  for (const row of rows) {
    const certificate = byNumber.get(row.number);
    if (!certificate?.seen) found.add(`ours_not_theirs|${row.number}`);
    else if (certificate.amount !== row.amount) found.add(`amount_differs|${row.number}`);
    if (certificate?.seen && certificate.status !== certificate.firstStatus) found.add(`status_changed|${row.number}`);
    if (certificate?.problem) found.add(`pdf_${certificate.problem}|${row.number}`);
  }
  const filed = new Set(rows.map(({ key }) => key));
  for (const { number, key, ours } of certificates) {
    if (!ours) found.add(`${filed.has(key) ? 'duplicate_certificate' : 'theirs_not_ours'}|${number}`);
  }
  return found.size;
}

void main();
