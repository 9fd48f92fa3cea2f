/** `npm run dev`: all servers on this machine, until Ctrl-C, with the data of the last start or, by `--fresh`, none. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { logLine } from '../src/telemetry/logger';
import { exportsOf, forgetExports, shellQuoted } from './environment';
import { followLog } from './follow-log';
import { startLocal } from './local';
import { runCommand } from './run-command';

const FOLDER = join(__dirname, '..', '.state', 'dev');

/** The variables of a start, for other terminals. */
const VARIABLES = join(FOLDER, 'env.sh');

const SHOWN = 6;
const FRESH = 'npm run dev -- --fresh';

/** Whether all servers have started: from then on data of an earlier version cannot be what is wrong. */
let running = false;

async function dev(): Promise<void> {
  const unknown = process.argv.slice(2).filter((argument) => argument !== '--fresh');
  if (unknown.length > 0) {
    process.stderr.write(
      `There is no option ${unknown.join(' ')}, only --fresh, which begins without the data of the last start.\n`,
    );
    process.exit(2);
  }
  const keep = !process.argv.includes('--fresh');
  // In a terminal that read the variables of the last start they would name servers that have ended.
  forgetExports(await readFile(VARIABLES, 'utf8').catch(() => ''), process.env);
  const { EBRC_METRICS, EBRC_HEALTH, LOG_LEVEL } = process.env;
  const local = await startLocal({
    folder: FOLDER,
    keep,
    sandbox: { activationDelay: '5s', ackDelay: '10s' },
    // They concern this terminal's worker alone.
    workerEnv: Object.fromEntries(
      Object.entries({ EBRC_METRICS, EBRC_HEALTH, LOG_LEVEL }).filter(([, value]) => value),
    ),
    log: (message) => process.stdout.write(`• ${message}\n`),
  });
  const stopped = new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve());
  });
  // So that `ebrc doctor` finds nothing missing.
  await runCommand(['schedules', 'apply', '--json'], { env: local.childEnv, capture: true });
  const exports = exportsOf(local.env);
  await writeFile(VARIABLES, `${exports}\n`, { mode: 0o600 });
  process.stdout.write(
    `\nEverything is running. Temporal UI: ${local.stack.temporal.uiUrl ?? 'none'}; its HTTP API: ${local.stack.temporal.httpUrl ?? 'none'}; logs: ${local.logs}\n\n` +
      `In another terminal (\`npm link\` in this folder puts \`ebrc\` on the PATH, once):\n\n  . ${shellQuoted(VARIABLES)}\n\n` +
      `which is\n\n${exports}\n\n` +
      `  ebrc doctor\n` +
      `  ebrc onboard --name Kaveri --email accounts@kaveri.example --username kaveri.softworks --wait   # Kaveri@Soft9\n` +
      `  ebrc irms accounts@kaveri.example\n\n` +
      `The HTTP API is at ${local.door.url}/v1 (described at ${local.door.url}/docs), with this principal's token:\n\n` +
      `  curl -H 'Authorization: Bearer ${local.door.token}' ${local.door.url}/v1/filings\n\n` +
      `The portal accounts of the sandbox are in docs/sandbox.md. Ctrl-C stops everything; the next start goes on with its\n` +
      `data, \`${FRESH}\` begins anew. What the worker does:\n\n`,
  );
  running = true;
  const log = await followLog(join(FOLDER, 'worker.log'), (line) => process.stdout.write(`${logLine(line)}\n`));
  try {
    await Promise.race([stopped, local.failed]);
  } finally {
    log.stop();
    process.stdout.write('\n• stopping the HTTP API, the worker, the sandbox, Temporal and PostgreSQL …\n');
    await local.stop();
  }
}

dev().then(
  () => process.exit(0),
  (error: unknown) => {
    // It begins with what ended, and may go on with the end of a log.
    const [what = '', ...log] = (error instanceof Error ? error.message : String(error)).trim().split('\n');
    const shown = [`The stack failed: ${what}`, ...log.slice(-SHOWN).map(logLine), `Logs: ${FOLDER}`];
    const next = running
      ? 'Nothing is lost: `npm run dev` goes on with its data.'
      : `If the data of an earlier version are in the way: ${FRESH}`;
    process.stderr.write(`\n${shown.join('\n')}\n${next}\n`);
    process.exit(1);
  },
);
