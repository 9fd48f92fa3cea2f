/**
 * `npm run fuzz [-- SECONDS]`: Schemathesis reads /v1/openapi.json of a running HTTP API and sends what it allows and
 * what it does not: no answer may be a 5xx, or outside its description. Without Python it is skipped.
 */
import { spawn } from 'node:child_process';
import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { demoMessage, type DemoIrm } from './demo-message';
import { startLocal, type Local } from './local';
import { runCommand } from './run-command';

const SCHEMATHESIS = 'schemathesis==4.32.5';
const STATE = join(__dirname, '..', '.state');
const VENV = join(STATE, SCHEMATHESIS.replace('==', '-'));
const FOLDER = join(STATE, 'fuzz');
const EXPORTER = 'accounts@kaveri.example';
const REFERENCE = 'FUZZ/1';
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
];

const say = (text: string) => process.stdout.write(`• ${text}\n`);

/** @returns its exit code */
function run(command: string, args: readonly string[], cwd?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
    child.once('error', reject).once('close', (code) => resolve(code ?? 1));
  });
}

/** The installed program; null, with the reason said, where it cannot be installed. */
async function schemathesis(): Promise<string | null> {
  const program = join(VENV, 'bin', 'schemathesis');
  if (
    await access(program).then(
      () => true,
      () => false,
    )
  )
    return program;
  const made = await run('python3', ['-m', 'venv', VENV]).catch(() => null);
  if (made !== 0) {
    say('skipped: it needs Python 3.10 or newer, with venv, as python3');
    return null;
  }
  const installed = await run(join(VENV, 'bin', 'pip'), [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    SCHEMATHESIS,
  ]);
  if (installed === 0) return program;
  say(`skipped: ${SCHEMATHESIS} cannot be installed from PyPI`);
  return null;
}

/** An exporter and a filing, so that requests get further than to what does not exist. */
async function prepare({ childEnv }: Local): Promise<{ token: string; number: string }> {
  const env = { ...childEnv, LOG_LEVEL: 'silent' };
  const ebrc = (args: string[], input?: string) => runCommand([...args, '--json'], { env, input, capture: true });
  const account = ['--username', 'kaveri.softworks', '--password-stdin', '--wait'];
  await ebrc(['onboard', '--name', 'Kaveri', '--email', EXPORTER, '--iec', 'AAKCK7719P', ...account], 'Kaveri@Soft9');
  const irms = JSON.parse(await ebrc(['irms', EXPORTER])) as DemoIrm[];
  const file = join(FOLDER, 'remittances.json');
  await writeFile(file, JSON.stringify(demoMessage(irms)));
  await ebrc(['file', file, '--exporter', EXPORTER, '--reference', REFERENCE, '--wait']);
  const roles = ['viewer', 'maker', 'checker', 'admin'].flatMap((role) => ['--role', role]);
  const { token } = JSON.parse(await ebrc(['principals', 'add', 'fuzzer', ...roles])) as { token: string };
  const [certificate] = JSON.parse(await ebrc(['certificates'])) as { eBRCNumber: string }[];
  return { token, number: certificate?.eBRCNumber ?? '' };
}

async function fuzz(seconds: number): Promise<number> {
  const program = await schemathesis();
  if (program === null) return 0;
  const sandbox = { activationDelay: '1s', ackDelay: '2s' };
  const local = await startLocal({ folder: FOLDER, keep: false, sandbox, log: say });
  try {
    const { token, number } = await prepare(local);
    const args = [
      ...[
        'run',
        `${local.door.url}/v1/openapi.json`,
        '--header',
        `Authorization: Bearer ${token}`,
        '--checks',
        CHECKS.join(','),
      ],
      ...['--phases', 'coverage,fuzzing', '--max-time', String(Math.ceil(seconds / 2)), '--continue-on-failure'],
      ...['--suppress-health-check', 'all', '--no-color', '--request-timeout', '110'],
    ];
    // Half of the time for any names, and half for those that exist.
    const known = `[parameters]\nexporter = "${EXPORTER}"\nfiling = "${REFERENCE}"\nnumber = "${number}"\n`;
    await Promise.all([writeFile(join(FOLDER, 'any.toml'), ''), writeFile(join(FOLDER, 'known.toml'), known)]);
    const codes = [];
    for (const config of ['known.toml', 'any.toml']) {
      codes.push(
        await Promise.race([run(program, ['--config-file', join(FOLDER, config), ...args], FOLDER), local.failed]),
      );
    }
    return codes.every((code) => code === 0) ? 0 : 1;
  } finally {
    await local.stop();
  }
}

fuzz(Number(process.argv[2] ?? 60)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
