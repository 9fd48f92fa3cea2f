/** Refreshing remittances; and input that is wrong, of every workflow that callers in any SDK start by name. */
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { randomUUID } from 'node:crypto';
import { customer as customerSchema } from '../../../src/api/schemas/exporters';
import type { RefreshIrmsInput } from '../../../src/domain/contracts';
import type { Finding } from '../../../src/domain/rules/finding';
import { markBad } from '../../../src/ledger/vault/credentials';
import { getExporter, saveExporter } from '../../../src/ledger/exporters/exporters';
import { listIrms } from '../../../src/ledger/exporters/irms';
import type { refreshIrms } from '../../../src/workflows/refresh-irms';
import { eventually } from '../../support/processes';
import { HOUR_MS, useOnboardStage } from './onboard-stage';

const stage = useOnboardStage();

function refresh(input: Partial<RefreshIrmsInput> = {}) {
  return stage.env.client.workflow.execute<typeof refreshIrms>('refreshIrms', {
    taskQueue: stage.worker.taskQueue,
    workflowId: randomUUID(),
    args: [{ mode: 'test', ...input }],
  });
}

async function ready(email: string) {
  const username = await stage.account({ activationDelayMs: 0 });
  const { exporterId } = await (await stage.onboard({ email, credentialsRef: await stage.secret(username) })).result();
  return { username, exporterId: exporterId ?? '' };
}

it('refreshes one exporter live and keeps what changed', async () => {
  const { username, exporterId } = await ready('one@example.test');
  const before = await getExporter(stage.ledger.pool, exporterId);
  const account = (await stage.sandbox.state()).accounts.find((each) => each.username === username);
  const [used, cancelled] = account?.irms ?? [];
  if (used && cancelled) {
    used.available = String(Number(used.available) - 100);
    cancelled.irmStatus = 'cancelled';
  }
  expect(await refresh({ exporterId })).toEqual({ exporters: 1, refreshed: 1, irmCount: 2, skipped: [] });
  const { pool } = stage.ledger;
  const { rows } = await pool.query<{ what: string }>(
    'SELECT what FROM irm_changes WHERE exporter_id = $1 ORDER BY change_id',
    [exporterId],
  );
  expect(rows.map(({ what }) => what).sort()).toEqual(['balance', 'cancelled', 'first_seen', 'first_seen']);
  const after = await getExporter(pool, exporterId);
  expect(after?.irmsRefreshedAt?.getTime()).toBeGreaterThan(before?.irmsRefreshedAt?.getTime() ?? 0);
  const [irm] = await listIrms(pool, exporterId);
  expect(irm?.readAt).toEqual(after?.irmsRefreshedAt);
});

it('refreshes every exporter that is ready, and reports why it skips the others', async () => {
  const { pool } = stage.ledger;
  const bad = await ready('bad@example.test');
  await markBad(pool, bad.exporterId, 1, 'account_locked');
  const dead = await ready('dead@example.test');
  const account = (await stage.sandbox.state()).accounts.find((each) => each.username === dead.username);
  if (account) account.password = 'Changed-At-Portal-7';
  const created = await stage.worker.deps.api.createCustomer({ name: 'New', email: 'new@example.test' });
  await saveExporter(pool, created, 'test', new Date());
  const result = await refresh();
  expect(result).toMatchObject({ exporters: 4, refreshed: 1, irmCount: 2 });
  const reasons = Object.fromEntries(result.skipped.map(({ exporterId, reason }) => [exporterId, reason]));
  expect(reasons[bad.exporterId]).toMatch(/bad \(account_locked\)/u);
  expect(reasons[dead.exporterId]).toMatch(/^credentials_invalid/u);
  expect(reasons[created.id]).toMatch(/never validated/u);
});

it('skips an exporter whose call was lost with its worker, again and again', async () => {
  const { exporterId } = await ready('lost@example.test');
  stage.sandbox.addFault({
    operation: 'refresh-irms',
    kind: 'slow',
    delayMs: 20_000,
    match: { platformCustomerId: exporterId },
  });
  const { client } = stage.env;
  const options = { taskQueue: stage.worker.taskQueue, workflowId: randomUUID() };
  const handle = await client.workflow.start('refreshIrms', { ...options, args: [{ mode: 'test', exporterId }] });
  const lose = async () => {
    const { events } = await handle.fetchHistory();
    const scheduled = events?.flatMap((event) => event.activityTaskScheduledEventAttributes ?? []).at(-1);
    if (scheduled?.activityType?.name !== 'readCompany') return false;
    const { activityId } = scheduled;
    await client.activity.fail(
      { workflowId: handle.workflowId, activityId: activityId ?? '' },
      ApplicationFailure.nonRetryable('lost'),
    );
    return true;
  };
  await eventually(() => lose().catch(() => false));
  expect(await handle.result()).toMatchObject({ refreshed: 0, skipped: [{ exporterId, reason: 'failed: lost' }] });
});

describe('what is no input ends the workflow, and is not repeated for ever:', () => {
  const exporterId = randomUUID();

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

  it('onboardExporter says what its update submitCredentials takes, and where it brings nothing', async () => {
    const [workflow, update] = ['onboardExporter', 'submitCredentials'];
    const waits = { mode: 'test', name: 'Asha', email: `${randomUUID()}@asha.example` };
    const options = { taskQueue: stage.worker.taskQueue, workflowId: randomUUID(), args: [waits] };
    const handle = await stage.env.client.workflow.start(workflow, options);
    const refusalOf = async (args: unknown[]) => {
      const asked = handle.executeUpdate(update, { args: args as [unknown] });
      const { cause } = (await asked.catch((error: unknown) => error)) as Error;
      const { type, details } = cause as ApplicationFailure;
      const [{ code, errors }] = details as [{ code: string; errors: Finding[] }];
      const codes = new Set(errors.map((error) => error.code));
      expect([type, code, ...codes]).toEqual(['refused', 'refused', 'invalid_input']);
      return errors.map(({ field }) => field);
    };
    for (const nothing of [[], [null]]) expect(await refusalOf(nothing)).toEqual([null]);
    expect(await refusalOf([{ credentialsRef: 'hunter2', by: 'asha' }])).toEqual(['credentialsRef']);
    await handle.terminate();
  });

  it.each<[string, object, RegExp]>([
    ['an empty id, which would mean every exporter', { mode: 'test', exporterId: '' }, /^exporterId: /u],
    ['an id that is no text', { mode: 'test', exporterId: 5 }, /^exporterId: is a number; allowed: a text$/u],
    ['no mode', { exporterId }, /^mode: is missing; allowed: test, live$/u],
    ['a property that nobody knows', { mode: 'test', exporter: exporterId }, /input: there is no field exporter$/u],
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
    // PostgreSQL takes no NUL, however often it is asked to.
    for (const madeBy of [long.madeBy, 'NUL \0'])
      expect(await run('fileRemittances', [{ ...long, madeBy }])).toMatchObject({
        state: 'refused',
        errors: [{ field: 'madeBy' }],
      });
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
});

it('continues in a new run before its history is long', async () => {
  const { pool } = stage.ledger;
  const now = new Date(await stage.env.currentTimeMs());
  const later = new Date(now.getTime() + 100 * HOUR_MS);
  for (let index = 0; index < 230; index += 1) {
    const dgftApiStatus = { state: 'activation_pending', activatesAt: later.toISOString() };
    const known = { name: `Many ${index}`, email: `many-${index}@example.test`, isActive: true, dgftApiStatus };
    const customer = customerSchema.parse({ id: randomUUID(), hasDgftCredentials: true, ...known });
    await saveExporter(pool, customer, 'test', now);
  }
  const workflowId = randomUUID();
  const result = await stage.env.client.workflow.execute<typeof refreshIrms>('refreshIrms', {
    taskQueue: stage.worker.taskQueue,
    workflowId,
    args: [{ mode: 'test' }],
  });
  expect(result.exporters).toBe(result.refreshed + result.skipped.length);
  expect(result.skipped.filter(({ reason }) => reason.includes('opens at'))).toHaveLength(230);
  const { length } = (await stage.env.client.workflow.getHandle(workflowId).fetchHistory()).events ?? [];
  expect(length).toBeLessThan(2_000);
});

it('refuses a mode that is not the key’s', async () => {
  await expect(refresh({ mode: 'live' })).rejects.toMatchObject({ cause: { type: 'wrong_mode' } });
});
