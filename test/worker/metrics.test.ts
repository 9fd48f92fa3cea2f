/** What the metrics say of a ledger: read into gauges, and down to 0 again when it is over. */
import type { MetricTags } from '@temporalio/common';
import { RATE_LIMITS } from '../../src/domain/names';
import { figuresJob, processJob, countingVault, observeCall, observeJob } from '../../src/worker/observe';
import { metricsOptions, type Metrics } from '../../src/worker/metrics';
import { openFinding } from '../../src/ledger/findings';
import { filingForRun, noteRunProblem } from '../../src/ledger/runs';
import { useTestDatabase } from '../support/postgres';
import { recordFilingByHand } from '../support/recorded-filing';

const database = useTestDatabase();

/** Metrics that remember: gauges their last value, counters their sum. */
function remembered() {
  const values = new Map<string, number>();
  const key = (name: string, tags: MetricTags = {}) => [name, ...Object.values(tags)].join(' ');
  const metrics: Metrics = {
    count: (name, tags, by = 1) => void values.set(key(name, tags), (values.get(key(name, tags)) ?? 0) + by),
    observe: (name, seconds, tags) => void values.set(key(name, tags), seconds),
    set: (name, value, tags) => void values.set(key(name, tags), value),
  };
  return { metrics, of: (text: string) => values.get(text), names: () => [...values.keys()] };
}

const read = async (metrics: Metrics, pool = database.pool, { signal } = new AbortController()) => {
  await processJob({ pool, metrics }).run(signal);
  await figuresJob({ pool, mode: 'test', keyHash: 'k', metrics, quota: { certificates: 500, exporters: 10 } }).run(
    signal,
  );
};

it('counts filings by state and age, and sets a state that is empty again to 0', async () => {
  const { metrics, of } = remembered();
  await read(metrics);
  expect([of('ebrc_filings checking'), of('ebrc_filing_oldest_seconds checking')]).toEqual([0, 0]);
  const { filingId } = await recordFilingByHand(database.pool, { reference: 'FIGURES-1', state: 'checking' });
  await database.pool.query("UPDATE filings SET made_at = now() - interval '2 hours'");
  await read(metrics);
  expect(of('ebrc_filings checking')).toBe(1);
  expect(of('ebrc_filing_oldest_seconds checking')).toBeGreaterThan(3_600);
  await database.pool.query(
    `UPDATE filings SET state = 'outcome_unknown', attention = 'look', due_at = now() - interval '1 hour'`,
  );
  await database.pool.query("UPDATE filing_rows SET state = 'sent'");
  await database.pool.query(
    `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, epoch, beat, settle_beats, settle_ms, timeout_ms)
     VALUES ($1, 1, 'test', 'E-test', 'unknown', 'e', 1, 1, 1, 1)`,
    [filingId],
  );
  await noteRunProblem(database.pool, (await filingForRun(database.pool, filingId))!, {
    kind: 'filing_without_workflow',
    text: 'gone',
  });
  await read(metrics);
  expect([of('ebrc_filings checking'), of('ebrc_filings outcome_unknown')]).toEqual([0, 1]);
  expect([of('ebrc_unknown_rows'), of('ebrc_filings_with_run_problem'), of('ebrc_filings_past_due')]).toEqual([
    1, 1, 1,
  ]);
  expect(of('ebrc_filings_needing_attention')).toBe(1);
});

it('shows acknowledgement times, certificates, findings and the budget', async () => {
  const { pool } = database;
  const { filingId } = await recordFilingByHand(pool, {
    reference: 'FIGURES-2',
    state: 'certified',
    closed: true,
    rows: 3,
  });
  await pool.query(
    `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, epoch, beat, settle_beats, settle_ms, timeout_ms, marked_at, ended_at)
     SELECT $1, n, 'test', 'E-test', 'not_filed', 'e', 1, 1, 1, 1, now() - n * interval '1 s', now() FROM generate_series(1, 11) n`,
    [filingId],
  );
  await pool.query(
    `UPDATE filing_rows SET state = 'certified', ebrc_number = chr(65 + position), certified_by = 'record',
        settled_at = now() - position * interval '32 days' WHERE filing_id = $1`,
    [filingId],
  );
  await pool.query(
    `INSERT INTO certificates (mode, iec, exporter_id, ebrc_number, pdf_document, archived_at, pdf_problem, detail, asked_at)
     SELECT 'test', 'IEC0000001', 'E-test', n, CASE WHEN n <> 'C' THEN n || '.pdf' END, CASE WHEN n <> 'C' THEN now() END, CASE WHEN n = 'B' THEN 'damaged' END, '{}', now()
       FROM unnest(ARRAY['A', 'B', 'C']) n`,
  );
  await pool.query(
    `INSERT INTO findings (mode, key, kind, first_seen_at, last_seen_at, acknowledged_at)
     SELECT 'test', k, 'pdf_missing', now() - interval '2 hours', now(), CASE WHEN k = 'seen' THEN now() END
       FROM unnest(ARRAY['seen', 'open']) k`,
  );
  await pool.query("INSERT INTO budget_classes (key_hash, rate_class) VALUES ('k', 'pdf')");
  await pool.query(
    `INSERT INTO budget_slots (ticket, key_hash, rate_class, owner, free_at)
     SELECT gen_random_uuid(), 'k', 'pdf', gen_random_uuid(), now() + n * interval '1 minute' FROM generate_series(0, 2) n`,
  );
  const { metrics, of } = remembered();
  await read(metrics);
  expect([0.5, 0.9, 1].map((quantile) => of(`ebrc_acknowledgement_seconds ${quantile}`))).toEqual([6, 10, 11]);
  expect(of('ebrc_certificates')).toBe(3);
  expect([of('ebrc_quota certificates'), of('ebrc_quota_used certificates')]).toEqual([500, 1]);
  expect([of('ebrc_quota exporters'), of('ebrc_quota_used exporters')]).toEqual([10, 1]);
  expect(['stored', 'damaged', 'missing'].map((state) => of(`ebrc_certificate_pdfs ${state}`))).toEqual([1, 1, 1]);
  expect([of('ebrc_findings pdf_missing'), of('ebrc_findings amount_differs')]).toEqual([1, 0]);
  expect(of('ebrc_finding_oldest_seconds pdf_missing')).toBeGreaterThanOrEqual(7_200);
  expect([of('ebrc_budget_slots pdf'), of('ebrc_budget_slots_used pdf')]).toEqual([RATE_LIMITS.pdf, 2]);
  expect(of('ebrc_ledger_up')).toBe(1);
});

it('shows whether the ledger is whole', async () => {
  const { metrics, of } = remembered();
  await read(metrics);
  expect(of('ebrc_ledger_whole')).toBe(1);
  await openFinding(database.pool, { mode: 'test', iec: null, kind: 'ledger_went_back', subject: 'run/1' });
  await read(metrics);
  expect([of('ebrc_ledger_whole'), of('ebrc_findings ledger_went_back')]).toEqual([0, 1]);
});

it('shows nothing of the ledger any more once another worker does', async () => {
  const { metrics, of } = remembered();
  const leading = new AbortController();
  await read(metrics, database.pool, leading);
  expect(of('ebrc_certificates')).toBe(3);
  leading.abort();
  expect([of('ebrc_certificates'), of('ebrc_findings pdf_missing'), of('ebrc_ledger_up')]).toEqual([0, 0, 1]);
});

it('reports that the ledger cannot be read, and fails, so that the job counts as failed', async () => {
  const { metrics, of } = remembered();
  const away = { query: () => Promise.reject(new Error('away')) };
  await expect(read(metrics, away as never)).rejects.toThrow('away');
  expect(of('ebrc_ledger_up')).toBe(0);
  observeJob(metrics, { id: 'figures', ok: false });
  observeJob(metrics, { id: 'figures', ok: true });
  expect([of('ebrc_job_runs figures failed'), of('ebrc_job_runs figures ok')]).toEqual([1, 1]);
});

it('counts calls by operation and kind, and passwords that do not open by a short reason', async () => {
  const { metrics, of, names } = remembered();
  const call = { at: new Date(), exporterId: null, status: 200, errorCode: null, requestId: null, attempt: 1 };
  observeCall(metrics, { ...call, operation: 'pushIrm', kind: null, latencyMs: 1_500 });
  observeCall(metrics, { ...call, operation: 'pushIrm', kind: 'rate_limited', latencyMs: 10 });
  expect([of('ebrc_api_calls pushIrm ok'), of('ebrc_api_calls pushIrm rate_limited')]).toEqual([1, 1]);
  const failing = (code: unknown) =>
    countingVault({ open: () => Promise.reject(Object.assign(new Error(), { code })) } as never, metrics);
  const use = [database.pool, 'ref', {} as never] as const;
  await expect(failing('key_missing').open(...use)).rejects.toThrow();
  await expect(failing('a code with a name in it').open(...use)).rejects.toThrow();
  expect(names().filter((name) => name.startsWith('ebrc_vault'))).toEqual([
    'ebrc_vault_failures key_missing',
    'ebrc_vault_failures other',
  ]);
});

it('serves an IPv6 address in brackets, and nothing where no address is given', () => {
  expect(metricsOptions({ host: '::1', port: 9464 }, 'test')).toMatchObject({
    prometheus: { bindAddress: '[::1]:9464' },
  });
  expect(metricsOptions(undefined, 'test')).toBeUndefined();
});
