import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import pino from 'pino';
import type { FileInput, FilingResult, FilingView } from '../../src/domain/contracts';
import { filingDateInKolkata } from '../../src/domain/dates';
import type { Mapping } from '../../src/domain/mapping';
import { filingWorkflowId } from '../../src/domain/names';
import { readFilingView } from '../../src/ledger/filing-view';
import type { SandboxOptions } from '../../src/sandbox/options';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox';
import type { fileRemittances } from '../../src/workflows/file-remittances';
import { filingQuery } from '../../src/workflows/messages';
import { createTestDatabase, type TestDatabase } from '../support/postgres';
import { eventually } from '../support/processes';
import { timeSkippingEnvironment } from '../support/temporal';
import { startTestWorker, type TestWorker, type TestWorkerOptions } from '../support/worker';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

export type Filing = WorkflowHandle<typeof fileRemittances>;

/** A ready exporter at the sandbox with one IRM of its own: 10,000 USD, all of it available. */
export interface TestExporter {
  exporterId: string;
  username: string;
  irmNumber: string;
  irmDt: string;
}

/** Everything a filing needs: real worker, real sandbox, real ledger, on the skipping clock. */
export interface FilingStage {
  env: TestWorkflowEnvironment;
  sandbox: Sandbox;
  ledger: TestDatabase;
  worker: TestWorker;
  logs: string[];
  exporter(options?: { irmAmount?: number }): Promise<TestExporter>;
  /** A row that maps part of the exporter's IRM to a shipping bill of its own. */
  mapping(exporter: TestExporter, more?: Partial<Mapping>): Mapping;
  file(exporter: TestExporter, rows: Mapping[], more?: Partial<FileInput>): Promise<Filing>;
  /** Waits in real time until the filing is in a state, and answers its progress. */
  until(filing: Filing, state: string | ((progress: FilingResult) => boolean)): Promise<FilingResult>;
  view(filing: Filing | FilingResult): Promise<FilingView>;
  /** The filing's story, kind by kind. */
  story(filingId: string | null): Promise<string[]>;
  pushes(): number;
  close(): Promise<void>;
}

export async function openFilingStage(
  options: { sandbox?: SandboxOptions; worker?: Partial<TestWorkerOptions> } = {},
): Promise<FilingStage> {
  const env = await timeSkippingEnvironment();
  const ledger = await createTestDatabase();
  const sandbox = await createSandbox({ clock: () => env.currentTimeMs(), rateLimits: false, ...options.sandbox });
  const logs: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const worker = await startTestWorker({ env, sandbox, ledger, logger, replayEveryTask: true, ...options.worker });
  let exporters = 0;
  let documents = 1_000_000;

  const stage: FilingStage = {
    env,
    sandbox,
    ledger,
    worker,
    logs,
    async exporter({ irmAmount = 10_000 } = {}) {
      exporters += 1;
      const username = `filer.${exporters}.${randomUUID().slice(0, 8)}`;
      const password = 'Right-Horse-1!';
      const { accounts: world } = await sandbox.state();
      const [pattern] = world;
      const irm = pattern?.irms[0];
      if (!pattern || !irm) throw new Error('the sandbox has no account to copy');
      const irmNumber = `IRM${String(exporters).padStart(6, '0')}`;
      world.push({
        ...pattern,
        username,
        password,
        iec: `IEC${String(exporters).padStart(7, '0')}`,
        activationDelayMs: 0,
        irms: [
          {
            ...irm,
            irmNumber,
            remittanceFCCAmount: irmAmount,
            irmAvailableAmt: irmAmount,
            irmUtilizedAmt: 0,
            remittanceFCC: 'USD',
            purposeOfRemittance: 'P0102',
          },
        ],
        certificates: [],
        logins: 0,
        failedLogins: 0,
        failedLoginsInARow: 0,
      });
      const { api } = worker.deps;
      const customer = await api.createCustomer({
        name: `Filer ${exporters}`,
        email: `${username}@example.test`,
        iec: `IEC${String(exporters).padStart(7, '0')}`,
      });
      await api.checkCredentials(customer.id, { dgftUsername: username, dgftPassword: password });
      return { exporterId: customer.id, username, irmNumber, irmDt: irm.irmIssueDate };
    },
    mapping(exporter, more = {}) {
      documents += 1;
      return {
        serialNo: 1,
        uploadType: 101,
        branchSlNo: 0,
        irmIfscCode: 'HDFC0000060',
        irmAdCode: '0510060',
        irmNumber: exporter.irmNumber,
        irmDt: exporter.irmDt,
        irmFCC: 'USD',
        irmPurposeCode: 'P0102',
        irmRemitAmtFCC: 10_000,
        sbCumInvoiceNumber: String(documents),
        sbCumInvoiceDate: filingDateInKolkata(Date.now()),
        portCode: 'INNSA1',
        billNo: `INV-${documents}`,
        sbCumInvoiceFCC: 'USD',
        sbCumInvoiceValueinFCC: 1_000,
        mappedIRMAmountFCC: 1_000,
        isVostro: 'N',
        isGstAvail: 'N',
        gstinInvoiceNumber: null,
        gstinInvoiceDate: null,
        ...more,
      };
    },
    file(exporter, rows, more = {}) {
      const reference = more.reference ?? `T-${randomUUID().slice(0, 8)}`;
      const items = rows.map((row, index) => ({ ...row, serialNo: index + 1 }));
      const message = {
        recordResCount: items.length,
        uploadType: String(rows[0]?.uploadType ?? 101),
        decalarationFlag: 'Y',
        ebrcBulkGenDtos: items,
      };
      return env.client.workflow.start<typeof fileRemittances>('fileRemittances', {
        taskQueue: worker.taskQueue,
        workflowId: filingWorkflowId('test', reference, more.correction ?? 0),
        args: [{ mode: 'test', exporterId: exporter.exporterId, message, madeBy: 'asha', ...more, reference }],
      });
    },
    async until(filing, wanted) {
      let progress: FilingResult | undefined;
      await eventually(async () => {
        progress = await filing.query(filingQuery);
        return typeof wanted === 'string' ? progress.state === wanted : wanted(progress);
      }).catch((error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(progress)}`);
      });
      return progress as FilingResult;
    },
    async view(filing) {
      const filingId = 'filingId' in filing ? filing.filingId : (await filing.query(filingQuery)).filingId;
      const view = await readFilingView(ledger.pool, filingId ?? '');
      if (!view) throw new Error('the ledger does not hold the filing');
      return view;
    },
    async story(filingId) {
      const { rows } = await ledger.pool.query<{ kind: string }>(
        'SELECT kind FROM filing_events WHERE filing_id = $1 ORDER BY event_id',
        [filingId],
      );
      return rows.map((row) => row.kind);
    },
    pushes: () => sandbox.calls({ operation: 'push-irm' }).length,
    async close() {
      await worker.close();
      await sandbox.close();
      await ledger.drop();
      await env.teardown();
    },
  };
  return stage;
}
