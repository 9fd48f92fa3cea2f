/**
 * The whole job through the command line: a built worker, a real Temporal server, a real PostgreSQL, the sandbox over
 * HTTP.
 */
import { createHash } from 'node:crypto';
import JsZip from 'jszip';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExporterProgress } from '../../src/domain/contracts';
import type { FilingView } from '../../src/domain/filing/view';
import type { CertificateView } from '../../src/ledger/certificates/certificates';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox';
import { demoMessage, type DemoIrm } from '../../dev/demo-message';
import type { KeptProcess } from '../../dev/kept-process';
import { startProgram } from '../../dev/program';
import type { Problem } from '../../src/starter/errors';
import { builtPackage } from '../support/built-package';
import { cleanEnvironment, ebrc, type CommandOptions } from '../support/command-line';
import { createTestDatabase, type TestDatabase } from '../support/postgres';
import { devServer, type DevServer } from '../support/temporal';

const EXPORTER = 'accounts@kaveri.example';
const PASSWORD = 'Kaveri@Soft9';
const REFUSED_ONCE = 'KVR/2026/121';
const ONBOARD = [
  ...['onboard', '--name', 'Kaveri Softworks', '--email', EXPORTER, '--iec', 'AAKCK7719P'],
  ...['--username', 'kaveri.softworks', '--password-stdin', '--wait', '--json'],
];

let folder: string;
let temporal: DevServer;
let database: TestDatabase;
let sandbox: Sandbox;
let worker: KeptProcess;
let commandLine: string;
let env: Record<string, string>;

const run = (args: string[], options: CommandOptions = {}) => ebrc(args, { env, ...options });
/** As a process of its own: the built program with its standard streams and its exit code. */
const runBuilt = (args: string[], options: CommandOptions = {}) => run(args, { program: commandLine, ...options });

beforeAll(async () => {
  const built = await builtPackage();
  commandLine = built.commandLine;
  folder = await mkdtemp(join(tmpdir(), 'ebrc-e2e-'));
  [temporal, database, sandbox] = await Promise.all([
    devServer(),
    createTestDatabase(),
    createSandbox({
      activationDelayMs: 0,
      ackDelayMs: 2_000,
      rateWindowMs: 2_000,
      // The authority refuses this document once, and takes it when it comes again.
      seed: {
        outcomes: [
          { match: { document: REFUSED_ONCE }, processingStatus: 'Errored', errorDetails: ['ERR27'], times: 1 },
        ],
      },
    }),
  ]);
  env = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    EBRC_API_URL: sandbox.url,
    EBRC_API_KEY: 'dev_sandbox_key',
    EBRC_RATE_WINDOW: '2s',
    EBRC_DOCUMENTS: join(folder, 'documents'),
    EBRC_POLL_FIRST: '1s',
    EBRC_POLL_MIN: '500ms',
    EBRC_POLL_MAX: '2s',
  };
  worker = await startProgram({
    name: 'The worker',
    command: process.execPath,
    args: [built.worker],
    log: join(folder, 'worker.log'),
    env: cleanEnvironment(env),
    stopWithinMs: 150_000,
  });
}, 300_000);

afterAll(async () => {
  await worker?.stop();
  await temporal?.stop();
  await sandbox?.close();
  await database?.drop();
  if (folder) await rm(folder, { recursive: true, force: true });
}, 200_000);

let file: string;
let filed: FilingView;

it('onboards an exporter until it is ready', async () => {
  const onboarded = await runBuilt(ONBOARD, { input: PASSWORD });
  expect(onboarded.stderr).not.toContain(PASSWORD);
  const progress = onboarded.json<ExporterProgress>();
  expect(progress).toMatchObject({ state: 'ready', errors: [] });
  expect(progress.exporterId).toEqual(expect.any(String));
  expect(progress.irmCount).toBeGreaterThan(0);
  expect(onboarded.code).toBe(0);
});

it('checks a file without sending it', async () => {
  const irms = (await run(['irms', EXPORTER, '--json'])).json<DemoIrm[]>();
  expect(irms.length).toBeGreaterThan(1);
  file = join(folder, 'remittances.json');
  await writeFile(file, JSON.stringify(demoMessage(irms)));
  const checked = await run(['check', file, '--exporter', EXPORTER, '--json']);
  expect(checked.json()).toMatchObject({ ok: true, rows: 3, errors: [] });
  expect(checked.code).toBe(0);
  const message = JSON.parse(await readFile(file, 'utf8')) as ReturnType<typeof demoMessage>;
  const doubtful = join(folder, 'doubtful.json');
  const rows = message.ebrcBulkGenDtos.map((row) => ({ ...row, irmAdCode: '9999999' }));
  await writeFile(doubtful, JSON.stringify({ ...message, ebrcBulkGenDtos: rows }));
  const refused = await run(['file', doubtful, '--exporter', EXPORTER, '--strict', '--json']);
  expect(refused.json<{ errors: Problem[] }>().errors[0]).toMatchObject({ row: 1, code: 'irm_unknown' });
  expect(refused.code).toBe(3);
  expect(sandbox.calls({ operation: 'push-irm' })).toEqual([]);
});

it('files it and collects every certificate', async () => {
  const result = await run(['file', file, '--exporter', EXPORTER, '--reference', 'E2E-1', '--wait', '--json']);
  filed = result.json<FilingView>();
  expect(filed).toMatchObject({ state: 'certified', reference: 'E2E-1', workflowId: 'file/test/E2E-1', errors: [] });
  expect(filed.requestId).toEqual(expect.any(String));
  expect(filed.rows).toHaveLength(3);
  for (const row of filed.rows) {
    const pdf = await readFile(row.document ?? '');
    expect(pdf.toString('latin1')).toMatch(/^%PDF/);
    expect(createHash('sha256').update(pdf).digest('hex')).toBe(row.sha256);
  }
  expect(new Set(filed.rows.map((row) => row.eBRCNumber)).size).toBe(3);
  expect(result.code).toBe(0);
});

it('lets just the rows pass that --allow-duplicate names', async () => {
  const live = async (...args: string[]) => {
    const checked = await run(['check', file, '--exporter', EXPORTER, ...args, '--json']);
    const { errors } = checked.json<{ errors: Problem[] }>();
    return errors.filter(({ code }) => code === 'mapping_live').map(({ row }) => row);
  };
  expect(await live()).toEqual([1, 2, 3]);
  expect(await live('--allow-duplicate', '1,2=equal tranches')).toEqual([3]);
  expect(await live('--allow-duplicate', '1,2=equal tranches', '--allow-duplicate', '3=another')).toEqual([]);
  const slip = await run(['check', file, '--exporter', EXPORTER, '--allow-duplicate', '7=equal tranches', '--json']);
  expect(slip.json<{ errors: Problem[] }>().errors).toContainEqual(expect.objectContaining({ code: 'unknown_row' }));
  expect((await run(['check', file, '--exporter', EXPORTER, '--allow-duplicate', 'because'])).code).toBe(2);
});

it('compares the content of a run that another SDK started with what the ledger recorded', async () => {
  const message = JSON.parse(await readFile(file, 'utf8')) as ReturnType<typeof demoMessage>;
  const [item] = message.ebrcBulkGenDtos;
  const own = { ...item, sbCumInvoiceNumber: 'KVR/2026/118', billNo: 'KVR/2026/118', mappedIRMAmountFCC: 500 };
  const body = { ...message, recordResCount: 1, ebrcBulkGenDtos: [own] };
  const same = join(folder, 'sdk.json');
  await writeFile(same, JSON.stringify(body));
  const { exporterId } = filed;
  const client = await temporal.client();
  const handle = await client.workflow.start('fileRemittances', {
    workflowId: 'file/test/E2E%2FSDK',
    taskQueue: 'ebrc',
    args: [{ mode: 'test', exporterId, reference: 'E2E/SDK', message: body, approval: true, madeBy: 'a Java program' }],
  });
  const args = ['--exporter', EXPORTER, '--reference', 'E2E/SDK', '--json'];
  const other = await run(['file', file, ...args]);
  expect(other.json<{ errors: Problem[] }>().errors[0]).toMatchObject({ code: 'reference_taken' });
  expect(other.code).toBe(3);
  const followed = await run(['file', same, ...args, '--wait']);
  expect(followed.json()).toMatchObject({ state: 'awaiting_approval', workflowId: handle.workflowId });
  await run(['abandon', 'E2E/SDK', '--note', 'tested', '--json']);
  expect(await handle.result()).toMatchObject({ state: 'abandoned' });
});

it('files the errored rows of a filing again, and nothing else, beside a live filing of them where that is permitted', async () => {
  const message = JSON.parse(await readFile(file, 'utf8')) as ReturnType<typeof demoMessage>;
  const items = ['KVR/2026/120', REFUSED_ONCE].map((document, index) => ({
    ...message.ebrcBulkGenDtos[0],
    serialNo: index + 1,
    sbCumInvoiceNumber: document,
    billNo: document,
    mappedIRMAmountFCC: 2_000,
  }));
  const mixed = join(folder, 'mixed.json');
  await writeFile(mixed, JSON.stringify({ ...message, recordResCount: 2, ebrcBulkGenDtos: items }));

  const first = await run(['file', mixed, '--exporter', EXPORTER, '--reference', 'E2E-4', '--wait', '--json']);
  const parent = first.json<FilingView>();
  expect(parent).toMatchObject({ state: 'partly_certified' });
  expect(parent.rows.map(({ state }) => state)).toEqual(['certified', 'needs_correction']);
  expect(first.code).toBe(3);

  const correct = (...more: string[]) => run(['correct', 'E2E-4', mixed, ...more, '--wait', '--json']);
  const alone = join(folder, 'alone.json');
  const [, errored] = items;
  const own = { ...message, recordResCount: 1, ebrcBulkGenDtos: [{ ...errored, serialNo: 1 }] };
  await writeFile(alone, JSON.stringify(own));
  const beside = ['--exporter', EXPORTER, '--reference', 'E2E-5', '--approval', '--wait', '--json'];
  const holder = (await run(['file', alone, ...beside])).json<FilingView>();
  expect(holder).toMatchObject({ state: 'awaiting_approval' });
  const refused = await correct();
  const [held] = refused.json<{ errors: Problem[] }>().errors;
  expect(held).toMatchObject({ code: 'mapping_live', filingId: holder.filingId, allowDuplicate: '2=REASON' });
  expect(refused.code).toBe(3);
  const permitted = ['--allow-duplicate', '2=E2E-5 is not going to be approved'];
  const corrected = (await correct(...permitted)).json<FilingView>();
  expect(corrected).toMatchObject({ state: 'certified', corrects: parent.filingId, workflowId: 'file/test/E2E-4/2' });
  expect(corrected.rows.map(({ sbCumInvoiceNumber }) => sbCumInvoiceNumber)).toEqual([REFUSED_ONCE]);

  const again = await correct(...permitted);
  expect(again.json()).toMatchObject({ filingId: corrected.filingId });
  expect(again.code).toBe(0);
  expect(sandbox.doubleFilings()).toEqual([]);
  const shown = (await run(['show', 'E2E-4#1', '--json'])).json<FilingView>();
  expect(shown.correctedBy).toEqual([corrected.filingId]);
  await run(['abandon', 'E2E-5', '--note', 'corrected instead', '--json']);

  // The original comes again after its correction was certified: its lineage is held.
  const original = await run(['file', alone, '--exporter', EXPORTER, '--reference', 'E2E-6', '--json']);
  expect(original.json()).toMatchObject({
    state: 'refused',
    errors: [{ code: 'mapping_live', filingId: corrected.filingId }],
  });
  expect(original.code).toBe(3);
});

it('files a reference again with the number that its outcome prints, and not by repeating the command', async () => {
  const message = JSON.parse(await readFile(file, 'utf8')) as ReturnType<typeof demoMessage>;
  const [item] = message.ebrcBulkGenDtos;
  const own = { ...item, sbCumInvoiceNumber: 'KVR/2026/130', billNo: 'KVR/2026/130', mappedIRMAmountFCC: 100 };
  const path = join(folder, 'again.json');
  await writeFile(path, JSON.stringify({ ...message, recordResCount: 1, ebrcBulkGenDtos: [own] }));
  const args = ['file', path, '--exporter', EXPORTER, '--reference', 'E2E-7', '--wait'];
  const first = (await run([...args, '--approval', '--json'])).json<FilingView>();
  await run(['abandon', 'E2E-7', '--note', 'not yet', '--json']);

  const repeated = await run([...args, '--json']);
  expect(repeated.json()).toMatchObject({ filingId: first.filingId, state: 'abandoned', again: 2 });
  expect(repeated.code).toBe(3);
  expect((await run(args)).stdout).toContain('--again 2');
  const wrong = await run([...args, '--again', '5', '--json']);
  expect(wrong.json<FilingView>()).toMatchObject({ state: 'refused', errors: [{ code: 'wrong_number' }] });
  expect(wrong.code).toBe(3);
  expect((await run([...args, '--again', '1'])).code).toBe(2);

  const again = await run([...args, '--again', '2', '--json']);
  expect(again.json()).toMatchObject({ state: 'certified', n: 2, workflowId: 'file/test/E2E-7/2' });
  const repeatedAgain = (await run([...args, '--again', '2', '--json'])).json<FilingView>();
  expect(repeatedAgain.filingId).toBe(again.json<FilingView>().filingId);
  const states = ['E2E-7', 'E2E-7#1', 'E2E-7#2'].map(
    async (name) => (await run(['show', name, '--json'])).json<FilingView>().state,
  );
  expect(await Promise.all(states)).toEqual(['certified', 'abandoned', 'certified']);
  expect(sandbox.doubleFilings()).toEqual([]);
});

it('shows and lists what the ledger holds', async () => {
  const shown = (await run(['show', 'E2E-1', '--json'])).json<FilingView>();
  expect(shown).toEqual(filed);
  const listed = (await run(['list', '--state', 'certified', '--json'])).json<FilingView[]>();
  expect(listed.map(({ reference }) => reference).sort()).toEqual(['E2E-1', 'E2E-4', 'E2E-7']);
  const certificates = (await run(['certificates', '--json'])).json<CertificateView[]>();
  expect(certificates).toHaveLength(6);
  expect(certificates.every(({ document, sha256 }) => document !== null && sha256 !== null)).toBe(true);
  const copies = join(folder, 'copies');
  const csv = join(folder, 'certificates.csv');
  const copied = await run(['certificates', '--document', 'kvr/2026/117', '--pdfs', copies, '-o', csv, '--json']);
  const number = filed.rows.find(({ sbCumInvoiceNumber }) => sbCumInvoiceNumber === 'KVR/2026/117')?.eBRCNumber;
  const copy = join(copies, `KVR_2026_117-${number}.pdf`);
  expect(copied.json()).toContainEqual(expect.objectContaining({ eBRCNumber: number, copy }));
  expect((await readFile(copy)).toString('latin1')).toMatch(/^%PDF/);
  const zip = join(folder, 'copies.zip');
  await run(['certificates', '--pdfs', zip, '--json']);
  const packed = await JsZip.loadAsync(await readFile(zip));
  expect(Object.keys(packed.files)).toHaveLength(6);
  expect(await packed.file(`KVR_2026_117-${number}.pdf`)?.async('nodebuffer')).toEqual(await readFile(copy));
  expect((await run(['certificates', '--pdfs', zip])).code).toBe(2);
  expect(await readFile(csv, 'utf8')).toMatch(new RegExp(`^eBRCNumber,date,[^]*\n${number},\\d{4}-`, 'u'));
  const people = await run(['show', 'E2E-1']);
  expect(people.stdout).toContain(filed.rows[0]?.eBRCNumber);
});

it('keeps its schedules on Temporal', async () => {
  const ids = ['refresh-irms', 'reconcile', 'heal-pdfs', 'sweep', 'daily-report', 'prune'].map(
    (id) => `ebrc-test-${id}`,
  );
  const applied = (await run(['schedules', 'apply', '--json'])).json<{ id: string; state: string; next: string[] }[]>();
  expect(applied.map(({ id, state }) => [id, state])).toEqual(ids.map((id) => [id, 'active']));
  for (const { next } of applied) expect(next.length).toBeGreaterThan(0);
  expect((await run(['schedules', 'apply', '--json'])).json()).toHaveLength(ids.length);
  const deleted = (await run(['schedules', 'delete', '--json'])).json<{ id: string; state: string }[]>();
  expect(new Set(deleted.map(({ state }) => state))).toEqual(new Set(['deleted']));
  expect((await run(['schedules', 'list', '--json'])).json()).toEqual([]);
});

it('reconciles the ledger with the authority and finds nothing', async () => {
  const reconciled = await run(['reconcile', '--exporter', EXPORTER, '--wait', '--json']);
  expect(reconciled.code).toBe(0);
  expect(reconciled.json()).toMatchObject({ state: 'done', skipped: [], findings: [], counts: { ours_not_theirs: 0 } });
  expect((await run(['findings', '--exporter', EXPORTER, '--json'])).json()).toEqual([]);
  const unknown = await run(['findings', 'acknowledge', '17', '--note', 'known', '--json']);
  expect(unknown.code).toBe(3);
});
