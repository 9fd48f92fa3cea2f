/** Passwords that no workflow will ask for any more, on a real Temporal server that knows which workflows run. */
import { randomBytes } from 'node:crypto';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { createVault, handIn } from '../../src/ledger/vault/vault';
import { sweepSecrets } from '../../src/worker/jobs';
import { useTestDatabase } from '../support/postgres';
import { useDevServer } from '../support/temporal';

const database = useTestDatabase();
const server = useDevServer();
const PAUSED = temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_PAUSED;

/** As newer servers describe a workflow that an operator has paused. */
const asPaused: NonNullable<WorkflowClientInterceptor['describe']> = async (input, next) => {
  const described = await next(input);
  const { workflowExecutionInfo: info } = described;
  const isPaused = info?.execution?.workflowId?.endsWith('paused');
  return isPaused ? { ...described, workflowExecutionInfo: { ...info, status: PAUSED } } : described;
};

it('removes what was handed to a workflow that ended or never began, and nothing that a running one holds', async () => {
  const { pool } = database;
  const { connection, options } = await server.client();
  const { namespace } = options;
  const client = new Client({ connection, namespace, interceptors: { workflow: [{ describe: asPaused }] } });
  const vault = createVault({ keys: [{ id: 'k', key: randomBytes(32) }] });
  for (const mode of ['test', 'live'] as const) await vault.publish(pool, mode);
  const handTo = (workflowId: string, mode: 'test' | 'live' = 'test') =>
    handIn(pool, { mode, workflowId, username: 'asha', password: 'S3cret' });
  const start = (workflowId: string) =>
    client.workflow.start('onboardExporter', { workflowId, taskQueue: 'nobody-polls-it', args: [{}] });

  const running = await handTo('onboard/test/running');
  await start('onboard/test/running');
  const paused = await handTo('onboard/test/paused');
  await start('onboard/test/paused');
  const ended = await handTo('onboard/test/ended');
  await (await start('onboard/test/ended')).terminate();
  const never = await handTo('onboard/test/never');
  const live = await handTo('onboard/live/elsewhere', 'live');
  const held = async () =>
    (await pool.query<{ ref: string }>('SELECT secret_ref::text AS ref FROM vault_secrets')).rows.map(({ ref }) => ref);

  expect(await sweepSecrets({ pool, client, mode: 'test' })).toBe(0);
  expect((await held()).sort()).toEqual([running, paused, ended, never, live].sort());
  expect(await sweepSecrets({ pool, client, mode: 'test' }, 0)).toBe(2);
  expect((await held()).sort()).toEqual([running, paused, live].sort());
});
