/**
 * The whole job and the names that users rely on, through the command line and a built worker, with a service that is
 * no sandbox of ours: which one is behind them must make no difference. The demo and chaos do it with the sandbox.
 */
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import Ajv from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { Workbook } from 'exceljs';
import JsZip from 'jszip';
import type { Client } from '@temporalio/client';
import { serviceMapping, type DemoIrm } from '../../dev/demo-message';
import { messageOf } from '../../dev/sample-mapping';
import type { Mapping } from '../../src/domain/filing/mapping';
import type { CommandOptions } from '../support/command-line';
import { openProgramStage, type ProgramStage } from '../e2e/program-stage';
import { OTHER_KEY, startOtherService, type OtherService } from './other-service';

interface Irm extends DemoIrm {
  available: string;
}

interface Filing {
  filingId: string;
  workflowId: string;
  state: string;
  requestId: string | null;
  dgftAckId: string | null;
  rows: {
    serialNo: number;
    state: string;
    eBRCNumber: string | null;
    pdf: string | null;
    sha256: string | null;
  }[];
  attempts: unknown[];
  warnings: unknown[];
  errors: { code: string; row: number | null; field: string | null; message: string; filingId?: string }[];
  correctedBy: string[];
}

const EMAIL = 'accounts@first.example';
const SECOND = 'accounts@second.example';
const NOTHING_NEW = 'nothing new was sent';

/** Whatever filing is printed has all of these, at the least. */
const FILING_SHAPE = {
  filingId: expect.any(String),
  workflowId: expect.stringMatching(/^file\/test\//u),
  reference: expect.any(String),
  state: expect.any(String),
  attempts: expect.any(Array),
  warnings: expect.any(Array),
  rows: expect.any(Array),
  errors: expect.any(Array),
};

let stage: ProgramStage;
let client: Client;
let service: OtherService;
let exporterId: string;
let irm: Irm;
let first: Filing;

beforeAll(async () => {
  service = await startOtherService();
  const short = { EBRC_SETTLE_AFTER: '6s', EBRC_HTTP_TIMEOUT: '5s', EBRC_POLL_MAX: '500ms' };
  stage = await openProgramStage(service, { EBRC_API_KEY: OTHER_KEY, ...short });
  client = await stage.temporal.client();
}, 200_000);
afterAll(() => stage?.close(), 90_000);

/** A service invoice settled by part of the first remittance. */
const item = (document: string, more: Partial<Mapping> = {}) =>
  serviceMapping(irm, document, {
    sbCumInvoiceFCC: irm.currency,
    sbCumInvoiceValueinFCC: 1_000,
    mappedIRMAmountFCC: 1_000,
    ...more,
  });
const message = (...items: Mapping[]) => messageOf(items.map((each, at) => ({ ...each, serialNo: at + 1 })));
const fileArgs = (path: string, reference: string) => ['file', path, '--exporter', EMAIL, '--reference', reference];
const run = (args: string[], options: CommandOptions = {}) => stage.run([...args, '--json'], options);
const json = async <T>(args: string[], code = 0, env: Record<string, string> = {}): Promise<T> => {
  const result = await run(args, { env });
  if (result.code !== code)
    throw new Error(`ebrc ${args.join(' ')} ended with ${result.code}: ${result.stdout}${result.stderr}`);
  return result.json<T>();
};

describe('onboarding', () => {
  const onboard = (email: string, account: { username: string; iec: string }, ...more: string[]) => [
    ...['onboard', '--name', `Exporter of ${account.username}`, '--email', email, '--iec', account.iec.toLowerCase()],
    ...['--username', account.username, '--password-stdin', ...more],
  ];

  it('asks for other credentials when the portal rejects them, and exits 4', async () => {
    const wrong = await run(onboard(EMAIL, service.accounts[0], '--wait'), { input: 'not-it\n' });
    expect(wrong.json()).toMatchObject({ state: 'needs_credentials', exporterId: expect.any(String) });
    expect(wrong.code).toBe(4);
    const reconciled = await run(['reconcile', '--exporter', EMAIL, '--wait']);
    expect(reconciled.json()).toMatchObject({
      companies: 1,
      skipped: [
        { name: 'Exporter of weaver.one', reason: expect.stringContaining('no client of it is ready') as string },
      ],
    });
    expect(reconciled.code).toBe(0);
  });

  it('continues with the right ones, by `credentials`, until it is ready', async () => {
    const { username, password } = service.accounts[0];
    // As a process of its own: the built program with its standard streams and its exit code.
    const right = await run(['credentials', EMAIL, '--username', username, '--password-stdin', '--wait'], {
      input: `${password}\n`,
      program: stage.program,
    });
    expect(right.stderr).not.toContain(password);
    const progress = right.json<{ exporterId: string; workflowId: string }>();
    expect(progress).toMatchObject({ state: 'ready', irmCount: expect.any(Number), activatesAt: null });
    expect(progress.workflowId).toMatch(/^(?:onboard|credentials)\/test\//u);
    expect(right.code).toBe(0);
    ({ exporterId } = progress);
  });

  it('lists exporters with their readiness, and changes one at the service', async () => {
    expect(await json(['exporters'])).toEqual([
      expect.objectContaining({
        exporterId,
        email: EMAIL,
        readiness: 'ready',
        sharedCredentialsLikely: expect.anything(),
      }),
    ]);
    const changed = await json(['exporter', exporterId, '--company', 'First Limited', '--address', '1 Mill Road']);
    expect(changed).toMatchObject({ exporterId, companyName: 'First Limited', address: '1 Mill Road' });
  });

  it('refuses another company under the same e-mail, and exits 3', async () => {
    const args = ['onboard', '--name', 'Somebody Else', '--email', EMAIL, '--iec', 'ZZZZZ00000', '--wait'];
    expect(await json(args, 3)).toMatchObject({
      state: 'refused',
      errors: [{ code: 'exporter_differs' }, { code: 'exporter_differs' }],
    });
  });
});

describe('remittances', () => {
  it('lists balances, live where that is asked for, in exact amounts and filing dates', async () => {
    const irms = await json<Irm[]>(['irms', EMAIL, '--refresh']);
    const dollars = irms.filter(({ currency }) => currency === 'USD');
    expect(dollars.length).toBeGreaterThan(0);
    irm = dollars.sort((one, other) => Number(other.available) - Number(one.available))[0] as Irm;
    expect(irm.irmIssueDate).toMatch(/^\d{8}$/u);
    expect(irm.amount).toMatch(/^\d+(?:\.\d+)?$/u);
    expect(irm).toMatchObject({ held: '0', free: irm.available });
  });
});

describe('checking', () => {
  it('passes a file that can be filed, and sends nothing', async () => {
    const path = await stage.file('good.json', message(item('CON/1'), item('CON/2')));
    expect(await json(['check', path, '--exporter', EMAIL])).toMatchObject({ ok: true, rows: 2, errors: [] });
    expect(service.accepted()).toBe(0);
  });

  it('refuses more than a remittance has left', async () => {
    const path = await stage.file(
      'much.json',
      message(item('CON/9', { mappedIRMAmountFCC: Number(irm.available) + 1, sbCumInvoiceValueinFCC: 90_000_000 })),
    );
    expect((await json<Filing>(['check', path, '--exporter', EMAIL], 3)).errors[0]).toMatchObject({ row: 1 });
    expect((await json<Filing>(fileArgs(path, 'CON-MUCH'), 3)).errors[0]).toMatchObject({ row: 1 });
    expect(service.accepted()).toBe(0);
  });

  it('refuses a remittance that no list shows, where it is strict', async () => {
    const path = await stage.file('doubtful.json', message(item('CON/8', { irmAdCode: '9999999' })));
    const [error] = (await json<Filing>(['file', path, '--exporter', EMAIL, '--strict'], 3)).errors;
    expect(error).toMatchObject({ row: 1, code: 'irm_ad_code_differs' });
    expect(service.accepted()).toBe(0);
  });

  it('will not go without the declaration, or without the exporter', async () => {
    const path = await stage.file('without.json', { ...message(item('CON/8')), decalarationFlag: undefined });
    expect((await json<Filing>(['file', path, '--exporter', EMAIL], 3)).errors[0]).toMatchObject({
      field: 'decalarationFlag',
    });
    const whole = await stage.file('whole.json', message(item('CON/8')));
    expect((await json<Filing>(['file', whole], 2)).errors[0]?.message).toMatch(/--exporter/u);
    expect(service.accepted()).toBe(0);
  });
});

describe('filing', () => {
  it('files, follows and collects', async () => {
    const path = await stage.file('good.json', message(item('CON/1'), item('CON/2')));
    const filed = await run([...fileArgs(path, 'CON-1'), '--wait']);
    expect([filed.code, filed.stderr.includes(NOTHING_NEW)]).toEqual([0, false]);
    first = filed.json<Filing>();
    expect(first).toMatchObject({ ...FILING_SHAPE, state: 'certified', workflowId: 'file/test/CON-1', errors: [] });
    expect([first.requestId, first.dgftAckId]).toEqual([expect.any(String), expect.any(String)]);
    expect(first.rows.map(({ serialNo, state }) => [serialNo, state])).toEqual([
      [1, 'certified'],
      [2, 'certified'],
    ]);
    expect(new Set(first.rows.map(({ eBRCNumber }) => eBRCNumber)).size).toBe(2);
    for (const { pdf: path, sha256 } of first.rows) {
      const pdf = await readFile(path ?? '');
      expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
      expect(createHash('sha256').update(pdf).digest('hex')).toBe(sha256);
    }
  });

  it('prints the first filing when the same file comes again', async () => {
    const path = await stage.file('good.json', message(item('CON/1'), item('CON/2')));
    const again = await run([...fileArgs(path, 'CON-1'), '--wait']);
    expect(again.json()).toMatchObject({ filingId: first.filingId, state: 'certified' });
    expect([again.code, again.stderr.includes(NOTHING_NEW)]).toEqual([0, true]);
    expect(service.accepted()).toBe(1);
  });

  it('names the holder when its mappings come under another name, and refuses other content under its name', async () => {
    const path = await stage.file('good.json', message(item('CON/1'), item('CON/2')));
    expect((await json<Filing>(fileArgs(path, 'CON-1B'), 3)).errors[0]).toMatchObject({
      filingId: first.filingId,
      allowDuplicate: '1,2=REASON',
    });
    const one = [...fileArgs(path, 'CON-1B'), '--allow-duplicate', '2=equal tranches'];
    expect((await json<Filing>(one, 3)).errors.map(({ row }) => row)).toEqual([1]);
    const check = (...permitted: string[]) =>
      run(['check', path, '--exporter', EMAIL, ...permitted.flatMap((each) => ['--allow-duplicate', each])]);
    expect((await check('1,2=equal tranches')).code).toBe(0);
    expect((await check('1=equal tranches', '2=another')).code).toBe(0);
    const slip = await check('1,2=equal tranches', '7=equal tranches');
    expect(slip.json<Filing>().errors).toMatchObject([{ code: 'unknown_row' }]);
    expect((await check('because')).code).toBe(2);
    const summed = await stage.file('summed.json', message(item('CON/1', { mappedIRMAmountFCC: 1_000.0000000000001 })));
    expect((await json<Filing>(fileArgs(summed, 'CON-1C'), 3)).errors[0]).toMatchObject({ filingId: first.filingId });
    const other = await stage.file('other.json', message(item('CON/3')));
    expect((await json<Filing>(fileArgs(other, 'CON-1'), 3)).errors[0]).toMatchObject({ filingId: first.filingId });
    expect(service.accepted()).toBe(1);
  });

  it('shows, lists, and keeps the certificates', async () => {
    expect(await json(['show', 'CON-1'])).toEqual(first);
    expect(first).toMatchObject({
      actions: [],
      attempts: [{ number: 1, verdict: 'accepted', requestId: first.requestId, requestFrom: 'service' }],
    });
    expect(await json(['list', '--state', 'certified', '--exporter', exporterId])).toMatchObject([
      { filingId: first.filingId },
    ]);
    expect(await json(['list', '--attention'])).toEqual([]);
    const late = await json<Filing>(['abandon', 'CON-1', '--note', 'too late'], 3);
    expect(late.errors[0]).toMatchObject({ code: 'filing_ended', filingId: first.filingId });
    const certificates = await json<{ eBRCNumber: string; document: string; sha256: string }[]>([
      'certificates',
      '--exporter',
      EMAIL,
    ]);
    expect(certificates.map(({ eBRCNumber, document, sha256 }) => [eBRCNumber, document, sha256]).sort()).toEqual(
      first.rows.map(({ eBRCNumber, pdf, sha256 }) => [eBRCNumber, pdf, sha256]).sort(),
    );
    expect((await stage.run(['show', 'CON-1'])).stdout).toContain(first.rows[0]?.eBRCNumber);
  });

  it('hands certificates out as copies, a list and an archive, and writes over nothing', async () => {
    const [csv, zip] = [join(stage.folder, 'certificates.csv'), join(stage.folder, 'copies.zip')];
    const few = ['certificates', '--document', 'con/1', '--pdfs', join(stage.folder, 'copies'), '-o', csv];
    const copied = await json<{ eBRCNumber: string; copy: string }[]>(few);
    const number = first.rows[0]?.eBRCNumber ?? '';
    expect(copied).toEqual([expect.objectContaining({ eBRCNumber: number })]);
    const { copy = '' } = copied[0] ?? {};
    expect(copy).toContain(join(stage.folder, 'copies', 'CON_1-'));
    expect((await readFile(copy)).toString('latin1')).toMatch(/^%PDF/u);
    expect(await readFile(csv, 'utf8')).toMatch(new RegExp(`^eBRCNumber,date,[^]*\n${number},\\d{4}-`, 'u'));
    await json(['certificates', '--pdfs', zip]);
    const packed = await JsZip.loadAsync(await readFile(zip));
    expect(Object.keys(packed.files)).toHaveLength(2);
    expect(await packed.file(basename(copy))?.async('nodebuffer')).toEqual(await readFile(copy));
    expect((await run(['certificates', '--pdfs', zip])).code).toBe(2);
  });

  it('files a reference again by a correction, and not by repeating the command', async () => {
    const path = await stage.file('again.json', message(item('CON/14')));
    const args = [...fileArgs(path, 'CON-14'), '--wait'];
    const given = await json<Filing>([...args, '--approval'], 4);
    await json(['abandon', 'CON-14', '--note', 'not yet']);
    const repeated = await run(args);
    expect(repeated.json()).toMatchObject({ filingId: given.filingId, state: 'abandoned' });
    const again = await json<Filing>(['correct', 'CON-14', path, '--wait']);
    expect(again).toMatchObject({ state: 'certified', n: 2, workflowId: 'file/test/CON-14/2' });
    const shown = ['CON-14#1', 'CON-14#2'].map((name) => json<Filing>(['show', name]));
    expect((await Promise.all(shown)).map(({ state }) => state)).toEqual(['abandoned', 'certified']);
  });

  it('files a workbook by upload, the template filled in', async () => {
    const template = join(stage.folder, 'template.xlsx');
    const made = await json(['template', EMAIL, '-o', template]);
    expect(made).toMatchObject({ path: template, rows: expect.any(Number) });
    const untouched = await json([...fileArgs(template, 'CON-WB'), '--declaration', 'Y'], 3);
    // No cell of it is wrong, so there is no workbook with marked cells.
    expect(untouched).toMatchObject({ annotated: null, errors: [{ row: null }] });
    const workbook = new Workbook();
    await workbook.xlsx.readFile(template);
    const [sheet] = workbook.worksheets;
    const plain = (value: unknown) =>
      String(value)
        .toLowerCase()
        .replace(/[^a-z]/gu, '');
    const headers = (sheet?.getRow(1).values as unknown[]).map(plain);
    // The template has the remittances already, each in a row; one is kept.
    for (let row = sheet?.rowCount ?? 0; row > 1; row -= 1)
      if (sheet?.getRow(row).getCell(headers.indexOf('irmnumber')).text !== irm.irmNumber) sheet?.spliceRows(row, 1);
    for (const [field, value] of Object.entries(item('CON/WB'))) {
      const at = headers.indexOf(plain(field));
      if (at > 0 && value !== null) sheet!.getRow(2).getCell(at).value = value;
    }
    const path = join(stage.folder, 'filled.xlsx');
    await workbook.xlsx.writeFile(path);
    const bulk = ['--declaration', 'Y', '--channel', 'bulk', '--wait'];
    const filed = await json<Filing & { annotated: string }>([...fileArgs(path, 'CON-WB'), ...bulk]);
    expect(filed).toMatchObject({ state: 'certified', rows: [{ state: 'certified' }] });
    const outcome = new Workbook();
    await outcome.xlsx.readFile(filed.annotated);
    expect(outcome.worksheets[0]?.getRow(2).values).toEqual(
      expect.arrayContaining(['certified', filed.rows[0]?.eBRCNumber]),
    );
  });
});

describe('what people decide', () => {
  it('waits for approval by somebody else', async () => {
    const path = await stage.file('approve.json', message(item('CON/4')));
    const args = [...fileArgs(path, 'CON-4'), '--approval', '--by', 'asha', '--wait'];
    expect(await json(args, 4)).toMatchObject({ ...FILING_SHAPE, state: 'awaiting_approval' });
    expect(await json(['list', '--attention'])).toMatchObject([{ reference: 'CON-4' }]);
    expect((await json<Filing>(['approve', 'CON-4', '--by', 'asha'], 3)).errors[0]?.message).toMatch(/asha/u);
    // A name alone is a claim.
    const claimed = await json<Filing>(['approve', 'CON-4', '--by', 'meera'], 3);
    expect(claimed.errors[0]?.message).toMatch(/EBRC_TOKEN/u);
    const added = await json<{ token: string }>(['principals', 'add', 'meera', '--role', 'checker']);
    // No principal made it, so that it takes two.
    await json(['approve', 'CON-4'], 4, { EBRC_TOKEN: added.token });
    const second = await json<{ token: string }>(['principals', 'add', 'kiran', '--role', 'checker']);
    const approved = await json(['approve', 'CON-4', '--wait'], 0, { EBRC_TOKEN: second.token });
    expect(approved).toMatchObject({ state: 'certified' });
  });

  it('corrects the errored rows alone', async () => {
    service.errorRow('CON/7');
    const path = await stage.file('partly.json', message(item('CON/6'), item('CON/7')));
    const partly = await json<Filing>([...fileArgs(path, 'CON-6'), '--wait'], 3);
    expect(partly).toMatchObject({
      state: 'partly_certified',
      rows: [{ state: 'certified' }, { errors: [expect.any(String)] }],
    });
    const row = item('CON/7', { billNo: 'CON/7/A' });
    const corrected = await stage.file('corrected.json', message(item('CON/6'), row));
    const alone = await stage.file('alone.json', message(row));
    const correct = (...more: string[]) => run(['correct', 'CON-6', corrected, ...more, '--wait']);
    // Another filing of the row is live: it is corrected beside that where it is permitted.
    const holder = await json<Filing>([...fileArgs(alone, 'CON-7'), '--approval', '--wait'], 4);
    const refused = await correct();
    expect([refused.code, refused.json<Filing>().errors]).toMatchObject([
      3,
      [{ code: 'mapping_held', filingId: holder.filingId, allowDuplicate: '2=REASON' }],
    ]);
    const permitted = ['--allow-duplicate', '2=CON-7 is not going to be approved'];
    const permittedOne = (await correct(...permitted)).json<Filing>();
    expect(permittedOne).toMatchObject({ state: 'awaiting_approval' });
    for (const name of ['ravi', 'usha']) {
      const { token } = await json<{ token: string }>(['principals', 'add', name, '--role', 'checker']);
      await run(['approve', permittedOne.filingId, '--wait'], { env: { EBRC_TOKEN: token } });
    }
    const correction = await json<Filing>(['show', permittedOne.filingId]);
    expect(correction).toMatchObject({
      state: 'certified',
      corrects: partly.filingId,
      workflowId: 'file/test/CON-6/2',
    });
    expect(correction.rows).toHaveLength(1);
    const again = await correct(...permitted);
    expect([again.code, again.json<Filing>().filingId]).toEqual([0, correction.filingId]);
    expect((await json<Filing>(['show', 'CON-6#1'])).correctedBy).toEqual([correction.filingId]);
    await json(['abandon', 'CON-7', '--note', 'corrected instead']);
    // The row comes again after its correction was certified: its lineage is held.
    expect(await json(fileArgs(alone, 'CON-7B'), 3)).toMatchObject({
      state: 'refused',
      errors: [{ code: expect.any(String) as string, filingId: correction.filingId }],
    });
  });
});

describe('what runs by itself', () => {
  it('reconciles the ledger with the authority and finds nothing, and says what it waits for', async () => {
    service.failDetails();
    const reconciled = await run(['reconcile', '--exporter', EMAIL, '--wait']);
    expect(reconciled.stderr).toMatch(/companies compared 1/u);
    expect(reconciled.json()).toMatchObject({
      state: 'done',
      skipped: [],
      findings: [],
      counts: { ours_not_theirs: 0 },
    });
    expect(reconciled.code).toBe(0);
    expect(await json(['findings', '--exporter', EMAIL])).toEqual([]);
    await json(['findings', 'acknowledge', '17', '--note', 'known'], 3);
  });

  it('reconciles again, and lists a PDF that was gone since and is there again', async () => {
    const [certificate] = await json<{ eBRCNumber: string; document: string }[]>(['certificates', '--exporter', EMAIL]);
    const reconcile = () => json(['reconcile', '--exporter', EMAIL, '--wait']);
    const { eBRCNumber = '', document = '' } = certificate ?? {};
    await rm(document);
    expect(await reconcile()).toMatchObject({
      healed: 1,
      counts: { pdf_missing: 0 },
      findings: [{ kind: 'pdf_missing', eBRCNumber, closedAt: expect.any(String), healed: 'the PDF was fetched' }],
    });
    expect(await reconcile()).toMatchObject({ healed: 0, findings: [] });
  });

  it('keeps the schedules of the package on Temporal', async () => {
    const schedules = (action: string) => json<{ state: string; next: string[] }[]>(['schedules', action]);
    const applied = await schedules('apply');
    expect(applied.map(({ state, next }) => [state, next.length > 0])).toEqual(Array(5).fill(['active', true]));
    expect((await schedules('delete')).map(({ state }) => state)).toEqual(Array(5).fill('deleted'));
    expect(await schedules('list')).toEqual([]);
  });
});

describe('answers that are lost', () => {
  it('settles a filing that was accepted by its certificates', async () => {
    service.loseAnswer('CON/10', true);
    const path = await stage.file('lost.json', message(item('CON/10')));
    expect(await json([...fileArgs(path, 'CON-10'), '--wait'])).toMatchObject({ state: 'certified' });
  });

  it('asks a person about one that nothing shows, and sends it again on their answer', async () => {
    service.loseAnswer('CON/11', false);
    const path = await stage.file('gone.json', message(item('CON/11')));
    const asked = await json<Filing>([...fileArgs(path, 'CON-11'), '--wait'], 4);
    expect(asked).toMatchObject({ ...FILING_SHAPE, state: 'outcome_unknown' });
    const other = await json<Filing>(['show', 'CON-6#1']);
    const mistaken = ['--as', 'filed', '--request-id', String(other.requestId), '--note', 'the wrong line'];
    expect(await json(['resolve', 'CON-11', ...mistaken], 3)).toMatchObject({
      errors: [{ code: 'request_taken' }],
    });
    const resolved = await json(['resolve', 'CON-11', '--as', 'not-filed', '--note', 'not on the portal', '--wait']);
    expect(resolved).toMatchObject({ filingId: asked.filingId, state: 'certified' });
  });
});

describe('callers in any Temporal SDK', () => {
  const ajv = addFormats(new Ajv({ strict: false }));
  const conforms = async (schema: string, value: unknown) => {
    const content = await readFile(join(__dirname, '..', '..', 'schemas', `${schema}.schema.json`), 'utf8');
    const read = JSON.parse(content) as { $id: string };
    const validate = ajv.getSchema(read.$id) ?? ajv.compile(read);
    expect([validate(value), validate.errors]).toEqual([true, null]);
  };
  const start = (workflow: string, workflowId: string, input: unknown) =>
    client.workflow.start(workflow, { taskQueue: 'ebrc', workflowId, args: [input] });

  it('start fileRemittances with a push message', async () => {
    const input = { mode: 'test', exporterId, reference: 'SDK-1', message: message(item('CON/12')), madeBy: 'erp' };
    await conforms('fileRemittances.input', input);
    const result: unknown = await (await start('fileRemittances', 'file/test/SDK-1', input)).result();
    expect(result).toMatchObject({ state: 'certified', counts: { rows: 1, certified: 1, archived: 1 } });
    await conforms('fileRemittances.result', result);
    expect(await json(['show', 'SDK-1'])).toMatchObject({ state: 'certified', madeBy: 'erp' });
  });

  const noInputs: Record<string, Record<string, unknown>> = {
    'another mode': { mode: 'live', message: {} },
    'a message that is none': { mode: 'test', message: { uploadType: '103' } },
    'an exporter that nobody knows': { mode: 'test', exporterId: 'c0ffee00-0000-4000-8000-000000000000' },
    nothing: {},
  };
  it('get an answer, not an endless retry, for what is no input', async () => {
    const before = service.accepted();
    for (const [what, change] of Object.entries(noInputs)) {
      const reference = `SDK-${what.replace(/ /gu, '-')}`;
      const whole = { exporterId, reference, message: message(item('CON/13')), ...change };
      const handle = await start('fileRemittances', `file/test/${reference}`, what === 'nothing' ? {} : whole);
      const result = (await handle.result()) as Filing;
      await conforms('fileRemittances.result', result);
      expect(result.errors.length).toBeGreaterThan(0);
      expect(result.state).not.toBe('certified');
    }
    expect(service.accepted()).toBe(before);
  });

  it('start onboardExporter, which waits for credentials and continues with them', async () => {
    const { username, password, iec } = service.accounts[1];
    const input = { mode: 'test', name: 'Second Exporter', email: SECOND, iec, startedBy: 'erp' };
    await conforms('onboardExporter.input', input);
    const handle = await start('onboardExporter', 'onboard/test/of-another-sdk', input);
    let id: string | undefined;
    while (!id) {
      const progress: { state: string; exporterId: string } = await handle.query('exporter');
      if (progress.state === 'needs_credentials') id = progress.exporterId;
    }
    const args = ['credentials', id, '--username', username, '--password-stdin', '--wait'];
    const given = await run(args, { input: password });
    expect(given.json()).toMatchObject({ exporterId: id });
    const result: unknown = await handle.result();
    expect(result).toMatchObject({ state: 'ready', exporterId: id });
    await conforms('onboardExporter.result', result);
  });
});

describe('at the end', () => {
  it('nothing was filed twice', () => {
    expect(service.filedTwice()).toEqual([]);
  });
});
