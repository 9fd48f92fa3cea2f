import { TEST_CADENCE } from '../../support/settings';
import { randomUUID } from 'node:crypto';
import type { WorkflowHandle, WorkflowStartOptions } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import pino from 'pino';
import type { FilingApi } from '../../../src/api/client';
import type { SubmitContext } from '../../../src/api/http/call';
import type { FileInput, FilingResult } from '../../../src/domain/contracts';
import type { ResolveArgs } from '../../../src/domain/update-contracts';
import type { FilingView } from '../../../src/domain/filing/view';
import { filingDateInKolkata } from '../../../src/domain/dates';
import type { Mapping } from '../../../src/domain/filing/mapping';
import { credentialsWorkflowId, filingWorkflowId } from '../../../src/domain/names';
import { inQuestion, readFilingView } from '../../../src/ledger/filings/filing-view';
import type { FaultInput } from '../../../src/sandbox/faults/fault-schema';
import type { SandboxOptions } from '../../../src/sandbox/options';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox';
import type { updateCredentials } from '../../../src/workflows/update-credentials';
import type { fileRemittances } from '../../../src/workflows/file-remittances';
import { abandonUpdate, approveUpdate, filingQuery, resolveUpdate } from '../../../src/workflows/messages';
import { approvalBy } from '../../support/principals';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { eventually } from '../../support/processes';
import { timeSkippingEnvironment } from '../../support/temporal';
import { startTestWorker, type TestWorker, type TestWorkerOptions } from '../../support/worker';
import { gatedPool, type Gate } from './gated-pool';
import { mapping } from '../../../dev/sample-mapping';
import { handIn } from '../../../src/ledger/vault/vault';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

type Account = Awaited<ReturnType<Sandbox['state']>>['accounts'][number];
export type Filing = WorkflowHandle<typeof fileRemittances>;

/** A ready exporter at the sandbox with one IRM of its own: 10,000 USD, all of it available. */
export interface TestExporter {
  exporterId: string;
  username: string;
  irmNumber: string;
  irmDt: string;
}

type Push = ReturnType<FilingApi['pushIrm']>;
/** Stands around one push of an exporter, where a worker may freeze or die. */
export type AroundPush = (send: (context: SubmitContext) => Push, context: SubmitContext) => Push;

export interface Started {
  exporter: TestExporter;
  filing: Filing;
}

/** The push message of rows, as callers give it. */
export const pushMessage = (rows: Mapping[]) => ({
  recordResCount: rows.length,
  uploadType: String(rows[0]?.uploadType ?? 101),
  decalarationFlag: 'Y' as const,
  ebrcBulkGenDtos: rows,
});

/** Everything a filing needs: real worker, real sandbox, real ledger, on the skipping clock. */
export interface FilingStage {
  env: TestWorkflowEnvironment;
  sandbox: Sandbox;
  ledger: TestDatabase;
  worker: TestWorker;
  logs: string[];
  exporter(options?: { irmAmount?: number; iec?: string }): Promise<TestExporter>;
  /** A row that maps part of the exporter's IRM to a shipping bill of its own. */
  mapping(exporter: TestExporter, more?: Partial<Mapping>): Mapping;
  file(
    exporter: TestExporter,
    rows: Mapping[],
    more?: Partial<FileInput>,
    options?: Partial<Pick<WorkflowStartOptions, 'workflowId' | 'workflowTaskTimeout' | 'workflowRunTimeout'>>,
  ): Promise<Filing>;
  /**
   * Waits in real time until the filing is in a state, and answers its progress. In `outcome_unknown` it waits until
   * the round of evidence is over too (see `untilAsleep`).
   */
  until(filing: Filing, state: string | ((progress: FilingResult) => boolean)): Promise<FilingResult>;
  /** Files one row of an exporter of its own, and waits until the filing is in a state. */
  filed(state: string, more?: Partial<FileInput>): Promise<FilingResult & Started>;
  /** The same of a filing whose push is never answered: its outcome is unknown. */
  lost(kind: 'drop-before-accept' | 'accept-then-drop', more?: Partial<FaultInput>): Promise<FilingResult & Started>;
  /**
   * Waits in real time until no activity and no workflow task is under way. A workflow that is terminated, or cancels
   * its calls, while an activity of its runs would stop the time-skipping server's clock for good.
   */
  untilAsleep(filing: Filing): Promise<void>;
  /**
   * The results of filings that run at once. They are awaited one after the other: the server lets its clock skip for
   * one waiting caller at a time, and fails the second.
   */
  results(filings: Filing[]): Promise<FilingResult[]>;
  view(filing: Filing | FilingResult): Promise<FilingView>;
  /** The filing's story, kind by kind. */
  story(filingId: string | null): Promise<string[]>;
  /** Pushes that the sandbox saw; of one exporter, where one is given. */
  pushes(exporter?: TestExporter): number;
  /** Arms a fault that strikes this exporter alone. */
  fault(
    exporter: TestExporter,
    operation: FaultInput['operation'],
    kind: FaultInput['kind'],
    more?: Partial<FaultInput>,
  ): void;
  /** The authority decides a row of this document as Errored, as often as is said. */
  reject(document: string | undefined, times?: number, errorDetails?: string[]): Promise<void>;
  /** A command of the sandbox. */
  control(method: 'POST' | 'PATCH', path: string, body: object): Promise<void>;
  /** The exporter's account at the authority. */
  account(exporter: TestExporter): Promise<Account>;
  /** What became of the filing's attempts, in order. */
  verdicts(filingId: string | null): Promise<string[]>;
  /** The exporter's next push goes through `around`. */
  aroundPush(exporter: TestExporter, around: AroundPush): void;
  /** Closes and opens the way of all activities to PostgreSQL. */
  database: Gate;
  approve(filing: Filing, by: string): Promise<FilingResult>;
  /** What a person says of the attempt in question. */
  resolve(
    filing: Filing,
    as: 'filed' | 'not-filed',
    requestId?: string,
    more?: Partial<ResolveArgs>,
  ): Promise<FilingResult>;
  /** Makes the filing's marks a day older: its settle window is over, without the many looks that would fill it. */
  settleWindowOver(filing: Filing): Promise<void>;
  abandon(filing: Filing): Promise<FilingResult>;
  /** New portal credentials, as `ebrc credentials` submits them. */
  renewCredentials(exporter: TestExporter, password: string): Promise<void>;
  /** Lets hours pass on the server's clock, with everything that comes due in them. */
  pass(hours: number): Promise<void>;
  /**
   * Temporal gives the worker of an activity up, as after a lost heartbeat; the activity itself knows nothing of it.
   */
  giveUpOn(filing: Filing, activity: string, error?: Error): Promise<void>;
  /** Request ids under which the sandbox took the exporter's submissions in. */
  requestsOf(exporter: TestExporter): Promise<string[]>;
  close(): Promise<void>;
}

export interface FilingStageOptions {
  /** Default: a time-skipping server of its own. */
  env?: TestWorkflowEnvironment;
  sandbox?: SandboxOptions;
  worker?: Partial<TestWorkerOptions>;
}

export async function openFilingStage(options: FilingStageOptions = {}): Promise<FilingStage> {
  const env = options.env ?? (await timeSkippingEnvironment());
  const ledger = await createTestDatabase();
  const sandbox = await createSandbox({ clock: () => env.currentTimeMs(), rateLimits: false, ...options.sandbox });
  const logs: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const database: Gate = { down: false };
  const around = new Map<string, AroundPush>();
  const worker = await startTestWorker({
    env,
    sandbox,
    ledger,
    logger,
    adjust: (deps) => ({
      ...deps,
      pool: gatedPool(deps.pool, database),
      api: {
        ...deps.api,
        pushIrm: (message, context) => {
          const send = (changed: SubmitContext) => deps.api.pushIrm(message, changed);
          const wrapper = around.get(message.platformCustomerId);
          around.delete(message.platformCustomerId);
          return wrapper ? wrapper(send, context) : send(context);
        },
      },
    }),
    ...options.worker,
  });
  let exporters = 0;
  let documents = 1_000_000;

  const stage: FilingStage = {
    env,
    sandbox,
    ledger,
    worker,
    logs,
    async exporter({ irmAmount = 10_000, iec } = {}) {
      const number = (exporters += 1);
      const username = `filer.${number}.${randomUUID().slice(0, 8)}`;
      const password = 'Right-Horse-1!';
      const { accounts: world } = await sandbox.state();
      const [pattern] = world;
      const irm = pattern?.irms[0];
      if (!pattern || !irm) throw new Error('the sandbox has no account to copy');
      const irmNumber = `IRM${String(number).padStart(6, '0')}`;
      world.push({
        ...pattern,
        username,
        password,
        iec: iec ?? `IEC${String(number).padStart(7, '0')}`,
        activationDelayMs: 0,
        irms: [
          {
            ...irm,
            irmNumber,
            remittanceFCCAmount: irmAmount,
            available: String(irmAmount),
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
        name: `Filer ${number}`,
        email: `${username}@example.test`,
        iec: iec ?? `IEC${String(number).padStart(7, '0')}`,
      });
      await api.checkCredentials(customer.id, { dgftUsername: username, dgftPassword: password });
      return { exporterId: customer.id, username, irmNumber, irmDt: irm.irmIssueDate };
    },
    mapping(exporter, more = {}) {
      documents += 1;
      return mapping({
        irmIfscCode: 'HDFC0000060',
        irmAdCode: '0510060',
        irmNumber: exporter.irmNumber,
        irmDt: exporter.irmDt,
        irmRemitAmtFCC: 10_000,
        sbCumInvoiceNumber: String(documents),
        sbCumInvoiceDate: filingDateInKolkata(Date.now()),
        billNo: `INV-${documents}`,
        sbCumInvoiceValueinFCC: 1_000,
        mappedIRMAmountFCC: 1_000,
        ...more,
      });
    },
    file(exporter, rows, more = {}, options = {}) {
      const reference = more.reference ?? `T-${randomUUID().slice(0, 8)}`;
      const message = pushMessage(rows.map((row, index) => ({ ...row, serialNo: index + 1 })));
      return env.client.workflow.start<typeof fileRemittances>('fileRemittances', {
        taskQueue: worker.taskQueue,
        workflowId: filingWorkflowId('test', reference, more.n ?? 1),
        ...options,
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
      if (wanted === 'outcome_unknown') await stage.untilAsleep(filing);
      return progress as FilingResult;
    },
    async filed(state, more) {
      const exporter = await stage.exporter();
      const filing = await stage.file(exporter, [stage.mapping(exporter)], more);
      return { ...(await stage.until(filing, state)), exporter, filing };
    },
    async lost(kind, more) {
      const exporter = await stage.exporter();
      stage.fault(exporter, 'push-irm', kind, more);
      const filing = await stage.file(exporter, [stage.mapping(exporter)]);
      return { ...(await stage.until(filing, 'outcome_unknown')), exporter, filing };
    },
    untilAsleep: (filing) => eventually(async () => isAsleep((await filing.fetchHistory()).events ?? [])),
    async results(filings) {
      const results: FilingResult[] = [];
      for (const filing of filings) results.push(await filing.result());
      return results;
    },
    async view(filing) {
      const filingId = 'filingId' in filing ? filing.filingId : (await filing.query(filingQuery)).filingId;
      const view = await readFilingView(ledger.pool, filingId ?? '', TEST_CADENCE);
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
    pushes: (exporter) =>
      sandbox
        .calls({ operation: 'push-irm' })
        .filter((call) => !exporter || call.platformCustomerId === exporter.exporterId).length,
    fault({ exporterId }, operation, kind, more = {}) {
      sandbox.addFault({ operation, kind, match: { platformCustomerId: exporterId }, ...more });
    },
    reject: (document, times = 1, errorDetails = ['ERR28: date']) =>
      stage.control('POST', '/outcomes', { match: { document }, processingStatus: 'Errored', errorDetails, times }),
    async control(method, path, body) {
      const answer = await fetch(`${sandbox.controlUrl}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    },
    async account({ username }) {
      const account = (await sandbox.state()).accounts.find((each) => each.username === username);
      if (!account) throw new Error('the sandbox has no such account');
      return account;
    },
    async verdicts(filingId) {
      const { rows } = await ledger.pool.query<{ verdict: string }>(
        'SELECT verdict FROM attempts WHERE filing_id = $1 ORDER BY number',
        [filingId],
      );
      return rows.map(({ verdict }) => verdict);
    },
    aroundPush: ({ exporterId }, wrapper) => void around.set(exporterId, wrapper),
    database,
    async approve(filing, by) {
      const { filingId } = await filing.query(filingQuery);
      const approval = await approvalBy(ledger.pool, by, filingId ?? '');
      return updated(() => filing.executeUpdate(approveUpdate, { args: [approval] }));
    },
    async resolve(filing, as, requestId, more) {
      const { filingId } = await filing.query(filingQuery);
      const asked = await inQuestion(ledger.pool, filingId ?? '');
      const about = as === 'not-filed' ? (asked.request ?? undefined) : requestId;
      const attemptId = asked.attempt ?? undefined;
      const args = { as, requestId: about, attemptId, by: 'ravi', note: 'looked at the portal', ...more };
      return updated(() => filing.executeUpdate(resolveUpdate, { args: [args] }));
    },
    async settleWindowOver(filing) {
      const { filingId } = await filing.query(filingQuery);
      await ledger.pool.query(
        `UPDATE attempts SET marked_at = marked_at - interval '1 day' WHERE filing_id = $1 AND verdict = 'marked'`,
        [filingId],
      );
    },
    abandon: (filing) =>
      updated(() => filing.executeUpdate(abandonUpdate, { args: [{ by: 'ravi', note: 'not wanted any more' }] })),
    async renewCredentials({ exporterId, username }, password) {
      const workflowId = credentialsWorkflowId('test', exporterId);
      const secret = { mode: 'test' as const, workflowId, username, password };
      const credentialsRef = await handIn(ledger.pool, secret);
      await env.client.workflow.start<typeof updateCredentials>('updateCredentials', {
        taskQueue: worker.taskQueue,
        workflowId,
        args: [{ mode: 'test', exporterId, credentialsRef, startedBy: 'ravi' }],
      });
    },
    pass: (hours) => env.sleep(hours * HOUR_MS),
    async giveUpOn(filing, activity, error = new Error('heartbeat timeout')) {
      const { events } = await filing.fetchHistory();
      const scheduled = events?.flatMap((event) => event.activityTaskScheduledEventAttributes ?? []) ?? [];
      const activityId = scheduled.filter((each) => each.activityType?.name === activity).at(-1)?.activityId;
      if (!activityId) throw new Error(`no ${activity} is under way`);
      await env.client.activity.fail({ workflowId: filing.workflowId, activityId }, error);
    },
    async requestsOf({ exporterId }) {
      const { filings } = await sandbox.state();
      return [...filings.values()].filter((each) => each.customerId === exporterId).map((each) => each.requestId);
    },
    async close() {
      await worker.close();
      await sandbox.close();
      await ledger.drop();
      await env.teardown();
    },
  };
  return stage;
}

type History = NonNullable<Awaited<ReturnType<Filing['fetchHistory']>>['events']>;

/** Whether a history ends with neither a workflow task nor an activity under way. */
function isAsleep(events: History): boolean {
  const { workflowTaskScheduledEventAttributes, workflowTaskStartedEventAttributes } = events.at(-1) ?? {};
  if (workflowTaskScheduledEventAttributes || workflowTaskStartedEventAttributes) return false;
  const scheduled = events.filter((event) => event.activityTaskScheduledEventAttributes).length;
  const closed = events.filter(
    (event) =>
      event.activityTaskCompletedEventAttributes ??
      event.activityTaskFailedEventAttributes ??
      event.activityTaskTimedOutEventAttributes ??
      event.activityTaskCanceledEventAttributes,
  ).length;
  return scheduled === closed;
}

/** The time-skipping server fails an update whose workflow task took too long on a busy machine: it is sent again. */
async function updated<T>(send: () => Promise<T>): Promise<T> {
  for (let left = 3; ; left -= 1) {
    try {
      return await send();
    } catch (error) {
      const { cause } = error as { cause?: { details?: string } };
      if (left === 0 || !cause?.details?.includes('unexpected workflow task failure')) throw error;
    }
  }
}
