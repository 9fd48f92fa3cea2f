/** `npm run dev`: all servers on this machine, until Ctrl-C, with the data of the last start or, by `--fresh`, none. */
import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { logLine } from '../src/telemetry/logger';
import { exportsOf, forgetExports, shellQuoted } from './environment';
import { followLog } from './follow-log';
import { startLocal, type Local } from './local';
import { runCommand } from './run-command';

const FOLDER = join(__dirname, '..', '.state', 'dev');

/** The variables of a start, for other terminals. */
const VARIABLES = join(FOLDER, 'env.sh');

const OPTIONS = {
  '--fresh': 'begin without the data of the last start',
  '--short': 'overdue after 30 s and a question after 20 s, with a slow authority, to rehearse these states',
};

const SHOWN = 6;
const FRESH = 'npm run dev -- --fresh';

/** Whether all servers have started: from then on data of an earlier version cannot be what is wrong. */
let running = false;

async function dev(): Promise<void> {
  const unknown = process.argv.slice(2).filter((argument) => !(argument in OPTIONS));
  if (unknown.length > 0) {
    const known = Object.entries(OPTIONS).map(([name, what]) => `  ${name.padEnd(8)} ${what}`);
    process.stderr.write(`There is no option ${unknown.join(' ')}. Options:\n${known.join('\n')}\n`);
    process.exit(2);
  }
  const short = process.argv.includes('--short');
  const keep = !process.argv.includes('--fresh');
  // In a terminal that read the variables of the last start they would name servers that have ended.
  forgetExports(await readFile(VARIABLES, 'utf8').catch(() => ''), process.env);
  const { EBRC_METRICS, EBRC_HEALTH, LOG_LEVEL } = process.env;
  const local = await startLocal({
    folder: FOLDER,
    keep,
    sandbox: { activationDelay: '5s', ackDelay: short ? '60s' : '10s' },
    settings: short ? { EBRC_SETTLE_AFTER: '20s', EBRC_OVERDUE_AFTER: '30s' } : {},
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
  await writeFile(VARIABLES, variablesFile(local), { mode: 0o600 });
  const ui = local.stack.temporal.uiUrl ?? 'none';
  process.stdout.write(
    `\nUI:   ${ui}   HTTP API: ${local.httpApi.url}/docs\n` +
      `Here: . ${shellQuoted(relative(process.cwd(), VARIABLES))}   (in another terminal; it says more; the password is Kaveri@Soft9)\n` +
      `Try:  ebrc onboard --name Kaveri --email accounts@kaveri.example --username kaveri.softworks --wait\n`,
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

/** What another terminal takes, and what a person should know. */
function variablesFile({ stack: { temporal }, httpApi, env, logs }: Local): string {
  const notes = [
    `Temporal UI: ${temporal.uiUrl ?? 'none'}; Temporal's HTTP API: ${temporal.httpUrl ?? 'none'}; logs: ${logs}`,
    'Put `ebrc` on the PATH, once: npm link. Then: ebrc doctor; ebrc irms accounts@kaveri.example',
    `The HTTP API is described at ${httpApi.url}/docs. With the token of a principal that may do all but approve:`,
    `  curl -H 'Authorization: Bearer ${httpApi.token}' ${httpApi.url}/v1/filings`,
    'The portal accounts of the sandbox are in docs/sandbox.md. Ctrl-C of `npm run dev` stops everything; the next start goes on',
    `with its data, \`${FRESH}\` begins anew; \`npm run dev -- --short\` has short waits, to rehearse overdue filings and questions.`,
  ];
  return `${notes.map((note) => `# ${note}\n`).join('')}${exportsOf(env)}\n`;
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
