import { ApiError } from '../../../src/api/errors/api-error';
import { currentCredentials } from '../../../src/ledger/vault/credentials';
import { exporterQuery } from '../../../src/workflows/messages';
import { HOUR_MS, openStage, WRONG, type OnboardStage } from './onboard-stage';

let stage: OnboardStage;

beforeAll(async () => {
  stage = await openStage();
});

afterAll(() => stage?.close());
afterEach(() => stage.sandbox.clearFaults());

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

  it('waits on when it moves while the IRMs are refreshed', async () => {
    const username = await stage.account({ activationDelayMs: 0 });
    stage.sandbox.addFault({ operation: 'refresh-irms', kind: '500', times: 2 });
    const handle = await stage.onboard({ email: 'sudden@example.test', credentialsRef: await stage.secret(username) });
    const { exporterId } = await stage.until(handle, 'started');
    let id = exporterId;
    for (let tries = 0; id === null && tries < 100; tries += 1)
      ({ exporterId: id } = await handle.query(exporterQuery));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await moveActivation(id, 6 * HOUR_MS);
    expect(await handle.result()).toMatchObject({ state: 'ready' });
    expect(await stage.lasted(handle)).toBeGreaterThanOrEqual(5 * HOUR_MS);
    expect(
      refreshes(id)
        .map(({ status }) => status)
        .slice(-2),
    ).toEqual([409, 200]);
  });

  it('reports that access is not open if the refresh shows it and the client object does not', async () => {
    const message = 'DGFT_IP_ACTIVATION_PENDING';
    const pending = new ApiError({ kind: 'activation_pending', operation: 'refreshIrms', status: 409, message });
    jest.spyOn(stage.worker.deps.api, 'refreshIrms').mockRejectedValueOnce(pending);
    const credentialsRef = await stage.secret(await stage.account({ activationDelayMs: 0 }));
    const handle = await stage.onboard({ email: 'contradicted@example.test', credentialsRef });
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
  const credentialsRef = await stage.secret(await stage.account({ activationDelayMs: 0 }));
  const handle = await stage.onboard({ email: 'missing@example.test', credentialsRef });
  const { exporterId } = await stage.until(handle, 'needs_credentials');
  expect(await currentCredentials(stage.ledger.pool, exporterId ?? '')).toMatchObject({ version: 1, state: 'valid' });
  expect(await handle.result()).toMatchObject({ state: 'ready' });
});
