/** `npm run demo`: the main process from end to end on this machine; then everything is stopped. */
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { demoInvoice, demoMessage, type DemoIrm } from './demo-message';
import { shellQuoted } from './environment';
import { startLocal, type Local } from './local';
import { runCommand } from './run-command';

const FOLDER = join(__dirname, '..', '.state', 'demo');
const EXPORTER = 'accounts@kaveri.example';
/** One of the sandbox's portal accounts (docs/sandbox.md); not a real one. */
const ACCOUNT = { username: 'kaveri.softworks', password: 'Kaveri@Soft9', iec: 'AAKCK7719P' };
const ACTIVATION = '5s';
const ACKNOWLEDGEMENT = '10s';
/** How long evidence of a lost answer is gathered before a person is asked; four hours otherwise. */
const SETTLE = '15s';
/** The exit code of a command that waits for a person. */
const ASKS = 4;

interface Step {
  title: string;
  args: string[];
  input?: string;
  mayExit?: readonly number[];
}

interface Certificate {
  eBRCNumber: string;
  document: string | null;
}

async function demo(): Promise<void> {
  const began = Date.now();
  const local = await startLocal({
    folder: FOLDER,
    keep: false,
    sandbox: { activationDelay: ACTIVATION, ackDelay: ACKNOWLEDGEMENT },
    settings: { EBRC_SETTLE_AFTER: SETTLE },
    log: say,
  });
  const stopEarly = () => void local.stop().then(() => process.exit(130));
  process.once('SIGINT', stopEarly).once('SIGTERM', stopEarly);
  try {
    say(`everything is running after ${seconds(began)} s`);
    process.stdout.write(
      `\n  While it runs, look here:\n` +
        `  Temporal UI: ${local.stack.temporal.uiUrl ?? 'none'}  (each workflow's page tells its story: summary, details, timeline)\n` +
        `  HTTP API:    ${local.httpApi.url}/docs  (token: ${local.httpApi.token})\n` +
        `  Logs:        ${local.logs}\n`,
    );
    await Promise.race([mainJob(local), local.failed]);
    await checkPdfs(local);
    process.stdout.write(
      `\nDone in ${seconds(began)} s. The Temporal UI has stopped too; \`npm run dev\` starts the same servers and keeps them running.\n`,
    );
  } finally {
    say('stopping the HTTP API, the worker, the sandbox, Temporal and PostgreSQL …');
    await local.stop();
  }
}

/** The steps of a user, with the commands of a user. */
async function mainJob(local: Local): Promise<void> {
  const env = { ...local.childEnv, LOG_LEVEL: 'silent' };
  const show = showing(env);
  await show({
    title: `Onboard an exporter: create it, log in at the portal, wait ${ACTIVATION} for access, read its remittances`,
    args: [
      ...['onboard', '--name', 'Kaveri Softworks', '--email', EXPORTER, '--iec', ACCOUNT.iec],
      ...['--username', ACCOUNT.username, '--password-stdin', '--wait'],
    ],
    input: ACCOUNT.password,
  });
  await show({ title: 'Its inward remittances, and their available balances', args: ['irms', EXPORTER] });

  const irms = JSON.parse(await runCommand(['irms', EXPORTER, '--json'], { env, capture: true })) as DemoIrm[];
  const file = join(FOLDER, 'remittances.json');
  await mkdir(FOLDER, { recursive: true });
  await writeFile(file, `${JSON.stringify(demoMessage(irms), null, 2)}\n`);

  await show({
    title: `File three mappings: check, push, poll until the acknowledgement (${ACKNOWLEDGEMENT}), fetch the certificates`,
    args: ['file', file, '--exporter', EXPORTER, '--reference', 'DEMO-1', '--wait'],
  });
  await show({
    title: 'The same file again: nothing is filed twice',
    args: ['file', file, '--exporter', EXPORTER, '--reference', 'DEMO-1', '--wait'],
  });
  await fileOverHttp(local, irms);
  await loseAnAnswer(local, irms);
  await show({
    title: 'The certificates, with the paths of their PDFs',
    args: ['certificates', '--exporter', EXPORTER],
  });
}

/** Shows a command of a user, and what it prints. */
const showing =
  (env: Local['childEnv']) =>
  ({ title, args, input, mayExit }: Step) => {
    process.stdout.write(`\n── ${title}\n$ ebrc ${args.map(quoted).join(' ')}\n`);
    return runCommand(args, { env, input, mayExit });
  };

/** The one thing that a machine must not guess: whether something was filed whose answer was lost. */
async function loseAnAnswer(local: Local, irms: readonly DemoIrm[]): Promise<void> {
  const show = showing({ ...local.childEnv, LOG_LEVEL: 'silent' });
  const control = new URL('/__sandbox/faults', local.sandboxUrl);
  const fault = { operation: 'push-irm', kind: 'drop-before-accept', times: 1 };
  const headers = { 'content-type': 'application/json' };
  const added = await fetch(control, { method: 'POST', headers, body: JSON.stringify(fault) });
  if (!added.ok) throw new Error(`The sandbox took no fault: ${added.status}.`);
  const file = join(FOLDER, 'lost.json');
  await writeFile(file, `${JSON.stringify(demoInvoice(irms, 'KVR/2026/120'), null, 2)}\n`);
  await show({
    title: `The next answer is lost on purpose. Nothing is sent again on a guess: for ${SETTLE} (4 hours in production) evidence is gathered, then a person is asked`,
    args: ['file', file, '--exporter', EXPORTER, '--reference', 'DEMO-LOST', '--wait'],
    mayExit: [ASKS],
  });
  await readSince(local);
  await show({
    title:
      'The evidence: no new certificate, and no balance fell by more than the filings above. So one person may say: not filed',
    args: ['show', 'DEMO-LOST'],
  });
  await show({
    title: 'The person has looked at the portal. It is not there: it goes out once more, and is certified',
    args: ['resolve', 'DEMO-LOST', '--as', 'not-filed', '--note', 'not on the portal', '--wait'],
  });
}

/** Waits until certificates and balances were read since the settle time was over: only that proves an absence. */
async function readSince(local: Local): Promise<void> {
  const env = { ...local.childEnv, LOG_LEVEL: 'silent' };
  for (let tries = 0; tries < 60; tries += 1) {
    const shown = JSON.parse(await runCommand(['show', 'DEMO-LOST', '--json'], { env, capture: true })) as Shown;
    if (shown.evidence?.names.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  throw new Error('No reading ended since the settle time was over.');
}

interface Shown {
  evidence: { names: string[] } | null;
}

/** One invoice more, as a program in any language files it. */
async function fileOverHttp({ httpApi: { url, token } }: Local, irms: readonly DemoIrm[]): Promise<void> {
  process.stdout.write(
    `\n── The same over HTTP, as a back office in any language does it\n` +
      `$ curl -X POST ${url}/v1/filings -H 'Authorization: Bearer ${token}' \\\n` +
      `    -H 'Content-Type: application/json' -H 'Prefer: wait=60' -d '{"exporter": "${EXPORTER}", "reference": "DEMO-HTTP", "message": {…}}'\n`,
  );
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', prefer: 'wait=60' };
  const body = JSON.stringify({ exporter: EXPORTER, reference: 'DEMO-HTTP', message: demoInvoice(irms) });
  const answer = await fetch(`${url}/v1/filings`, { method: 'POST', headers, body });
  const filing = (await answer.json()) as { state?: string; stateText?: string; detail?: string };
  process.stdout.write(`${answer.status} ${filing.state ?? ''}: ${filing.stateText ?? filing.detail ?? ''}\n`);
  if (answer.status !== 201 || filing.state !== 'certified') throw new Error('Filing over HTTP did not end in time.');
}

/** The demonstration fails if a PDF is missing. */
async function checkPdfs(local: Local): Promise<void> {
  const env = { ...local.childEnv, LOG_LEVEL: 'silent' };
  const listed = await runCommand(['certificates', '--exporter', EXPORTER, '--json'], { env, capture: true });
  const certificates = JSON.parse(listed) as Certificate[];
  for (const { eBRCNumber, document } of certificates) {
    const size = document === null ? 0 : (await stat(document)).size;
    if (size === 0) throw new Error(`The PDF of certificate ${eBRCNumber} is missing.`);
  }
  if (certificates.length === 0) throw new Error('There is no certificate.');
}

function say(message: string): void {
  process.stdout.write(`• ${message}\n`);
}

function seconds(since: number): string {
  return ((Date.now() - since) / 1_000).toFixed(1);
}

function quoted(argument: string): string {
  return /^[\w@.:/-]+$/.test(argument) ? argument : shellQuoted(argument);
}

demo().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(
      `\nThe demo failed: ${error instanceof Error ? error.message : String(error)}\nLogs: ${FOLDER}\n`,
    );
    process.exit(1);
  },
);
