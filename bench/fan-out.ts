/**
 * The scheduled runs over 1,000 exporters: `reconcile` and `refreshIrms` of everybody, with the whole worker, a real
 * ledger and the sandbox without its limits (they make a run longer, not its histories). Every exporter has a
 * certificate that no row claims and two PDFs that are gone; one exporter misses 100 of them, which is all that a run
 * repairs at once.
 *
 * Targets: no history of any run has 2,000 events; everybody is compared, refreshed and repaired.
 */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { RefreshIrmsResult } from '../src/domain/contracts';
import type { ReconcileResult } from '../src/domain/report-contracts';
import { saveExporter } from '../src/ledger/exporters/exporters';
import { accountSchema } from '../sandbox/authority/seed';
import { portalAccount } from '../sandbox/authority/world';
import { createSandbox, type Sandbox } from '../sandbox/sandbox';
import globalSetup from '../test/support/jest/global-setup';
import globalTeardown from '../test/support/jest/global-teardown';
import { createTestDatabase } from '../test/support/postgres';
import { devServer } from '../test/support/temporal';
import { startTestWorker } from '../test/support/worker';
import { runBench } from './support/run-bench';

const EXPORTERS = Number(process.env['BENCH_EXPORTERS'] ?? 1_000);
const GONE = 2;
const GONE_OF_THE_FIRST = 100;
const LIMIT = 2_000;
/** Written behind the service's back: what the ledger should not know. */
const FOREIGN = 'X';
const TODAY = new Date();
const DDMMYYYY = TODAY.toISOString().slice(0, 10).split('-').reverse().join('');

const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const iecOf = (n: number): string => `FAN${String(n).padStart(7, '0')}`;
const goneOf = (n: number): number => (n === 1 ? GONE_OF_THE_FIRST : GONE);

/** The authority's side, and the service's: a client, its IRM and its certificates. */
async function seedSandbox(sandbox: Sandbox): Promise<void> {
  const { accounts, customers } = await sandbox.state();
  for (let n = 1; n <= EXPORTERS; n += 1) {
    const [iec, username] = [iecOf(n), `fan-${n}`];
    const bank = { ifscCode: 'HDFC0000001', remittanceAdCode: '0510001', remittanceFCC: 'USD' };
    const irm = { ...bank, irmNumber: `IRM${n}`, irmIssueDate: '01012026', remittanceFCCAmount: 10_000 };
    const certificate = (name: string, realisedValueFCC: number) => ({
      ...{ eBRCNumber: `EB${n}${name}`, eBRCDate: DDMMYYYY, irmNumber: irm.irmNumber, billNo: 'B1' },
      ...{ sbCumInvoiceNumber: '1234567', sbCumInvoiceDate: '03012026', realizationDt: '01012026' },
      ...{ realisedValueFCC, currencyCode: 'USD' },
    });
    const gone = Array.from({ length: goneOf(n) }, (_, at) => certificate(`R${at}`, 10));
    const account = {
      username,
      password: 'Right-1!',
      iec,
      irms: [irm],
      certificates: [certificate(FOREIGN, 5), ...gone],
    };
    accounts.push(portalAccount(accountSchema.parse(account)));
    customers.set(idOf(n), {
      id: idOf(n),
      name: username,
      email: `${username}@example.test`,
      companyName: null,
      iec,
      address: null,
      platformId: 'platform-sandbox',
      mode: 'test',
      isActive: true,
      dgftUsername: username,
      dgftPassword: 'Right-1!',
      connection: { activatesAt: 0, sharedCredentialsLikely: false },
      failedChecks: [],
      checksRefusedUntil: 0,
      irms: [],
      cachedPdfs: new Set(),
      createdAt: 0,
      updatedAt: 0,
    });
  }
}

/** Our side: each exporter with one filing, certified, whose PDFs the store does not have. */
async function seedLedger(pool: pg.Pool): Promise<void> {
  for (let n = 1; n <= EXPORTERS; n += 1) {
    const record = {
      id: idOf(n),
      name: `fan-${n}`,
      email: `fan-${n}@example.test`,
      companyName: null,
      iec: iecOf(n),
      address: null,
      isActive: true,
      hasDgftCredentials: true,
      dgftApiStatus: { state: 'ready', activatesAt: null, sharedCredentialsLikely: false },
    };
    await saveExporter(pool, record, 'test', TODAY);
  }
  await pool.query(
    `INSERT INTO filing_inputs (input_ref, rows, row_count, source_kind) VALUES ('fan', '[]', 0, 'json')`,
  );
  await pool.query(
    `INSERT INTO filings (filing_id, mode, exporter_id, iec, reference, n, workflow_id, content_hash, input_ref, upload_type, declaration,
        channel, state, made_by, made_at, declared_by, closed_at)
     SELECT exporter_id, 'test', exporter_id, iec, exporter_id, 1, exporter_id, 'h', 'fan', 101, 'Y', 'push', 'certified', 'bench', $1, 'bench', $1
       FROM exporters`,
    [TODAY],
  );
  await pool.query(
    `WITH own AS (SELECT exporter_id, iec, substr(iec, 4)::int AS n FROM exporters),
          gone AS (SELECT own.*, r, 'EB' || n || 'R' || r AS number
                     FROM own, generate_series(0, CASE WHEN n = 1 THEN $1::int ELSE $2::int END - 1) r),
          filed AS (
            INSERT INTO filing_rows (filing_id, position, source_row, mode, iec, irm_key, mapping, document_key, amount, currency, fingerprint,
                state, certified_by, ebrc_number, settled_at)
            SELECT exporter_id, r, r + 1, 'test', iec, 'IRM' || n,
                   jsonb_build_object('irmNumber', 'IRM' || n, 'sbCumInvoiceNumber', '1234567', 'sbCumInvoiceDate', '03012026'),
                   '1234567', 10, 'USD', n || ':' || r, 'certified', 'record', number, $3
              FROM gone)
     INSERT INTO certificates (mode, iec, exporter_id, ebrc_number, status, first_status, document_no, document_date, document_key, amount,
        currency, detail, seen_at, asked_at, issued_on, archived_at, pdf_document, pdf_sha256)
     SELECT 'test', iec, exporter_id, number, 'Issued', 'Issued', '1234567', '03012026', '1234567', 10, 'USD', '{}'::jsonb, $3, $3, $3::date, $3,
            'test.' || number || '.pdf', 'gone' FROM gone`,
    [GONE_OF_THE_FIRST, GONE, TODAY],
  );
}

async function main(): Promise<void> {
  await globalSetup();
  const [server, ledger, sandbox] = await Promise.all([
    devServer(),
    createTestDatabase(),
    createSandbox({ rateLimits: false }),
  ]);
  const client = await server.client();
  const worker = await startTestWorker({
    env: { client, nativeConnection: await server.connectNative(), currentTimeMs: () => Promise.resolve(Date.now()) },
    sandbox,
    ledger,
    settings: { httpTimeoutMs: 60_000 },
  });
  try {
    await seedSandbox(sandbox);
    await seedLedger(ledger.pool);

    /** Runs a workflow to its end, and counts the events of every run of it. */
    const run = async <R>(type: string): Promise<{ result: R; events: number[]; ms: number }> => {
      const workflowId = `${type}-${randomUUID()}`;
      const from = performance.now();
      const started = await client.workflow.start(type, {
        taskQueue: worker.taskQueue,
        workflowId,
        args: [{ mode: 'test' }],
      });
      const result = (await started.result()) as R;
      const ms = performance.now() - from;
      const events: number[] = [];
      let runId: string | null | undefined = started.firstExecutionRunId;
      while (runId) {
        const { events: history } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
        events.push(history?.length ?? 0);
        runId = history?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
      }
      const most = Math.max(...events);
      console.log(
        `${type.padEnd(12)} ${EXPORTERS} exporters in ${(ms / 1_000).toFixed(0)} s, ${events.length} runs, at most ${most} events (fewer than ${LIMIT})`,
      );
      if (!(most < LIMIT)) process.exitCode = 1;
      return { result, events, ms };
    };
    const expected = (what: string, value: unknown, wanted: unknown) => {
      if (value === wanted) return;
      console.log(`${what}: ${String(value)} instead of ${String(wanted)}`);
      process.exitCode = 1;
    };

    const { result: refreshed } = await run<RefreshIrmsResult>('refreshIrms');
    expected('refreshed', refreshed.refreshed, EXPORTERS);
    const { result: first } = await run<ReconcileResult>('reconcile');
    expected('skipped', JSON.stringify(first.skipped.slice(0, 3)), '[]');
    expected('companies', first.companies, EXPORTERS);
    const pdfs = GONE_OF_THE_FIRST + (EXPORTERS - 1) * GONE;
    expected('healed', first.healed, pdfs);
    expected('open', first.counts.pdf_missing, 0);
    expected('foreign certificates', first.counts.theirs_not_ours, EXPORTERS);
    const { result: again } = await run<ReconcileResult>('reconcile');
    expected('opened by a second run', again.opened + again.closed + again.healed, 0);
  } finally {
    await worker.close();
    await server.stop();
    await sandbox.close();
    await ledger.drop();
    await globalTeardown();
  }
}

runBench(main);
