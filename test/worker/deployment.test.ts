/** A change of the worker version while an onboarding is under way: it goes on on the new one. */
import { join } from 'node:path';
import type { CheckResult } from '../../src/starter/doctor/doctor';
import type { KeptProcess } from '../../dev/kept-process';
import { startProgram } from '../../dev/program';
import { builtPackage } from '../support/built-package';
import { cleanEnvironment, ebrc } from '../support/command-line';
import { closeAfterAll } from '../support/closing';
import { testFolder } from '../support/folder';
import { useTestDatabase } from '../support/postgres';
import { useSandbox } from '../support/sandbox';
import { eventually } from '../support/processes';
import { useDevServer } from '../support/temporal';

const folder = testFolder();
const temporal = useDevServer();
const database = useTestDatabase();
// The onboarding has to be open still when a busy machine has come to look at it.
const sandbox = useSandbox({ activationDelayMs: 40_000 });
let env: Record<string, string>;
const workers: KeptProcess[] = [];

beforeAll(() => {
  env = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    EBRC_API_URL: sandbox.url,
    EBRC_API_KEY: 'dev_sandbox_key',
    EBRC_DOCUMENTS: join(folder, 'documents'),
    EBRC_HTTP_TIMEOUT: '1s',
    EBRC_DEPLOYMENT: 'ebrc-test',
  };
}, 300_000);

closeAfterAll(() => Promise.all(workers.map((worker) => worker.stop())));

async function start(buildId: string): Promise<KeptProcess> {
  const worker = await startProgram({
    name: `The worker ${buildId}`,
    command: process.execPath,
    args: [(await builtPackage()).worker],
    log: join(folder, `${buildId}.log`),
    env: cleanEnvironment({ ...env, EBRC_BUILD_ID: buildId }),
    stopWithinMs: 60_000,
  });
  workers.push(worker);
  return worker;
}

async function makeCurrent(buildId: string): Promise<unknown> {
  let versions: unknown;
  // The version is there once its worker has polled every queue.
  await eventually(async () => {
    const { code, json } = await ebrc(['deploy', 'current', '--build-id', buildId, '--json'], { env });
    if (code === 0) versions = json();
    return code === 0;
  });
  return versions;
}

const versionOfDoctor = async () => {
  const { json } = await ebrc(['doctor', '--json'], { env });
  return json<CheckResult[]>().find(({ check }) => check === 'version');
};

it('refuses a version that no worker has, and a configuration with half of it', async () => {
  const unknown = await ebrc(['deploy', 'current', '--build-id', 'nobody'], { env });
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('has polled yet')]);
  const unnamed = await ebrc(['deploy', 'status'], { env: { ...env, EBRC_DEPLOYMENT: '' } });
  expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining('EBRC_DEPLOYMENT')]);
});

it('moves an open workflow to the new version', async () => {
  const first = await start('one');
  expect(await makeCurrent('one')).toMatchObject([{ buildId: 'one', current: true, state: 'current' }]);
  const onboarding = await ebrc(
    [
      ...['onboard', '--name', 'Kaveri Softworks', '--email', 'accounts@kaveri.example', '--iec', 'AAKCK7719P'],
      ...['--username', 'kaveri.softworks', '--password-stdin', '--json'],
    ],
    { env, input: 'Kaveri@Soft9' },
  );
  expect([onboarding.code, onboarding.stderr]).toEqual([0, onboarding.stderr]);
  const program = (await builtPackage()).commandLine;
  // The server lists a run a moment after its start.
  await eventually(async () => {
    const { json: checked, code: sound } = await ebrc(['deploy', 'check', '--json'], { env, program });
    expect([sound, checked<{ failed: [] }>().failed]).toEqual([0, []]);
    return checked<{ replayed: number }>().replayed === 1;
  });
  await start('two');
  expect(await makeCurrent('two')).toMatchObject([
    { buildId: 'one', current: false },
    { buildId: 'two', current: true },
  ]);
  await first.stop();
  await eventually(async () => {
    const { json } = await ebrc(['exporters', '--json'], { env });
    return json<{ state?: string; readiness?: string }[]>().some((each) => JSON.stringify(each).includes('"ready"'));
  }, 120_000);
  const { json } = await ebrc(['deploy', 'status', '--json'], { env });
  expect(json<{ current: boolean }[]>().filter(({ current }) => current)).toMatchObject([{ buildId: 'two' }]);
  expect(await versionOfDoctor()).toMatchObject({ ok: true, message: 'two is current, and has a worker' });
});

it('goes back to workers without a version, and says that those with one get no work', async () => {
  const { code, json } = await ebrc(['deploy', 'unset', '--json'], { env });
  expect([code, json<{ current: boolean }[]>().filter(({ current }) => current)]).toEqual([0, []]);
  expect(await versionOfDoctor()).toMatchObject({
    ok: false,
    message: expect.stringMatching(/no version is current.*(one|two)/u) as string,
  });
});
