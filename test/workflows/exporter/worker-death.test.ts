/** What waits for an exporter goes on at the next worker. */
import { credentialsWorkflowId } from '../../../src/domain/names';
import { exporterQuery } from '../../../src/workflows/messages';
import type { updateCredentials } from '../../../src/workflows/update-credentials';
import { eventually } from '../../support/processes';
import { HOUR_MS, useOnboardStage } from './onboard-stage';

// A task that a dying worker had taken is given again after its time-out, and that runs in real time.

const stage = useOnboardStage({}, { replayEveryTask: true });

const untilFaulty = () => eventually(() => stage.sandbox.faults().some(({ applied }) => applied > 0));

it('shows a key that the service refuses as ours, and tries it again by itself', async () => {
  const [key] = (await stage.sandbox.state()).keys;
  if (!key) throw new Error('the sandbox has no key');
  key.masterAgreementSigned = false;
  const credentialsRef = await stage.secret(await stage.account({ activationDelayMs: 0 }));
  const handle = await stage.onboard({ email: 'agreement@example.test', credentialsRef });
  await eventually(async () => (await handle.query(exporterQuery)).message !== null);
  expect(await handle.query(exporterQuery)).toMatchObject({ state: 'started', errors: [{ code: 'forbidden' }] });
  await stage.restart();
  key.masterAgreementSigned = true;
  expect(await handle.result()).toMatchObject({ state: 'ready', errors: [], message: null });
  expect(await stage.lasted(handle)).toBeGreaterThanOrEqual(60_000);
});

describe('an onboarding survives the death of its worker', () => {
  it('while it waits for the activation', async () => {
    const credentialsRef = await stage.secret(await stage.account());
    const handle = await stage.onboard({ email: 'death-2@example.test', credentialsRef });
    await stage.until(handle, 'activation_pending');
    await stage.restart();
    expect(await handle.result()).toMatchObject({ state: 'ready', irmCount: 2 });
    expect(await stage.lasted(handle)).toBeGreaterThanOrEqual(24 * HOUR_MS);
  });

  it('while a check is on its way', async () => {
    stage.sandbox.addFault({ operation: 'check-dgft-credentials', kind: 'slow', delayMs: 1_500 });
    const credentialsRef = await stage.secret(await stage.account({ activationDelayMs: 0 }));
    const handle = await stage.onboard({ email: 'death-4@example.test', credentialsRef });
    await untilFaulty();
    await stage.restart();
    expect(await handle.result()).toMatchObject({ state: 'ready' });
  });
});

it('checks new credentials although its worker dies while the portal cannot be asked', async () => {
  const username = await stage.account({ activationDelayMs: 0 });
  const onboarding = await stage.onboard({
    email: 'death-5@example.test',
    credentialsRef: await stage.secret(username),
  });
  const exporterId = (await onboarding.result()).exporterId ?? '';
  stage.sandbox.addFault({ operation: 'check-dgft-credentials', kind: '502-with-code', times: 2 });
  const handle = await stage.env.client.workflow.start<typeof updateCredentials>('updateCredentials', {
    taskQueue: stage.worker.taskQueue,
    workflowId: credentialsWorkflowId('test', exporterId),
    args: [{ mode: 'test', exporterId, credentialsRef: await stage.secret(username), startedBy: 'ravi' }],
  });
  await untilFaulty();
  await stage.restart();
  expect(await handle.result()).toMatchObject({ state: 'ready' });
});
