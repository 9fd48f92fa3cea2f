/** The update `file`, with which callers start filings, and runs that record nothing. On a real server. */
import { messageOf } from '../../../dev/sample-mapping';
import { TEST_CADENCE } from '../../support/settings';
import { randomUUID } from 'node:crypto';
import {
  WithStartWorkflowOperation,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  type Client,
  type WorkflowHandle,
} from '@temporalio/client';
import { ApplicationFailure, RawValue } from '@temporalio/common';
import type { FileInput } from '../../../src/domain/contracts';
import type { Mapping } from '../../../src/domain/filing/mapping';
import { filingWorkflowId } from '../../../src/domain/names';
import type { fileRemittances } from '../../../src/workflows/file-remittances';
import { fileUpdate, filingQuery } from '../../../src/workflows/messages';
import { startFiling, type PreparedFiling } from '../../../src/starter/filings/start';
import { replacing } from '../../support/replacing';
import { eventually } from '../../support/processes';
import { type Filing, type TestExporter } from './filing-stage';
import { resetToLast } from './resets';
import { operationsOf, useRealServerStage } from './use-filing-stage';

const stage = useRealServerStage();

function inputOf(exporter: TestExporter, rows: Mapping[], more: Partial<FileInput> = {}): FileInput {
  const message = messageOf(rows.map((row, index) => ({ ...row, serialNo: index + 1 })));
  const reference = more.reference ?? `U-${randomUUID().slice(0, 8)}`;
  return { mode: 'test', exporterId: exporter.exporterId, message, madeBy: 'asha', ...more, reference };
}

/** The input of a filing of one row, of an exporter of its own. */
async function newInput(more?: Partial<FileInput>) {
  const exporter = await stage.exporter();
  return { exporter, input: inputOf(exporter, [stage.mapping(exporter)], more) };
}

/** As a caller in any SDK does it. `started`: what the run that the update finds was started with. */
function ask(input: FileInput, started = input) {
  const id = filingWorkflowId('test', input.reference ?? '', input.n ?? 1);
  return stage.env.client.workflow.executeUpdateWithStart(fileUpdate, {
    args: [input],
    startWorkflowOperation: new WithStartWorkflowOperation('fileRemittances', {
      workflowId: id,
      taskQueue: stage.worker.taskQueue,
      args: [started],
      workflowIdConflictPolicy: 'USE_EXISTING',
    }),
  });
}

/** A plain start. */
const start = (input: FileInput, workflowId?: string) =>
  stage.env.client.workflow.start<typeof fileRemittances>('fileRemittances', {
    workflowId: workflowId ?? filingWorkflowId('test', input.reference ?? '', input.n ?? 1),
    taskQueue: stage.worker.taskQueue,
    args: [input],
  });

const handleOf = (input: FileInput): Filing =>
  stage.env.client.workflow.getHandle(filingWorkflowId('test', input.reference ?? '', input.n ?? 1));

async function failureOf(asked: Promise<unknown>): Promise<ApplicationFailure> {
  const error = await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof WorkflowUpdateFailedError)) throw new Error(`not an update's failure: ${String(error)}`);
  return error.cause as ApplicationFailure;
}

const attributesOf = async (handle: WorkflowHandle): Promise<Record<string, unknown>> => {
  const { typedSearchAttributes } = await handle.describe();
  return Object.fromEntries(typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]));
};

const COUNTS = { rows: 0, certified: 0, archived: 0, errored: 0, open: 0 };

describe('the update file', () => {
  it('answers as soon as the filing is recorded; repeated while it runs, and after its end, it means that filing', async () => {
    const { exporter, input } = await newInput({ awaitUpdate: true });
    const first = await ask(input);
    expect(first).toMatchObject({ filingId: expect.any(String) as string, recorded: null, n: 1 });
    expect(first.contentHash).toMatch(/^[0-9a-f]{64}$/);
    expect((await ask(input)).filingId).toBe(first.filingId);
    // The same content in other words, which only the ledger can compare.
    const respelled = { ...input, awaitUpdate: false, madeBy: 'ravi' };
    expect((await ask(respelled)).filingId).toBe(first.filingId);
    expect(await handleOf(input).result()).toMatchObject({ state: 'certified', filingId: first.filingId });
    for (const again of [await ask(input), await ask(respelled)]) {
      expect(again).toMatchObject({ filingId: first.filingId, state: 'certified', contentHash: first.contentHash });
    }
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('is answered before its run begins what leads to the send', async () => {
    const { input } = await newInput({ awaitUpdate: true });
    // Other words have to be compared with the ledger, for which the run could go on meanwhile.
    await ask({ ...input, madeBy: 'ravi' }, input);
    expect(await handleOf(input).result()).toMatchObject({ state: 'certified' });
    const { events } = await handleOf(input).fetchHistory();
    const order = events?.map(({ workflowExecutionUpdateCompletedEventAttributes: answered, ...event }) =>
      answered ? 'answered' : event.activityTaskScheduledEventAttributes?.activityType?.name,
    );
    const told = ['answered', 'refreshIrms', 'submitPush'];
    expect(order?.filter((each) => each && told.includes(each))).toEqual(told);
  });

  it('fails for other content under a run that is under way, and tells who holds the reference', async () => {
    const { exporter, input } = await newInput({ approval: true });
    const { filingId } = await ask(input);
    const other = inputOf(exporter, [stage.mapping(exporter)], { reference: input.reference });
    const failure = await failureOf(ask(other));
    expect(failure).toMatchObject({ type: 'reference_taken', nonRetryable: true });
    expect(String(failure.message)).not.toContain('--reference');
    expect(failure.details).toMatchObject([
      { code: 'reference_taken', errors: [{ code: 'reference_taken', filingId }], holder: filingId },
    ]);
    expect((failure.details as { state: string }[])[0]?.state).toMatch(/checking|awaiting_approval/);
    await stage.until(handleOf(input), 'awaiting_approval');
    await stage.abandon(handleOf(input));
    // Nothing is under way any more: the run that the update starts says the same, from the ledger.
    expect(await failureOf(ask(other))).toMatchObject({ type: 'reference_taken' });
    expect(stage.pushes(exporter)).toBe(0);
  });

  it('answers a refusal with its errors, and what passes later is not answered with it', async () => {
    const exporter = await stage.exporter();
    const row = stage.mapping(exporter);
    const holder = inputOf(exporter, [row], { approval: true });
    const { filingId } = await ask(holder);
    const input = inputOf(exporter, [row]);
    expect(await ask(input)).toMatchObject({
      filingId: null,
      state: 'refused',
      recorded: null,
      counts: COUNTS,
      errors: [{ code: 'mapping_live', filingId }],
    });
    await stage.until(handleOf(holder), 'awaiting_approval');
    await stage.abandon(handleOf(holder));
    expect(await ask(input)).toMatchObject({ filingId: expect.any(String) as string, errors: [] });
    expect(await handleOf(input).result()).toMatchObject({ state: 'certified' });
  });
});

describe('a caller in another language', () => {
  it('files with null fields, which count as left out', async () => {
    const exporter = await stage.exporter();
    const nulls = {
      uploadType: null,
      corrects: null,
      grant: null,
      allowDuplicate: [{ row: 1, besides: null, reason: 'x' }],
    };
    const input = { ...inputOf(exporter, [stage.mapping(exporter)]), ...nulls } as unknown as FileInput;
    const first = await ask(input);
    expect(first).toMatchObject({ filingId: expect.any(String) as string, errors: [] });
    // Without its nulls, and in other words, it is the same filing.
    const again = JSON.parse(JSON.stringify({ ...input, madeBy: 'ravi' })) as FileInput;
    expect(await ask(again)).toMatchObject({ filingId: first.filingId, errors: [] });
    expect(await handleOf(input).result()).toMatchObject({ state: 'certified', filingId: first.filingId });
  });

  it('is told what an answer lacks, and the filing goes on', async () => {
    const exporter = await stage.exporter();
    const input = inputOf(exporter, [stage.mapping(exporter)], { approval: true });
    await ask(input);
    const filing = handleOf(input);
    await stage.until(filing, 'awaiting_approval');
    const say = (update: string, args: object) => failureOf(filing.executeUpdate(update, { args: [args] }));
    const unnamed = { as: 'not-filed', note: 'not there', by: null, notOurs: null };
    for (const [update, args] of [
      ['abandon', { note: 'not wanted' }],
      ['resolve', unnamed],
    ] as const) {
      expect(await say(update, args)).toMatchObject({
        type: 'refused',
        details: [{ code: 'refused', errors: [{ code: 'invalid_input', field: 'by' }] }],
      });
    }
    // The word that is carried out is the one that is recorded now, and no other.
    expect(await say('abandon', { by: 'ravi', note: 'not wanted', wordId: '1' })).toMatchObject({
      message: 'input: there is no field wordId',
    });
    const named = { ...unnamed, by: 'ravi', certificates: null, rows: null };
    const message = expect.stringContaining('awaiting_approval') as string;
    expect(await say('resolve', named)).toMatchObject({
      message,
      details: [{ code: 'refused', errors: [{ code: 'refused', message }] }],
    });
    expect(await stage.abandon(filing)).toMatchObject({ state: 'abandoned' });
  });

  it('is refused where its input cannot be read, which stops no workflow', async () => {
    const exporter = await stage.exporter();
    const input = inputOf(exporter, [stage.mapping(exporter)], { approval: true });
    await ask(input);
    const filing = handleOf(input);
    await stage.until(filing, 'awaiting_approval');
    for (const [encoding, data] of [
      ['json/plain', `{"message":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
      ['json/plain', '{"message":'],
      ['json/protobuf', '{}'],
    ] as const) {
      const payload = { metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(data) };
      const args = [RawValue.fromPayload(payload)] as unknown as [FileInput];
      expect(await failureOf(filing.executeUpdate(fileUpdate, { args }))).toMatchObject({ type: 'refused' });
      await filing.signal('credentialsRenewed', args[0]);
      const { client } = stage.env;
      const options = { workflowId: `own/${randomUUID()}`, taskQueue: stage.worker.taskQueue, args };
      await expect(client.workflow.execute('fileRemittances', options)).rejects.toMatchObject({
        cause: { type: 'invalid_input' },
      });
    }
    expect(await stage.abandon(filing)).toMatchObject({ state: 'abandoned' });
  });
});

describe('a run that records nothing', () => {
  it('ends refused, and hides no certified filing: result, query and attributes tell what stands', async () => {
    const { exporter, input } = await newInput();
    const certified = await (await start(input)).result();
    expect(certified).toMatchObject({ state: 'certified', recorded: null });
    const retry = await start(inputOf(exporter, [stage.mapping(exporter)], { reference: input.reference }));
    expect(await retry.result()).toMatchObject({
      filingId: null,
      state: 'refused',
      recorded: { filingId: certified.filingId, state: 'certified', counts: { rows: 1, certified: 1 } },
      errors: [{ code: 'reference_taken', filingId: certified.filingId }],
    });
    expect(await retry.query(filingQuery)).toMatchObject({
      filingId: certified.filingId,
      state: 'certified',
      contentHash: certified.contentHash,
      counts: { certified: 1 },
    });
    await eventually(async () => (await attributesOf(retry))['EbrcState'] === 'certified');
    expect(await attributesOf(retry)).toMatchObject({
      EbrcExporter: exporter.exporterId,
      EbrcReference: input.reference,
      EbrcNeedsAttention: false,
      EbrcMode: 'test',
    });
    const commands = operationsOf(stage);
    await expect(commands.abandon(input.reference ?? '', { by: 'ravi', note: 'too late' })).rejects.toThrow(
      'certified',
    );
  });
});

describe('a reference whose filing ended without a certificate', () => {
  async function rejected(exporter: TestExporter) {
    const row = stage.mapping(exporter);
    await stage.reject(row.sbCumInvoiceNumber);
    const input = inputOf(exporter, [row]);
    const { filingId } = await ask(input);
    expect(await handleOf(input).result()).toMatchObject({ state: 'rejected', filingId });
    return { row, input, filingId: filingId ?? '' };
  }

  it('files nothing when its workflow is reset to its first task after a correction was certified, nor under another reference', async () => {
    const exporter = await stage.exporter();
    const { row, input, filingId } = await rejected(exporter);
    const amended = { ...row, mappedIRMAmountFCC: 900 };
    const correction = inputOf(exporter, [amended], { reference: input.reference, n: 2, corrects: filingId });
    const corrected = await ask(correction);
    expect(await handleOf(correction).result()).toMatchObject({ state: 'certified' });
    const pushes = stage.pushes(exporter);
    const reset = await resetToLast(stage, handleOf(input), 1_000);
    expect(await reset.result()).toMatchObject({ filingId, state: 'rejected' });
    expect(await ask(input)).toMatchObject({ filingId, state: 'rejected' });
    expect(await ask(inputOf(exporter, [row]))).toMatchObject({
      state: 'refused',
      errors: [{ code: 'mapping_live', filingId: corrected.filingId }],
    });
    expect(stage.pushes(exporter)).toBe(pushes);
  });
});

/** The command line's way to file one row, with `ask` in place of the update. */
async function fileAsking(
  exporter: TestExporter,
  ask: (client: Client['workflow'], ...args: Parameters<Client['workflow']['executeUpdateWithStart']>) => unknown,
) {
  const { client } = stage.env;
  const workflow = replacing(client.workflow, 'executeUpdateWithStart', (...args: never[]) =>
    ask(client.workflow, ...(args as unknown as Parameters<Client['workflow']['executeUpdateWithStart']>)),
  );
  const { pool, documents, mode } = stage.worker.deps;
  const { taskQueue } = stage.worker;
  const temporal = Object.create(client, { workflow: { value: workflow } }) as Client;
  const filing: PreparedFiling = {
    exporterId: exporter.exporterId,
    rows: [{ row: 1, mapping: stage.mapping(exporter, { serialNo: 1 }) }],
    uploadType: 101,
    declaration: 'Y',
    file: { kind: 'json', name: 'remittances.json', bytes: Buffer.from('{}') },
    warnings: [],
    madeBy: 'asha',
  };
  const deps = { pool, documents, mode, cadence: TEST_CADENCE, temporal, taskQueue };
  return startFiling(deps, filing, { wait: true });
}

const CERTIFIED = { state: 'certified', rows: [{ state: 'certified' }] };

it('is not what a filing of the command line waits for: a server that is killed forgets one that it had accepted', async () => {
  const exporter = await stage.exporter();
  // The run is started, durably; its update is lost, and nobody is left to repeat it.
  let started = 0;
  const outcome = await fileAsking(exporter, async (workflow, _update, { startWorkflowOperation }) => {
    started += 1;
    await workflow.start('fileRemittances', startWorkflowOperation.options);
    throw new WorkflowUpdateRPCTimeoutOrCancelledError('the server was killed');
  });
  expect(started).toBe(1);
  expect(outcome.filing).toMatchObject(CERTIFIED);
  expect(stage.pushes(exporter)).toBe(1);
});

/** What the server answers of an update whose run was ended after it had taken it. */
const endedUnanswered = () =>
  new WorkflowUpdateFailedError(
    'Workflow Update failed',
    ApplicationFailure.create({ type: 'AcceptedUpdateCompletedWorkflow', nonRetryable: true }),
  );

it('leaves a word in doubt whose run was ended before it answered', async () => {
  const { input } = await newInput({ approval: true });
  await ask(input);
  await stage.until(handleOf(input), 'awaiting_approval');
  const { client } = stage.env;
  const executeUpdate = () => Promise.reject(endedUnanswered());
  const workflow = replacing(client.workflow, 'getHandle', () => ({ executeUpdate }));
  const temporal = Object.create(client, { workflow: { value: workflow } }) as Client;
  const env = Object.create(stage.env, { client: { value: temporal } }) as typeof stage.env;
  const commands = operationsOf({ ...stage, env });
  const word = commands.abandon(input.reference ?? '', { by: 'ravi', note: 'not wanted' });
  await expect(word).rejects.toThrow(/^It is not certain that the abandon was carried out/);
  await stage.abandon(handleOf(input));
});

it('is asked for again where somebody ended its run before it answered: nothing was refused', async () => {
  const exporter = await stage.exporter();
  let asked = 0;
  const outcome = await fileAsking(exporter, (workflow, ...args) => {
    asked += 1;
    if (asked === 1) throw endedUnanswered();
    return workflow.executeUpdateWithStart(...args);
  });
  expect(asked).toBe(2);
  expect(outcome.filing).toMatchObject(CERTIFIED);
  expect(stage.pushes(exporter)).toBe(1);
});
