/** Portal credentials, activation and our own access, which fail at any time. */
import { rowStates } from './acts';
import { QUICK_AUTHORITY, useFilingStage } from './use-stage';

const stage = useFilingStage(QUICK_AUTHORITY);

const NEW_PASSWORD = 'New-Horse-2!';

/** Somebody changes the password at the portal. */
async function changePassword(exporter: Parameters<typeof stage.account>[0]): Promise<void> {
  (await stage.account(exporter)).password = NEW_PASSWORD;
}

describe('credentials that are refused', () => {
  it('before a send: nothing is sent, and it goes on with new ones', async () => {
    const exporter = await stage.exporter();
    await changePassword(exporter);
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { attention } = await stage.until(filing, 'needs_credentials');
    expect(attention).toContain('ebrc credentials');
    expect(attention).not.toContain('may have been sent');
    await stage.untilAsleep(filing);
    expect(stage.pushes(exporter)).toBe(0);
    await stage.renewCredentials(exporter, NEW_PASSWORD);
    expect(await filing.result()).toMatchObject({ state: 'certified', attention: null });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('by the send itself: it was not sent, and is sent with new ones', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'password-expired', { newPassword: NEW_PASSWORD });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId, attention } = await stage.until(filing, 'needs_credentials');
    expect(attention).not.toContain('may have been sent');
    expect(await stage.verdicts(filingId)).toEqual(['not_sent']);
    await stage.untilAsleep(filing);
    await stage.renewCredentials(exporter, NEW_PASSWORD);
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(await stage.verdicts(filingId)).toEqual(['not_sent', 'accepted']);
    expect(await stage.requestsOf(exporter)).toHaveLength(1);
  });

  it('while its outcome is unknown: it says first that it may have been sent, and is adopted with new ones', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'accept-then-drop');
    stage.fault(exporter, 'refresh-irms', 'password-expired', { newPassword: NEW_PASSWORD, skip: 1 });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId, attention, asked } = await stage.until(filing, 'needs_credentials');
    expect(attention).toMatch(/^It may have been sent \(attempt 1\)\. .*ebrc credentials/u);
    expect(asked).toBe(false);
    expect(await stage.verdicts(filingId)).toEqual(['unknown']);
    await stage.untilAsleep(filing);
    await stage.renewCredentials(exporter, NEW_PASSWORD);
    await stage.until(filing, 'outcome_unknown');
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(await rowStates(stage, filingId)).toEqual(['certified by details']);
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('while its request is followed: the same, and the record is read with new ones', async () => {
    const exporter = await stage.exporter();
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId } = await stage.until(filing, 'processing');
    await changePassword(exporter);
    const { attention } = await stage.until(filing, 'needs_credentials', 'passing');
    expect(attention).toMatch(/^It may have been sent \(attempt 1\)\. /u);
    await stage.untilAsleep(filing);
    await stage.renewCredentials(exporter, NEW_PASSWORD);
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(await stage.verdicts(filingId)).toEqual(['accepted']);
    expect(stage.pushes(exporter)).toBe(1);
  });
});

it('an activation that is pending is waited for, and nothing is sent before', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'push-irm', 'activation-pending', { times: 1 });
  const result = await (await stage.file(exporter, [stage.mapping(exporter)])).result();
  expect(result).toMatchObject({ state: 'certified', attention: null });
  expect(await stage.verdicts(result.filingId)).toEqual(['not_sent', 'accepted']);
  expect(await stage.requestsOf(exporter)).toHaveLength(1);
});

describe('our own access that is revoked', () => {
  const revoke = (revoked: boolean) => stage.control('POST', '/keys', { key: 'dev_sandbox_key', revoked });
  afterEach(() => revoke(false));

  it('before a send is waited for, and it goes on by itself', async () => {
    const exporter = await stage.exporter();
    const filing = await stage.file(exporter, [stage.mapping(exporter)], { approval: true });
    await stage.until(filing, 'awaiting_approval');
    await stage.pass(1.1);
    await revoke(true);
    for (const by of ['ravi', 'meera']) await stage.decide(filing, 'approve', { by });
    const { attention } = await stage.until(filing, 'needs_access');
    expect(attention).toContain('EBRC_API_KEY');
    expect(stage.pushes(exporter)).toBe(0);
    await revoke(false);
    expect(await filing.result()).toMatchObject({ state: 'certified', attention: null });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('after a send says first that it may have been sent', async () => {
    const exporter = await stage.exporter();
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    await stage.until(filing, 'processing');
    await revoke(true);
    const { attention } = await stage.until(filing, 'needs_access', 'passing');
    expect(attention).toMatch(/^It may have been sent \(attempt 1\)\. /u);
    await revoke(false);
    expect(await filing.result()).toMatchObject({ state: 'certified', attention: null });
    expect(stage.pushes(exporter)).toBe(1);
  });
});
