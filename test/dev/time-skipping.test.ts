import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { timeSkippingEnvironment } from '../support/temporal';

let env: TestWorkflowEnvironment;

beforeAll(async () => {
  env = await timeSkippingEnvironment();
});

afterAll(() => env?.teardown());

it('skips a day without waiting for it', async () => {
  const before = await env.currentTimeMs();
  await env.sleep('24h');
  expect(await env.currentTimeMs()).toBeGreaterThanOrEqual(before + 86_400_000);
});

it('takes a workflow that carries the search attributes of the project', async () => {
  const handle = await env.client.workflow.start('never', {
    workflowId: 'with-attributes',
    taskQueue: 'nobody',
    searchAttributes: { EbrcState: ['checking'], EbrcNeedsAttention: [false] },
  });
  expect((await handle.describe()).status.name).toBe('RUNNING');
  await handle.terminate();
});
