import { randomUUID } from 'node:crypto';
import type { WorkflowStartOptions } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { FilingApi } from '../../src/api/client';
import type { SubmitContext } from '../../src/api/http/call';
import type { FileInput, FilingResult } from '../../src/domain/contracts';
import type { FilingView } from '../../src/domain/filing/view';
import { filingDateInKolkata } from '../../src/domain/dates';
import type { Mapping } from '../../src/domain/filing/mapping';
import { credentialsWorkflowId, filingWorkflowId } from '../../src/domain/names';
import { readFilingView } from '../../src/ledger/views/views';
import type { FaultInput } from '../../sandbox/faults/fault-schema';
import type { SandboxOptions } from '../../sandbox/options';
import { createSandbox } from '../../sandbox/sandbox';
import type { updateCredentials } from '../../src/workflows/update-credentials';
import type { fileRemittances } from '../../src/workflows/file-remittances';
import { filingQuery } from '../../src/workflows/messages';
import { createTestDatabase, type TestDatabase } from '../support/postgres';
import { poke } from '../../src/temporal/runs';
import { principalOf } from '../support/principals';
import { eventually } from '../support/processes';
import { TEST_SETTINGS } from '../support/settings';
import { decide, type Decided } from '../../src/ledger/decisions/decide';
import type { Decision } from '../../src/ledger/decisions/asked';
import { addAccount, type PortalAccount } from '../support/sandbox';
import { timeSkippingEnvironment } from '../support/temporal';
import { startTestWorker, wakeQuietly, type TestWorkerOptions } from '../support/worker';
import { isAsleep, telling, type Filing } from './history';

export type { Filing };
import { startServiceProxy } from './service-proxy';
import { mapping, messageOf } from '../../dev/sample-mapping';
import { handIn } from '../../src/ledger/vault/vault';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
/** How long a filing may take to come to where a scene waits for it, in real time. */
const WITHIN_MS = 30_000;

/** A ready exporter at the sandbox with one IRM of its own: 10,000 USD, all of it available. */
export interface TestExporter {
  exporterId: string;
  username: string;
  irmNumber: string;
  irmDt: string;
}

type Push = ReturnType<FilingApi['pushIrm']>;
/** A fault: the operation that it strikes, its kind, and when. */
type Strike = [FaultInput['operation'], FaultInput['kind'], Partial<FaultInput>?];
/** Stands around one push of an exporter, where a worker may freeze or die. */
export type AroundPush = (send: (context: SubmitContext) => Push, context: SubmitContext) => Push;

export interface Started {
  exporter: TestExporter;
  filing: Filing;
}

/** Everything a filing needs: real worker, real sandbox, real ledger, on the skipping clock. */
export type FilingStage = Awaited<ReturnType<typeof openFilingStage>>;

type Wanted = string | ((progress: FilingResult) => boolean);

type StartOptions = Partial<Pick<WorkflowStartOptions, 'workflowId' | 'workflowTaskTimeout' | 'workflowRunTimeout'>>;

export interface FilingStageOptions {
  /** Default: a time-skipping server of its own. */
  env?: () => Promise<TestWorkflowEnvironment>;
  /** Default: a database of its own. */
  ledger?: TestDatabase;
  sandbox?: SandboxOptions;
  worker?: Partial<TestWorkerOptions>;
}

export async function openFilingStage(options: FilingStageOptions = {}) {
  const env = await (options.env ?? timeSkippingEnvironment)();
  const ledger = options.ledger ?? (await createTestDatabase());
  const sandbox = await createSandbox({ clock: () => env.currentTimeMs(), rateLimits: false, ...options.sandbox });
  const around = new Map<string, AroundPush>();
  const service = await startServiceProxy(sandbox.url);
  const worker = await startTestWorker({
    env,
    sandbox: service,
    ledger,
    ...options.worker,
    adjust: (made) => {
      const deps = options.worker?.adjust?.(made) ?? made;
      const pushIrm: FilingApi['pushIrm'] = (message, context) => {
        const send = (changed: SubmitContext) => deps.api.pushIrm(message, changed);
        const wrapper = around.get(message.platformCustomerId);
        around.delete(message.platformCustomerId);
        return wrapper ? wrapper(send, context) : send(context);
      };
      return { ...deps, api: { ...deps.api, pushIrm } };
    },
  });
  let exporters = 0;
  let documents = 1_000_000;
  const callsOf = (operation: 'push-irm' | 'status', exporter?: TestExporter): number =>
    sandbox.calls({ operation }).filter((call) => !exporter || call.platformCustomerId === exporter.exporterId).length;

  const stage = {
    env,
    sandbox,
    /** Answers in words of its own, where the sandbox has no fault for it. */
    service,
    ledger,
    worker,
    async exporter({ irmAmount = 10_000, iec }: { irmAmount?: number; iec?: string } = {}): Promise<TestExporter> {
      const number = (exporters += 1);
      const id = { username: `filer.${number}.${randomUUID().slice(0, 8)}`, password: 'Right-Horse-1!' };
      const own = iec ?? `IEC${String(number).padStart(7, '0')}`;
      const irmNumber = `IRM${String(number).padStart(6, '0')}`;
      const { irms } = await addAccount(sandbox, ({ irms: [irm] }) => {
        if (!irm) throw new Error('the sandbox has no IRM to copy');
        const amount = { remittanceFCCAmount: irmAmount, available: String(irmAmount), remittanceFCC: 'USD' };
        const only = { ...irm, ...amount, irmNumber, purposeOfRemittance: 'P0102' };
        return { ...id, iec: own, activationDelayMs: 0, irms: [only] };
      });
      const { api } = worker.deps;
      const email = `${id.username}@example.test`;
      const customer = await api.createCustomer({ name: `Filer ${number}`, email, iec: own });
      await api.checkCredentials(customer.id, { dgftUsername: id.username, dgftPassword: id.password });
      return { exporterId: customer.id, username: id.username, irmNumber, irmDt: irms[0]?.irmIssueDate ?? '' };
    },
    /** A row that maps part of the exporter's IRM to a shipping bill of its own. */
    mapping(exporter: TestExporter, more: Partial<Mapping> = {}): Mapping {
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
    async file(
      exporter: TestExporter,
      rows: Mapping[],
      more: Partial<FileInput> = {},
      options: StartOptions = {},
    ): Promise<Filing> {
      const reference = more.reference ?? `T-${randomUUID().slice(0, 8)}`;
      const message = messageOf(rows.map((row, index) => ({ ...row, serialNo: index + 1 })));
      const filing = await env.client.workflow.start<typeof fileRemittances>('fileRemittances', {
        taskQueue: worker.taskQueue,
        workflowId: filingWorkflowId('test', reference, more.n ?? 1),
        ...options,
        args: [{ mode: 'test', exporterId: exporter.exporterId, message, madeBy: 'asha', ...more, reference }],
      });
      return telling(filing, env);
    },
    /**
     * Waits in real time, or while minutes pass on the server's clock, until the filing is in a state, and answers its
     * progress. In `outcome_unknown` it waits until the round of evidence is over too (see `untilAsleep`).
     */
    async until(filing: Filing, wanted: Wanted, time: 'real' | 'passing' = 'real'): Promise<FilingResult> {
      let progress: FilingResult | undefined;
      const holds = async () => {
        progress = await filing.query(filingQuery);
        return typeof wanted === 'string' ? progress.state === wanted : wanted(progress);
      };
      await (time === 'passing' ? stage.passUntil(holds) : eventually(holds, WITHIN_MS)).catch((error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(progress)}`);
      });
      if (wanted === 'outcome_unknown') await stage.untilAsleep(filing);
      return progress as FilingResult;
    },
    /** Files one row of an exporter of its own, whom these faults strike. */
    async start(faults: Strike[] = [], more?: Partial<FileInput>): Promise<Started> {
      const exporter = await stage.exporter();
      for (const [operation, kind, how] of faults) stage.fault(exporter, operation, kind, how);
      return { exporter, filing: await stage.file(exporter, [stage.mapping(exporter)], more) };
    },
    /** The same, once the filing is in a state. */
    async filed(state: string, more?: Partial<FileInput>): Promise<FilingResult & Started> {
      const started = await stage.start([], more);
      return { ...(await stage.until(started.filing, state)), ...started };
    },
    /** The same of a filing whose push is never answered: its outcome is unknown. */
    async lost(
      kind: 'drop-before-accept' | 'accept-then-drop',
      more?: Partial<FaultInput>,
    ): Promise<FilingResult & Started> {
      const started = await stage.start([['push-irm', kind, more]]);
      return { ...(await stage.until(started.filing, 'outcome_unknown')), ...started };
    },
    /**
     * Waits in real time until no activity and no workflow task is under way. A workflow that is terminated, or cancels
     * its calls, while an activity of its runs would stop the time-skipping server's clock for good.
     */
    untilAsleep: (filing: Filing): Promise<void> =>
      eventually(async () => isAsleep((await filing.fetchHistory()).events ?? []), WITHIN_MS),
    /**
     * The results of filings that run at once. They are awaited one after the other: the server lets its clock skip for
     * one waiting caller at a time, and fails the second.
     */
    async results(filings: Filing[]): Promise<FilingResult[]> {
      const results: FilingResult[] = [];
      for (const filing of filings) results.push(await filing.result());
      return results;
    },
    async view(filing: Filing | FilingResult): Promise<FilingView> {
      const filingId = 'filingId' in filing ? filing.filingId : (await filing.query(filingQuery)).filingId;
      const view = await readFilingView(ledger.pool, filingId ?? '');
      if (!view) throw new Error('the ledger does not hold the filing');
      return view;
    },
    /** The filing's story, kind by kind. */
    async story(filingId: string | null): Promise<string[]> {
      const { rows } = await ledger.pool.query<{ kind: string }>(
        'SELECT kind FROM events WHERE filing_id = $1 ORDER BY ordinal',
        [filingId],
      );
      return rows.map((row) => row.kind);
    },
    /** Pushes that the sandbox saw; of one exporter, where one is given. */
    pushes: (exporter?: TestExporter): number => callsOf('push-irm', exporter),
    polls: (exporter: TestExporter): number => callsOf('status', exporter),
    /** Arms a fault that strikes this exporter alone. */
    fault(
      { exporterId }: TestExporter,
      operation: FaultInput['operation'],
      kind: FaultInput['kind'],
      more: Partial<FaultInput> = {},
    ): void {
      sandbox.addFault({ operation, kind, match: { platformCustomerId: exporterId }, ...more });
    },
    /** The authority decides a row of this document as Errored, as often as is said. */
    reject: (document: string | undefined, times = 1, errorDetails = ['ERR28: date']): Promise<void> =>
      stage.control('POST', '/outcomes', { match: { document }, processingStatus: 'Errored', errorDetails, times }),
    /** A command of the sandbox. */
    async control(method: 'POST' | 'PATCH', path: string, body: object): Promise<void> {
      const answer = await fetch(`${sandbox.controlUrl}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    },
    /** The exporter's account at the authority. */
    async account({ username }: TestExporter): Promise<PortalAccount> {
      const account = (await sandbox.state()).accounts.find((each) => each.username === username);
      if (!account) throw new Error('the sandbox has no such account');
      return account;
    },
    /** What became of the filing's attempts, in order. */
    async verdicts(filingId: string | null): Promise<string[]> {
      const { rows } = await ledger.pool.query<{ verdict: string }>(
        'SELECT verdict FROM attempts WHERE filing_id = $1 ORDER BY number',
        [filingId],
      );
      return rows.map(({ verdict }) => verdict);
    },
    /** The exporter's next push goes through `around`. */
    aroundPush: ({ exporterId }: TestExporter, wrapper: AroundPush) => void around.set(exporterId, wrapper),
    /** A person decides about a filing, as the command line and the HTTP API do; its run is woken. */
    async decide(
      filing: Filing,
      kind: Decision['kind'],
      { by = 'ravi', ...more }: Partial<Omit<Decision, 'by' | 'kind'>> & { by?: string } = {},
    ): Promise<Decided> {
      const { filingId } = await filing.query(filingQuery);
      const principal = await principalOf(ledger.pool, by);
      const decision = {
        note: 'looked at the portal',
        ...more,
        filingId: filingId ?? '',
        kind,
        by: { name: by, principal },
      };
      const decided = await decide(ledger.pool, decision, { ...TEST_SETTINGS, ...options.worker?.settings });
      if (decided.outcome !== 'refused') await stage.poke(filing);
      return decided;
    },
    /** Wakes the run of a filing, which looks at the ledger. */
    async poke(filing: Filing): Promise<void> {
      await stage.untilAsleep(filing);
      await wakeQuietly(env, filing.workflowId, () => poke(env.client, filing.workflowId));
    },
    /** New portal credentials, as `ebrc credentials` submits them. */
    async renewCredentials({ exporterId, username }: TestExporter, password: string): Promise<void> {
      const workflowId = credentialsWorkflowId('test', exporterId);
      const secret = { mode: 'test' as const, workflowId, username, password };
      const credentialsRef = await handIn(ledger.pool, secret);
      await env.client.workflow.start<typeof updateCredentials>('updateCredentials', {
        taskQueue: worker.taskQueue,
        workflowId,
        args: [{ mode: 'test', exporterId, credentialsRef, startedBy: 'ravi' }],
      });
    },
    /** Lets hours pass on the server's clock, with everything that comes due in them. */
    pass: (hours: number) => env.sleep(hours * HOUR_MS),
    /**
     * Lets minutes pass until something holds. What is to come due in a time that passes at once may not have been
     * begun when it began.
     */
    passUntil: (holds: () => Promise<boolean>): Promise<void> =>
      eventually(async () => (await holds()) || env.sleep(5 * MINUTE_MS).then(() => false), WITHIN_MS),
    /**
     * Temporal gives the worker of an activity up, as after a lost heartbeat; the activity itself knows nothing of it.
     */
    async giveUpOn(filing: Filing, activity: string, error = new Error('heartbeat timeout')): Promise<void> {
      const { events } = await filing.fetchHistory();
      const scheduled = events?.flatMap((event) => event.activityTaskScheduledEventAttributes ?? []) ?? [];
      const activityId = scheduled.filter((each) => each.activityType?.name === activity).at(-1)?.activityId;
      if (!activityId) throw new Error(`no ${activity} is under way`);
      await env.client.activity.fail({ workflowId: filing.workflowId, activityId }, error);
      await stage.untilAsleep(filing);
    },
    /** Request ids under which the sandbox took the exporter's submissions in. */
    async requestsOf({ exporterId }: TestExporter): Promise<string[]> {
      const { filings } = await sandbox.state();
      return [...filings.values()].filter((each) => each.customerId === exporterId).map((each) => each.requestId);
    },
    async close() {
      await worker.close();
      await service.close();
      await sandbox.close();
      await ledger.drop();
      await env.teardown();
    },
  };
  return stage;
}
