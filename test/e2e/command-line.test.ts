/**
 * The whole job through the command line: a built worker, a real Temporal server, a real PostgreSQL, the sandbox over
 * HTTP.
 */
import JsZip from 'jszip';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExporterProgress } from '../../src/domain/contracts';
import type { FilingView } from '../../src/domain/filing/view';
import type { CertificateView } from '../../src/ledger/certificates/certificates';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox';
import { demoMessage, type DemoIrm } from '../../dev/demo-message';
import type { Problem } from '../../src/starter/errors';
import type { CommandOptions } from '../support/command-line';
import { openProgramStage, type ProgramStage } from './program-stage';

const EXPORTER = 'accounts@kaveri.example';
const PASSWORD = 'Kaveri@Soft9';
const REFUSED_ONCE = 'KVR/2026/121';
const ONBOARD = [
  ...['onboard', '--name', 'Kaveri Softworks', '--email', EXPORTER, '--iec', 'AAKCK7719P'],
  ...['--username', 'kaveri.softworks', '--password-stdin', '--wait', '--json'],
];

let stage: ProgramStage;
let sandbox: Sandbox;
const run = (args: string[], options?: CommandOptions) => stage.run(args, options);

beforeAll(async () => {
  // The authority refuses this document once, and takes it when it comes again.
  const errored = {
    match: { document: REFUSED_ONCE },
    processingStatus: 'Errored' as const,
    errorDetails: ['ERR27'],
    times: 1,
  };
  const seed = { outcomes: [errored] };
  sandbox = await createSandbox({ activationDelayMs: 0, ackDelayMs: 2_000, rateWindowMs: 2_000, seed });
  stage = await openProgramStage(sandbox, { EBRC_API_KEY: 'dev_sandbox_key' });
}, 300_000);
afterAll(() => stage?.close(), 200_000);

let message: ReturnType<typeof demoMessage>;
let file: string;
let filed: FilingView;

/** A push message with a row of this amount for each document, on the first remittance. */
const messageOf = (documents: string[], mappedIRMAmountFCC: number) => ({
  ...message,
  recordResCount: documents.length,
  ebrcBulkGenDtos: documents.map((document, at) => {
    const own = { serialNo: at + 1, sbCumInvoiceNumber: document, billNo: document, mappedIRMAmountFCC };
    return { ...message.ebrcBulkGenDtos[0], ...own };
  }),
});

it('onboards an exporter until it is ready', async () => {
  // As a process of its own: the built program with its standard streams and its exit code.
  const onboarded = await run(ONBOARD, { program: stage.program, input: PASSWORD });
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
  message = demoMessage(irms);
  file = await stage.file('remittances.json', message);
  const checked = await run(['check', file, '--exporter', EXPORTER, '--json']);
  expect(checked.json()).toMatchObject({ ok: true, rows: 3, errors: [] });
  expect(checked.code).toBe(0);
  const rows = message.ebrcBulkGenDtos.map((row) => ({ ...row, irmAdCode: '9999999' }));
  const doubtful = await stage.file('doubtful.json', { ...message, ebrcBulkGenDtos: rows });
  const refused = await run(['file', doubtful, '--exporter', EXPORTER, '--strict', '--json']);
  expect(refused.json<{ errors: Problem[] }>().errors[0]).toMatchObject({ row: 1, code: 'irm_unknown' });
  expect(refused.code).toBe(3);
  expect(sandbox.calls({ operation: 'push-irm' })).toEqual([]);
});

it('files it and collects every certificate', async () => {
  const result = await run(['file', file, '--exporter', EXPORTER, '--reference', 'E2E-1', '--wait', '--json']);
  filed = result.json<FilingView>();
  expect(filed).toMatchObject({ state: 'certified', reference: 'E2E-1', workflowId: 'file/test/E2E-1', errors: [] });
  expect(new Set(filed.rows.map((row) => row.eBRCNumber)).size).toBe(3);
  expect(result.code).toBe(0);
  const said = 'nothing new was sent';
  expect(result.stderr).not.toContain(said);
  const again = await run(['file', file, '--exporter', EXPORTER, '--reference', 'E2E-1', '--wait', '--json']);
  expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining(said) as string });
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
  const body = messageOf(['KVR/2026/118'], 500);
  const same = await stage.file('sdk.json', body);
  const { exporterId } = filed;
  const client = await stage.temporal.client();
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
  const mixed = await stage.file('mixed.json', messageOf(['KVR/2026/120', REFUSED_ONCE], 2_000));
  const first = await run(['file', mixed, '--exporter', EXPORTER, '--reference', 'E2E-4', '--wait', '--json']);
  const parent = first.json<FilingView>();
  expect(parent).toMatchObject({ state: 'partly_certified' });
  expect(parent.rows.map(({ state }) => state)).toEqual(['certified', 'needs_correction']);
  expect(first.code).toBe(3);

  const correct = (...more: string[]) => run(['correct', 'E2E-4', mixed, ...more, '--wait', '--json']);
  const alone = await stage.file('alone.json', messageOf([REFUSED_ONCE], 2_000));
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
  const path = await stage.file('again.json', messageOf(['KVR/2026/130'], 100));
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
  const copies = join(stage.folder, 'copies');
  const csv = join(stage.folder, 'certificates.csv');
  const copied = await run(['certificates', '--document', 'kvr/2026/117', '--pdfs', copies, '-o', csv, '--json']);
  const number = filed.rows.find(({ sbCumInvoiceNumber }) => sbCumInvoiceNumber === 'KVR/2026/117')?.eBRCNumber;
  const copy = join(copies, `KVR_2026_117-${number}.pdf`);
  expect(copied.json()).toContainEqual(expect.objectContaining({ eBRCNumber: number, copy }));
  expect((await readFile(copy)).toString('latin1')).toMatch(/^%PDF/);
  const zip = join(stage.folder, 'copies.zip');
  await run(['certificates', '--pdfs', zip, '--json']);
  const packed = await JsZip.loadAsync(await readFile(zip));
  expect(Object.keys(packed.files)).toHaveLength(6);
  expect(await packed.file(`KVR_2026_117-${number}.pdf`)?.async('nodebuffer')).toEqual(await readFile(copy));
  expect((await run(['certificates', '--pdfs', zip])).code).toBe(2);
  expect(await readFile(csv, 'utf8')).toMatch(new RegExp(`^eBRCNumber,date,[^]*\n${number},\\d{4}-`, 'u'));
  const people = await run(['show', 'E2E-1']);
  expect(people.stdout).toContain(filed.rows[0]?.eBRCNumber);
});

it('keeps the schedules of the package on Temporal', async () => {
  const schedules = async (action: string) =>
    (await run(['schedules', action, '--json'])).json<{ state: string; next: string[] }[]>();
  const applied = await schedules('apply');
  expect(applied.map(({ state, next }) => [state, next.length > 0])).toEqual(Array(6).fill(['active', true]));
  expect((await schedules('delete')).map(({ state }) => state)).toEqual(Array(6).fill('deleted'));
  expect(await schedules('list')).toEqual([]);
});

it('reconciles the ledger with the authority and finds nothing, and says what it waits for', async () => {
  sandbox.addFault({ operation: 'fetch-details', kind: '500', times: 1 });
  const reconciled = await run(['reconcile', '--exporter', EXPORTER, '--wait', '--json']);
  expect(reconciled.code).toBe(0);
  expect(reconciled.stderr).toMatch(/read certificates, which failed 1 time: .*500/u);
  expect(reconciled.json()).toMatchObject({ state: 'done', skipped: [], findings: [], counts: { ours_not_theirs: 0 } });
  expect((await run(['findings', '--exporter', EXPORTER, '--json'])).json()).toEqual([]);
  const unknown = await run(['findings', 'acknowledge', '17', '--note', 'known', '--json']);
  expect(unknown.code).toBe(3);
});
