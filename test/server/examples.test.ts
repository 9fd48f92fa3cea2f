/** The programs of examples/ do what their README says, each whose tools are on this machine, against real servers. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../dev/free-port';
import { relayEvents } from '../../src/ledger/events';
import { deliverWebhooks } from '../../src/worker/webhooks/deliver';
import { createWebhookSender } from '../../src/worker/webhooks/send';
import { closeAfterAll } from '../support/closing';
import { cleanEnvironment } from '../support/command-line';
import { testFolder } from '../support/folder';
import { eventually } from '../support/processes';
import { messageOf, onboard, useHttpStage } from './http-stage';

const run = promisify(execFile);
const ROOT = join(__dirname, '..', '..');
const folder = testFolder();
let token = '';

const stage = useHttpStage(async (opened) => {
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
  const env = cleanEnvironment({ EBRC: stage.url, TOKEN: token, SANDBOX: stage.sandbox.controlUrl, REF: ref });
  const { stdout } = await run(command, [...args, join(ROOT, 'examples', file)], { cwd: folder, env });
  for (const does of DOES) expect(stdout).toMatch(does);
  expect(readFileSync(join(folder, `${ref}.pdf`), 'latin1')).toMatch(/^%PDF-/u);
});

const imports = (...modules: string[]) =>
  run('python3', ['-c', `import ${modules.join(', ')}`]).then(
    () => true,
    () => false,
  );

it('python-temporal.py files once, however often it starts, and says so of other content', async () => {
  if (!(await imports('temporalio', 'cryptography'))) {
    process.stderr.write('python-temporal.py was not run: python3 has no temporalio, or no cryptography.\n');
    return;
  }
  const program = join(ROOT, 'examples', 'python-temporal.py');
  const env = cleanEnvironment({
    TEMPORAL_ADDRESS: stage.temporal.address,
    TEMPORAL_NAMESPACE: stage.temporal.namespace,
    EBRC_TASK_QUEUE: stage.worker.taskQueue,
    REF: 'EX-TEMPORAL',
  });
  const { stdout } = await run('python3', [program], { env });
  expect(stdout).toMatch(/^ended certified F\w+ \['\S+'\]$/mu);
  expect(stdout).toMatch(/^again certified filed once \S+$/mu);
  expect(stdout).toMatch(/^other content refused \['reference_taken'\] F\w+$/mu);
  const { rows } = await stage.ledger.pool.query(`SELECT count(*)::int FROM filings WHERE reference = 'EX-TEMPORAL'`);
  expect(rows).toEqual([{ count: 1 }]);
  const { stdout: opened } = await run('python3', ['-c', OPENS_THE_EXAMPLE, program, join(ROOT, 'schemas')], { env });
  expect(opened.trim()).toBe('{"reference":"JULY"} True');
});

/** Decrypts the payload of the documentation, and one that the program itself encrypted. */
const OPENS_THE_EXAMPLE = `
import base64, importlib.util, json, pathlib, sys
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("program", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
example = json.loads(pathlib.Path(sys.argv[2], "payload-codec.example.json").read_text())
codec = program.Codec(example["payloadKey"])
of = example["encoded"]
metadata = {name: base64.b64decode(value) for name, value in of["metadata"].items()}
opened = codec.decrypted(program.Payload(metadata=metadata, data=base64.b64decode(of["data"])))
print(opened.data.decode(), codec.decrypted(codec.encrypted(opened)) == opened)
`;

it('the receiver of erpnext/ brings number and PDF to a payment while its secret is rotated', async () => {
  if (!has('python3')) {
    process.stderr.write('The receiver of erpnext/ was not run: python3 is missing.\n');
    return;
  }
  const port = await freePort();
  const added = await stage.ask<{ webhookId: string; secret: string }>('POST', '/v1/webhooks', {
    json: { url: `http://127.0.0.1:${port}/` },
  });
  const env = {
    ...cleanEnvironment({ EBRC: stage.url, TOKEN: token, PORT: String(port), FOLDER: join(folder, 'books') }),
    ...{ WEBHOOK_SECRETS: added.body.secret, PREFIX: 'PAY/', PYTHONDONTWRITEBYTECODE: '1' },
  };
  const receiver = spawn('python3', ['-um', 'ebrc.receiver'], { cwd: join(ROOT, 'examples', 'erpnext'), env });
  try {
    await once(receiver.stdout, 'data');
    await stage.ask('POST', `/v1/webhooks/${added.body.webhookId}/rotate`, { json: {} });
    const message = await messageOf(stage, 'EX-PAY');
    const json = { exporter: 'accounts@kaveri.example', reference: 'PAY/7', message };
    expect((await stage.ask('POST', '/v1/filings', { json })).status).toBe(201);
    const books = join(folder, 'books', 'payment PAY%2F7');
    await eventually(() => existsSync(books) && readdirSync(books).some((name) => name.endsWith('.pdf')), 60_000);
    const { numbers } = JSON.parse(readFileSync(join(books, 'shown.json'), 'utf8')) as { numbers: string[] };
    expect(readFileSync(join(books, `${numbers[0]}.pdf`), 'latin1')).toMatch(/^%PDF-/u);
  } finally {
    receiver.kill();
    await stage.ask('DELETE', `/v1/webhooks/${added.body.webhookId}`);
  }
});

it('has a line of the README for each program', () => {
  const readme = readFileSync(join(ROOT, 'examples', 'README.md'), 'utf8');
  const programs = readdirSync(join(ROOT, 'examples')).filter((name) => /\.(sh|py|go|java|ts)$/u.test(name));
  expect(programs.sort()).toEqual([...PROGRAMS.map(({ file }) => file), 'python-temporal.py'].sort());
  for (const file of programs) expect(readme).toContain(`examples/${file}`);
});
