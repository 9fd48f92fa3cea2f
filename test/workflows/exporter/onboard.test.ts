import { exporterQuery } from '../../../src/workflows/messages';
import { evidenceHashOf, currentCredentials } from '../../../src/ledger/vault/credentials';
import { consentsOf } from '../../support/consents';
import { getExporter } from '../../../src/ledger/exporters/exporters';
import { listIrms } from '../../../src/ledger/exporters/irms';
import { eventually } from '../../support/processes';
import { HOUR_MS, useOnboardStage, PASSWORD, WRONG } from './onboard-stage';

const stage = useOnboardStage();

const calls = (operation: string) => stage.sandbox.calls({ operation });

it('creates, validates, waits a day, reads the IRMs, and ends ready', async () => {
  const credentialsRef = await stage.secret(await stage.account());
  const handle = await stage.onboard({ email: 'one@example.test', iec: 'aagcm4521k', credentialsRef });
  const waiting = await stage.until(handle, 'activation_pending');
  const { startTime } = await handle.describe();
  expect(Date.parse(waiting.activatesAt ?? '') - startTime.getTime()).toBeGreaterThanOrEqual(24 * HOUR_MS);

  const result = await handle.result();
  expect(result).toMatchObject({ state: 'ready', irmCount: 2, errors: [], activatesAt: null });
  expect(await stage.lasted(handle)).toBeGreaterThanOrEqual(24 * HOUR_MS);

  const exporterId = result.exporterId ?? '';
  const { pool } = stage.ledger;
  expect(await getExporter(pool, exporterId)).toMatchObject({
    isActive: true,
    hasCredentials: true,
    apiState: 'ready',
    statedIec: 'AAGCM4521K',
    // The account at the portal is another firm's than was entered.
    iec: expect.stringMatching(/^IEC000\d{4}$/u),
    iecSource: 'irms',
  });
  expect(await listIrms(pool, exporterId)).toHaveLength(2);
  expect(await currentCredentials(pool, exporterId)).toMatchObject({ version: 1, state: 'valid' });
  const [consent] = await consentsOf(pool, exporterId);
  expect(consent).toMatchObject({ givenBy: 'asha', statement: expect.stringContaining('consent') });
  expect(consent?.evidenceHash).toBe(consent && evidenceHashOf(consent));
  const attributes = (await handle.describe()).searchAttributes;
  expect(attributes).toMatchObject({
    EbrcExporter: [exporterId],
    EbrcState: ['ready'],
    EbrcMode: ['test'],
    EbrcNeedsAttention: [false],
  });
});

it('is ready at once if the service reports it, and a second run changes nothing', async () => {
  const email = 'two@example.test';
  const handle = await stage.onboardOpen(email);
  const first = await handle.result();
  expect(first.state).toBe('ready');
  expect(await stage.lasted(handle)).toBeLessThan(HOUR_MS);

  const checks = calls('check-dgft-credentials').length;
  const second = await (await stage.onboard({ email })).result();
  expect(second).toMatchObject({ state: 'ready', exporterId: first.exporterId, irmCount: 2 });
  expect(calls('check-dgft-credentials')).toHaveLength(checks);
});

describe('create or adopt', () => {
  async function existing(body: Record<string, unknown>): Promise<string> {
    const { id } = await stage.worker.deps.api.createCustomer({ name: 'Asha Exports', email: 'x', ...body });
    return id;
  }

  it('adopts the client that has the e-mail when name and IEC agree', async () => {
    const id = await existing({ email: 'Adopt@example.test', name: ' asha  EXPORTS', iec: 'ABCDE12345' });
    // A list is searched by part of an e-mail.
    await existing({ email: 'not-adopt@example.test' });
    const credentialsRef = await stage.secret(await stage.account({ activationDelayMs: 0 }));
    const handle = await stage.onboard({ email: 'adopt@example.test', iec: 'abcde12345', credentialsRef });
    expect(await handle.result()).toMatchObject({ state: 'ready', exporterId: id });
  });

  it('keeps a name that means "no value" in answers', async () => {
    const nameOf = async (email: string) =>
      (await stage.ledger.pool.query<{ name: string }>('SELECT name FROM exporters WHERE email = $1', [email])).rows;
    await existing({ email: 'adopted-na@example.test', name: 'NA' });
    for (const email of ['na@example.test', 'adopted-na@example.test']) {
      const credentialsRef = await stage.secret(await stage.account({ activationDelayMs: 0 }));
      await (await stage.onboard({ email, name: 'NA', credentialsRef })).result();
      expect(await nameOf(email)).toEqual([{ name: 'NA' }]);
    }
  });

  it('adopts where one side has no IEC', async () => {
    const id = await existing({ email: 'noiec@example.test' });
    const credentialsRef = await stage.secret(await stage.account({ activationDelayMs: 0 }));
    const handle = await stage.onboard({ email: 'noiec@example.test', iec: 'ABCDE12345', credentialsRef });
    expect(await handle.result()).toMatchObject({ state: 'ready', exporterId: id });
  });

  it.each([
    ['name', { name: 'Somebody Else' }, /name is "Somebody Else"/u],
    ['IEC', { iec: 'ZZZZZ99999' }, /IEC is "ZZZZZ99999", not "ABCDE12345"/u],
  ])('refuses to adopt a client with another %s', async (what, other, text) => {
    const email = `differs-${what}@example.test`;
    await existing({ email, ...other });
    const result = await (await stage.onboard({ email, iec: 'ABCDE12345' })).result();
    expect(result).toMatchObject({ state: 'refused', exporterId: null, errors: [{ code: 'exporter_differs' }] });
    expect(result.message).toMatch(text);
  });

  it.each(['accept-then-drop', '502-bare', 'truncated-json'] as const)(
    'finds the client again when the answer of the create is lost (%s)',
    async (kind) => {
      const email = `lost-${kind}@example.test`;
      stage.sandbox.addFault({ operation: 'create-customer', kind, process: true });
      const result = await (await stage.onboardOpen(email)).result();
      expect(result.state).toBe('ready');
      const { customers } = await stage.sandbox.state();
      expect([...customers.values()].filter((customer) => customer.email === email)).toHaveLength(1);
    },
  );

  it('creates again when a lost create did not take effect', async () => {
    stage.sandbox.addFault({ operation: 'create-customer', kind: 'drop-before-accept' });
    const result = await (await stage.onboardOpen('dropped@example.test')).result();
    expect(result.state).toBe('ready');
  });

  it('refuses an input of another mode, and one that is no input, without a call', async () => {
    const before = stage.sandbox.calls().length;
    const wrongMode = await (await stage.onboard({ email: 'live@example.test', mode: 'live' })).result();
    expect(wrongMode).toMatchObject({ state: 'refused', errors: [{ code: 'wrong_mode' }] });
    const noInput = await (await stage.onboard({ email: 'no address', iec: '123' })).result();
    expect(noInput.state).toBe('refused');
    expect(noInput.errors.map(({ message }) => message).join()).toMatch(/email.*iec/su);
    expect(stage.sandbox.calls()).toHaveLength(before);
  });
});

describe('the validate table', () => {
  it('asks a person after a wrong password, never tries it again, and continues with the right one', async () => {
    const username = await stage.account({ activationDelayMs: 0 });
    const handle = await stage.onboard({
      email: 'wrong@example.test',
      credentialsRef: await stage.secret(username, WRONG),
    });
    const asked = await stage.until(handle, 'needs_credentials');
    expect(asked.errors).toMatchObject([{ code: 'credentials_rejected' }]);
    const checks = calls('check-dgft-credentials').length;
    await stage.env.sleep('2 days');
    expect(calls('check-dgft-credentials')).toHaveLength(checks);

    const taken = await stage.submit(handle, await stage.secret(username));
    expect(taken.state).toBe('started');
    expect(await handle.result()).toMatchObject({ state: 'ready' });
  });

  it('explains a user name that differs from the stored one, and takes the stored one', async () => {
    const username = await stage.account({ activationDelayMs: 0 });
    const other = await stage.account({ activationDelayMs: 0 });
    const email = 'differs@example.test';
    await (await stage.onboard({ email, credentialsRef: await stage.secret(username) })).result();

    const handle = await stage.onboard({ email, credentialsRef: await stage.secret(other) });
    const asked = await stage.until(handle, 'needs_credentials');
    expect(asked.errors).toMatchObject([{ code: 'credentials_already_set' }]);
    expect(asked.message).toMatch(/another DGFT user name/u);
    // The service works with what it had: nothing else of the exporter's is paused.
    expect(await currentCredentials(stage.ledger.pool, asked.exporterId ?? '')).toMatchObject({ state: 'valid' });
    await stage.submit(handle, await stage.secret(username));
    expect(await handle.result()).toMatchObject({ state: 'ready' });
  });

  it.each([
    ['already aligned', true],
    ['already in use', false],
  ])('asks for another user name where it is %s with another client', async (words, validated) => {
    const username = await stage.account({ activationDelayMs: 0 });
    const holder = `holder-${validated}@example.test`;
    if (validated)
      await (await stage.onboard({ email: holder, credentialsRef: await stage.secret(username) })).result();
    else {
      const credentials = { dgftUsername: username, dgftPassword: PASSWORD };
      await stage.worker.deps.api.createCustomer({ name: 'Holder', email: holder, ...credentials });
    }
    const email = `taker-${validated}@example.test`;
    const handle = await stage.onboard({ email, credentialsRef: await stage.secret(username) });
    const asked = await stage.until(handle, 'needs_credentials');
    expect(asked).toMatchObject({ errors: [{ code: 'dgft_username_taken' }] });
    expect(asked.message).toContain(words);
    await stage.submit(handle, await stage.secret(await stage.account({ activationDelayMs: 0 })));
    expect(await handle.result()).toMatchObject({ state: 'ready' });
  });

  it('validates a client whose credentials are on file but unverified', async () => {
    const username = await stage.account({ activationDelayMs: 0 });
    const email = 'unverified@example.test';
    const onFile = { dgftUsername: username, dgftPassword: 'old' };
    await stage.worker.deps.api.createCustomer({ name: 'Asha Exports', email, ...onFile });
    const handle = await stage.onboard({ email });
    await stage.until(handle, 'needs_credentials');
    await stage.submit(handle, await stage.secret(username));
    expect(await handle.result()).toMatchObject({ state: 'ready' });
  });

  it('refuses a client that the service no longer has', async () => {
    const credentialsRef = await stage.secret(await stage.account({ activationDelayMs: 0 }), WRONG);
    const handle = await stage.onboard({ email: 'gone@example.test', credentialsRef });
    const { exporterId } = await stage.until(handle, 'needs_credentials');
    (await stage.sandbox.state()).customers.delete(exporterId ?? '');
    await stage.submit(handle, credentialsRef);
    await stage.submit(handle, await stage.secret('portal.user.1')).catch(() => undefined);
    expect(await handle.result()).toMatchObject({ state: 'refused', errors: [{ code: 'customer_not_found' }] });
  });

  it.each(['502-with-code', 'accept-then-drop', 'status-429'] as const)(
    'repeats a check that could not be completed (%s)',
    async (kind) => {
      stage.sandbox.addFault({ operation: 'check-dgft-credentials', kind, times: 3 });
      const credentialsRef = await stage.secret(await stage.account({ activationDelayMs: 0 }));
      const result = await (await stage.onboard({ email: `repeat-${kind}@example.test`, credentialsRef })).result();
      expect(result.state).toBe('ready');
    },
  );

  it('never sends a sixth failing check: the fuse is waited for', async () => {
    const username = await stage.account({ activationDelayMs: 0 });
    const handle = await stage.onboard({
      email: 'fuse@example.test',
      credentialsRef: await stage.secret(username, WRONG),
    });
    const before = calls('check-dgft-credentials').length;
    for (let wrong = 2; wrong <= 5; wrong += 1) {
      await stage.until(handle, 'needs_credentials');
      await stage.submit(handle, await stage.secret(username, `${WRONG}${wrong}`));
    }
    await stage.until(handle, 'needs_credentials');
    await stage.submit(handle, await stage.secret(username));
    expect(await handle.result()).toMatchObject({ state: 'ready' });
    expect(await stage.lasted(handle)).toBeGreaterThanOrEqual(15 * 60_000);
    const since = calls('check-dgft-credentials').slice(before);
    expect(since.filter(({ status }) => status === 429)).toEqual([]);
  });
});

it('takes a submission while another one is being checked: the later one decides', async () => {
  const username = await stage.account({ activationDelayMs: 0 });
  const [wrong, right] = [await stage.secret(username, WRONG), await stage.secret(username)];
  stage.sandbox.addFault({ operation: 'check-dgft-credentials', kind: 'slow', delayMs: 1_000, times: 1 });
  const handle = await stage.onboard({ email: 'quick@example.test', credentialsRef: wrong });
  expect(await stage.submit(handle, right)).toMatchObject({ state: 'started' });
  expect(await handle.result()).toMatchObject({ state: 'ready', irmCount: 2 });
});

it('takes no submission while it waits for the authority', async () => {
  const handle = await stage.onboard({
    email: 'busy@example.test',
    credentialsRef: await stage.secret(await stage.account()),
  });
  await stage.until(handle, 'activation_pending');
  await expect(stage.submit(handle, await stage.secret('portal.user.1'))).rejects.toThrow();
  expect(await handle.query(exporterQuery)).toMatchObject({ state: 'activation_pending' });
  await handle.result();
});

it('continues as new while our own key is refused for days, with the credentials that were handed in', async () => {
  const credentialsRef = await stage.secret(await stage.account({ activationDelayMs: 0 }));
  const [key] = (await stage.sandbox.state()).keys;
  if (!key) throw new Error('the sandbox has no key');
  key.masterAgreementSigned = false;
  const handle = await stage.onboard({ email: 'key-refused@example.test', credentialsRef });
  const first = (await handle.describe()).runId;
  await eventually(async () => (await handle.query(exporterQuery)).message !== null);
  expect(await handle.query(exporterQuery)).toMatchObject({ state: 'started', errors: [{ code: 'forbidden' }] });
  await stage.env.sleep('3 days');
  expect((await handle.describe()).runId).not.toBe(first);
  key.masterAgreementSigned = true;
  expect(await handle.result()).toMatchObject({ state: 'ready', irmCount: 2, errors: [], message: null });
});
