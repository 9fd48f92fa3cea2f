/**
 * Callers in any SDK start workflows by name: what they get wrong ends the workflow, and is never repeated for ever.
 */
import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { openStage, type OnboardStage } from '../exporter/onboard-stage';

let stage: OnboardStage;
const exporterId = randomUUID();

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

/** What the workflow ended with: the type and message of its failure, or its result. */
async function run(workflow: string, args: unknown[]): Promise<unknown> {
  const options = { taskQueue: stage.worker.taskQueue, workflowId: randomUUID(), args, workflowRunTimeout: '10m' };
  try {
    return await stage.env.client.workflow.execute(workflow, options);
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { type, message } = error.cause as Error & { type?: string };
    return { failure: type, message };
  }
}

it.each(['onboardExporter', 'updateCredentials', 'refreshIrms', 'fileRemittances'])(
  '%s fails and names its schema when its input is no object',
  async (workflow) => {
    for (const args of [[], [null], ['test'], [[]]]) {
      const message = expect.stringContaining(`schemas/${workflow}.input.schema.json`) as string;
      expect(await run(workflow, args)).toEqual({ failure: 'invalid_input', message });
    }
  },
);

it.each([
  ['fileRemittances', 'approve', 'refused', /^Say who approves/u],
  ['fileRemittances', 'resolve', 'refused', /^Say filed or not-filed/u],
  ['fileRemittances', 'abandon', 'refused', /^Say in a note/u],
  ['onboardExporter', 'submitCredentials', 'invalid_input', /^submitCredentials takes/u],
])('%s says what its update %s takes when it brings nothing', async (workflow, update, type, message) => {
  const waits = {
    fileRemittances: { mode: 'test', exporterId, reference: `NULL-${update}`, message: {}, awaitUpdate: true },
    onboardExporter: { mode: 'test', name: 'Asha', email: `${randomUUID()}@asha.example` },
  }[workflow];
  const options = { taskQueue: stage.worker.taskQueue, workflowId: randomUUID(), args: [waits] };
  const handle = await stage.env.client.workflow.start(workflow, options);
  const nothing = [() => handle.executeUpdate(update), () => handle.executeUpdate(update, { args: [null] })];
  for (const bring of nothing) {
    const said = await bring().catch((error: Error) => error.cause);
    expect(said).toMatchObject({ type, message: expect.stringMatching(message) as string });
  }
  await handle.terminate();
});

it.each<[string, object, RegExp]>([
  ['an empty id, which would mean every exporter', { mode: 'test', exporterId: '' }, /^exporterId: /u],
  ['an id that is no text', { mode: 'test', exporterId: 5 }, /^exporterId: /u],
  ['no mode', { exporterId }, /^mode: /u],
  ['a property that nobody knows', { mode: 'test', exporter: exporterId }, /exporter/u],
])('refreshIrms fails with what is wrong: %s', async (_what, input, message) => {
  const expected = { failure: 'invalid_input', message: expect.stringMatching(message) as string };
  expect(await run('refreshIrms', [input])).toEqual(expected);
});

it.each<[string, object, RegExp]>([
  ['no exporter', { mode: 'test' }, /^exporterId: /u],
  ['an id that is no text', { mode: 'test', exporterId: {} }, /^exporterId: /u],
  ['a mode that is no text', { mode: { live: true }, exporterId }, /^mode: /u],
  ['no reference of the vault', { mode: 'test', exporterId, credentialsRef: 'hunter2' }, /^credentialsRef: /u],
])('updateCredentials ends refused with what is wrong: %s', async (_what, input, message) => {
  const error = { code: 'invalid_input', message: expect.stringMatching(message) as string };
  expect(await run('updateCredentials', [input])).toMatchObject({
    exporterId: null,
    state: 'refused',
    errors: [error],
  });
});

it('updateCredentials ends refused for an id that the service cannot read', async () => {
  const credentialsRef = await stage.secret('portal.user.1');
  const result = await run('updateCredentials', [{ mode: 'test', exporterId: 'asha', credentialsRef }]);
  expect(result).toMatchObject({ state: 'refused', message: expect.stringContaining('no client asha') as string });
});

it('onboardExporter and fileRemittances end refused, whatever a property holds', async () => {
  const onboarding = await run('onboardExporter', [{ mode: { live: true }, name: 7, email: null }]);
  expect(onboarding).toMatchObject({ state: 'refused' });
  const filing = await run('fileRemittances', [{ mode: 5, exporterId: {}, reference: [], message: 'x' }]);
  expect(filing).toMatchObject({ filingId: null, state: 'refused' });
  // A megabyte of a name would be in every event, and in the memory of every run.
  const long = { mode: 'test', exporterId, reference: 'LONG-NAME', message: {}, madeBy: 'x'.repeat(1_000_000) };
  expect(await run('fileRemittances', [long])).toMatchObject({ state: 'refused', errors: [{ field: 'madeBy' }] });
});

it('a field that is null is one that is left out', async () => {
  const all = await run('refreshIrms', [{ mode: 'test', exporterId: null }]);
  expect(all).toEqual(await run('refreshIrms', [{ mode: 'test' }]));
  const nothing = { uploadType: null, declaration: null, channel: null, inputRef: null, madeBy: null, resume: null };
  const message = { platformCustomerId: null, allowDuplicate: [{ row: 1, besides: null, reason: 'tranche' }] };
  const filing = await run('fileRemittances', [{ mode: 'test', exporterId, ...nothing, message }]);
  const fields = (filing as { errors: { field: string }[] }).errors.map(({ field }) => field);
  // Of the message what it lacks is told, and nothing else.
  expect(fields).toEqual(
    expect.arrayContaining(['uploadType', 'decalarationFlag', 'ebrcBulkGenDtos', 'recordResCount']),
  );
  expect(fields).toHaveLength(4);
});
