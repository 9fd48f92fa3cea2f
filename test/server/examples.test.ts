/** The programs of examples/ do what their README says, each whose tools are on this machine, against real servers. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { relayEvents } from '../../src/ledger/events';
import { deliverWebhooks } from '../../src/worker/webhooks/deliver';
import { createWebhookSender } from '../../src/worker/webhooks/send';
import { closeAfterAll } from '../support/closing';
import { cleanEnvironment } from '../support/command-line';
import { testFolder } from '../support/folder';
import { onboard, useDoorStage } from './door-stage';

const run = promisify(execFile);
const ROOT = join(__dirname, '..', '..');
const folder = testFolder();
let token = '';

const stage = useDoorStage(async (opened) => {
  const { pool, vault, logger } = opened.worker.deps;
  const stopped = new AbortController();
  const sender = createWebhookSender({ hosts: ['127.0.0.1'] });
  await vault.publish(pool, 'test');
  const running = [
    relayEvents(pool, stopped.signal),
    deliverWebhooks({ pool, mode: 'test', vault, sender, logger }, stopped.signal),
  ];
  closeAfterAll(async () => {
    stopped.abort();
    await Promise.all(running);
    await sender.close();
  });
  await onboard(opened);
  token = await opened.principal(['maker', 'admin'], { name: 'back office' });
});

const PROGRAMS = [
  { file: 'back-office.sh', tools: ['curl', 'openssl'], command: ['bash'] },
  { file: 'back_office.py', tools: ['python3'], command: ['python3'] },
  { file: 'back_office.go', tools: ['go'], command: ['go', 'run'] },
  { file: 'BackOffice.java', tools: ['java'], command: ['java'] },
  {
    file: 'back-office.ts',
    tools: ['node'],
    command: [process.execPath, '-r', join(ROOT, 'scripts', 'typescript.cjs')],
  },
];

const has = (tool: string) =>
  (process.env['PATH'] ?? '').split(':').some((part) => part !== '' && existsSync(join(part, tool)));

const DOES = [
  /^filed 201/mu,
  /^ended partly_certified/mu,
  /^certified \S.* rejected .*ERR36/mu,
  /^saved \S+\.pdf/mu,
  /^corrected 201 certified/mu,
  /^reference_taken mapping_held/mu,
  /^workbook 201 certified/mu,
  /^webhook delivered/mu,
];

it.each(PROGRAMS)('$file does what a back office does', async ({ file, tools, command: [command = '', ...args] }) => {
  const missing = tools.filter((tool) => !has(tool));
  if (missing.length > 0) {
    process.stderr.write(`${file} was not run: ${missing.join(', ')} is missing.\n`);
    return;
  }
  const ref = `EX-${file.replace(/\W/gu, '').slice(-7).toUpperCase()}`;
  const env = {
    ...cleanEnvironment({ EBRC: stage.url, TOKEN: token, SANDBOX: stage.sandbox.controlUrl, REF: ref }),
    GOCACHE: join(folder, 'go-cache'),
  };
  const { stdout } = await run(command, [...args, join(ROOT, 'examples', file)], { cwd: folder, env });
  for (const does of DOES) expect(stdout).toMatch(does);
  expect(readFileSync(join(folder, `${ref}.pdf`), 'latin1')).toMatch(/^%PDF-/u);
});

it('has a line of the README for each program', () => {
  const readme = readFileSync(join(ROOT, 'examples', 'README.md'), 'utf8');
  const programs = readdirSync(join(ROOT, 'examples')).filter((name) => /\.(sh|py|go|java|ts)$/u.test(name));
  expect(programs.sort()).toEqual(PROGRAMS.map(({ file }) => file).sort());
  for (const file of programs) expect(readme).toContain(`examples/${file}`);
});
