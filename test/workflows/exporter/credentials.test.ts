import { randomUUID } from 'node:crypto';
import { WithStartWorkflowOperation } from '@temporalio/client';
import { ApiError } from '../../../src/api/errors/api-error';
import { credentialsWorkflowId } from '../../../src/domain/names';
import { consentsOf } from '../../support/consents';
import { currentCredentials } from '../../../src/ledger/vault/credentials';
import { submitCredentialsUpdate } from '../../../src/workflows/messages';
import type { updateCredentials } from '../../../src/workflows/update-credentials';
import { tell } from '../../ledger/filed';
import { HOUR_MS, useOnboardStage, PASSWORD, WRONG, type Update } from './onboard-stage';

const stage = useOnboardStage();

/** Update-with-start, as the command line does it. */
async function submit(exporterId: string, credentialsRef: string): Promise<Update> {
  const workflowId = credentialsWorkflowId('test', exporterId);
  const startWorkflowOperation = new WithStartWorkflowOperation<typeof updateCredentials>('updateCredentials', {
    workflowId,
    taskQueue: stage.worker.taskQueue,
    args: [{ mode: 'test', exporterId, startedBy: 'ravi' }],
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
  await stage.env.client.workflow.executeUpdateWithStart(submitCredentialsUpdate, {
    args: [{ credentialsRef, by: 'ravi' }],
    startWorkflowOperation,
  });
  return stage.env.client.workflow.getHandle<typeof updateCredentials>(workflowId);
}

async function readyExporter(email: string, activationDelayMs = 0) {
  const username = await stage.account({ activationDelayMs });
  const handle = await stage.onboard({ email, credentialsRef: await stage.secret(username) });
  if (activationDelayMs > 0) {
    const { exporterId } = await stage.until(handle, 'activation_pending');
    return { username, exporterId: exporterId ?? '', handle };
  }
  const { exporterId } = await handle.result();
  return { username, exporterId: exporterId ?? '', handle };
}

async function changeAtPortal(username: string, password: string): Promise<void> {
  const account = (await stage.sandbox.state()).accounts.find((each) => each.username === username);
  if (account) account.password = password;
}

it('validates new credentials, stores the consent, and wakes every filing that waits, if it has a run', async () => {
  const { username, exporterId } = await readyExporter('renew@example.test');
  await changeAtPortal(username, 'New-Password-3');
  // A workflow that stands in for the run of a filing.
  const waiter = await stage.onboard({ email: 'waiter@example.test' });
  expect((await stage.until(waiter, 'needs_credentials')).message).toMatch(/No portal credentials/u);
  const { pool } = stage.ledger;
  for (const workflowId of [`file/test/${randomUUID()}`, waiter.workflowId]) {
    const rows = [{ sbCumInvoiceNumber: workflowId }];
    const filingId = await tell(stage.ledger, { reference: workflowId, madeAt: new Date(), exporterId, rows });
    const waits = `UPDATE filings SET workflow_id = $2, pause = 'credentials', credentials_seen = 1 WHERE filing_id = $1`;
    await pool.query(waits, [filingId, workflowId]);
  }

  const handle = await submit(exporterId, await stage.secret(username, 'New-Password-3'));
  expect(await handle.result()).toMatchObject({ state: 'ready', exporterId, irmCount: 2, errors: [] });
  expect(await currentCredentials(pool, exporterId)).toMatchObject({ version: 2, state: 'valid' });
  expect(await consentsOf(pool, exporterId)).toMatchObject([{ givenBy: 'ravi' }, { givenBy: 'asha' }]);
  const signals = (await waiter.fetchHistory()).events?.flatMap(
    (event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? [],
  );
  expect(signals).toEqual(['poke']);
  // Ended, not terminated: the skipping server's clock stands still for ever after an activity whose workflow was
  // terminated.
  await stage.until(waiter, 'needs_credentials');
  await stage.submit(waiter, await stage.secret(await stage.account({ activationDelayMs: 0 })));
  await waiter.result();
});

it('ends with what was wrong when they are rejected, leaves the old ones in force, and starts again', async () => {
  const { username, exporterId } = await readyExporter('rejected@example.test');
  const rejected = await submit(exporterId, await stage.secret(username, WRONG));
  expect(await rejected.result()).toMatchObject({
    state: 'needs_credentials',
    errors: [{ code: 'credentials_rejected' }],
  });
  const { pool } = stage.ledger;
  expect(await currentCredentials(pool, exporterId)).toMatchObject({ version: 1, state: 'valid' });
  const again = await submit(exporterId, await stage.secret(username));
  expect(await again.result()).toMatchObject({ state: 'ready' });
  expect(await currentCredentials(pool, exporterId)).toMatchObject({ version: 3, state: 'valid' });
});

it('checks several submissions in the order in which they came', async () => {
  const { username, exporterId } = await readyExporter('several@example.test');
  stage.sandbox.addFault({ operation: 'check-dgft-credentials', kind: 'slow', delayMs: 1_000 });
  await submit(exporterId, await stage.secret(username, WRONG));
  await submit(exporterId, await stage.secret(username, `${WRONG}2`));
  const handle = await submit(exporterId, await stage.secret(username));
  expect(await handle.result()).toMatchObject({ state: 'ready' });
  const { rows } = await stage.ledger.pool.query<{ state: string }>(
    'SELECT state FROM credential_versions WHERE exporter_id = $1 ORDER BY version',
    [exporterId],
  );
  expect(rows.map(({ state }) => state)).toEqual(['valid', 'bad', 'bad', 'valid']);
  const checks = stage.sandbox
    .calls({ operation: 'check-dgft-credentials' })
    .filter((call) => call.platformCustomerId === exporterId);
  expect(checks.map(({ status }) => status)).toEqual([201, 400, 400, 201]);
});

it('reports a pending activation without waiting for it', async () => {
  const { username, exporterId, handle: onboarding } = await readyExporter('pending@example.test', 24 * 3_600_000);
  const handle = await submit(exporterId, await stage.secret(username));
  const result = await stage.until(handle, 'activation_pending');
  expect(Date.parse(result.activatesAt ?? '')).toBeGreaterThan(await stage.env.currentTimeMs());
  expect(await handle.result()).toMatchObject({ state: 'activation_pending' });
  expect(await onboarding.result()).toMatchObject({ state: 'ready' });
});

it('accepts an exporter that was onboarded elsewhere, and refuses an unknown one', async () => {
  const username = await stage.account({ activationDelayMs: 0 });
  const { api } = stage.worker.deps;
  const customer = await api.createCustomer({ name: 'Elsewhere', email: 'else@example.test' });
  await api.checkCredentials(customer.id, { dgftUsername: username, dgftPassword: PASSWORD });
  const known = await submit(customer.id, await stage.secret(username));
  expect(await known.result()).toMatchObject({ state: 'ready' });

  const unknown = await submit(randomUUID(), await stage.secret(username));
  expect(await unknown.result()).toMatchObject({ state: 'refused', errors: [{ code: 'customer_not_found' }] });
});

it('ends by itself when nothing is submitted', async () => {
  const { exporterId } = await readyExporter('nothing@example.test');
  const handle = await stage.env.client.workflow.start<typeof updateCredentials>('updateCredentials', {
    taskQueue: stage.worker.taskQueue,
    workflowId: randomUUID(),
    args: [{ mode: 'test', exporterId }],
  });
  expect(await handle.result()).toMatchObject({ state: 'needs_credentials' });
});

/** Moves the time at which the authority opens access for an exporter. */
async function moveActivation(exporterId: string | null, byMs: number): Promise<void> {
  const customer = (await stage.sandbox.state()).customers.get(exporterId ?? '');
  if (!customer?.connection) throw new Error('the client is not validated');
  customer.connection.activatesAt += byMs;
}

async function pendingExporter(email: string) {
  const handle = await stage.onboard({ email, credentialsRef: await stage.secret(await stage.account()) });
  const { exporterId } = await stage.until(handle, 'activation_pending');
  return { handle, exporterId };
}

const refreshes = (exporterId: string | null) =>
  stage.sandbox.calls({ operation: 'refresh-irms' }).filter((call) => call.platformCustomerId === exporterId);

describe('activation', () => {
  it('waits on when the time has moved further away', async () => {
    const { handle, exporterId } = await pendingExporter('later@example.test');
    await moveActivation(exporterId, 10 * HOUR_MS);
    expect(await handle.result()).toMatchObject({ state: 'ready' });
    expect(await stage.lasted(handle)).toBeGreaterThanOrEqual(34 * HOUR_MS);
    // Read again after waking: nothing was asked of a service that was not open yet.
    expect(refreshes(exporterId).map(({ status }) => status)).toEqual([200]);
  });

  it('reports that access is not open if the refresh shows it and the client object does not', async () => {
    const message = 'DGFT_IP_ACTIVATION_PENDING';
    const pending = new ApiError({ kind: 'activation_pending', operation: 'refreshIrms', status: 409, message });
    jest.spyOn(stage.worker.deps.api, 'refreshIrms').mockRejectedValueOnce(pending);
    const handle = await stage.onboardOpen('contradicted@example.test');
    expect(await handle.result()).toMatchObject({ state: 'ready' });
    const { events } = await handle.fetchHistory();
    const states = (events ?? []).map((event) => {
      const fields = event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields;
      return Buffer.from(fields?.EbrcState?.data ?? '').toString();
    });
    expect(states.filter(Boolean)).toContain('"activation_pending"');
  });

  it('validates again when the client was deactivated meanwhile', async () => {
    const { handle, exporterId } = await pendingExporter('deactivated@example.test');
    const customer = (await stage.sandbox.state()).customers.get(exporterId ?? '');
    if (customer) customer.isActive = false;
    const checks = stage.sandbox.calls({ operation: 'check-dgft-credentials' }).length;
    expect(await handle.result()).toMatchObject({ state: 'ready' });
    expect(stage.sandbox.calls({ operation: 'check-dgft-credentials' }).length).toBe(checks + 1);
  });
});

describe('credentials that die while an onboarding is under way', () => {
  it('asks a person when the portal refuses the stored password at the refresh', async () => {
    const username = await stage.account();
    const handle = await stage.onboard({ email: 'dies@example.test', credentialsRef: await stage.secret(username) });
    const { exporterId } = await stage.until(handle, 'activation_pending');
    const account = (await stage.sandbox.state()).accounts.find((each) => each.username === username);
    if (account) account.password = 'Changed-At-Portal-9';
    await stage.env.sleep('25 hours');
    const asked = await stage.until(handle, 'needs_credentials');
    expect(asked.errors).toMatchObject([{ code: 'credentials_invalid' }]);
    expect(await currentCredentials(stage.ledger.pool, exporterId ?? '')).toMatchObject({ version: 1, state: 'bad' });
    await stage.submit(handle, await stage.secret(username, 'Changed-At-Portal-9'));
    expect(await handle.result()).toMatchObject({ state: 'ready' });
  });

  it('continues when the client is validated elsewhere', async () => {
    const username = await stage.account({ activationDelayMs: 0 });
    const handle = await stage.onboard({
      email: 'elsewhere@example.test',
      credentialsRef: await stage.secret(username, WRONG),
    });
    const { exporterId } = await stage.until(handle, 'needs_credentials');
    const account = (await stage.sandbox.state()).accounts.find((each) => each.username === username);
    await stage.worker.deps.api.checkCredentials(exporterId ?? '', {
      dgftUsername: username,
      dgftPassword: account?.password ?? '',
    });
    expect(await handle.result()).toMatchObject({ state: 'ready' });
  });
});

it('checks again automatically if the service has no credentials', async () => {
  const message = 'DGFT_CREDENTIALS_MISSING';
  const missing = new ApiError({ kind: 'credentials_missing', operation: 'refreshIrms', status: 422, message });
  jest.spyOn(stage.worker.deps.api, 'refreshIrms').mockRejectedValueOnce(missing);
  const handle = await stage.onboardOpen('missing@example.test');
  const { exporterId } = await stage.until(handle, 'needs_credentials');
  expect(await currentCredentials(stage.ledger.pool, exporterId ?? '')).toMatchObject({ version: 1, state: 'valid' });
  expect(await handle.result()).toMatchObject({ state: 'ready' });
});
