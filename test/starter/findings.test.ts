/** `ebrc findings`, `list` and `show`, through the command line, on a ledger that a reconciliation has left. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { runProgram } from '../../src/starter/cli/program';
import { createEbrcReader } from '../../src/starter/reader';
import type { FindingView } from '../../src/domain/reconciliation/findings';
import type { FilingView, FilingSummary } from '../../src/domain/filing/view';
import { mapping } from '../../dev/sample-mapping';
import { Workbook } from 'exceljs';
import { isoFromFilingDate } from '../../src/domain/dates';
import type { BankListEntry } from '../../src/ledger/certificates/bank-list';
import { saveCertificates, type CertificateView } from '../../src/ledger/certificates/certificates';
import { markArchived } from '../../src/ledger/certificates/pdfs';
import { compareCompany } from '../../src/ledger/reconciliation/compare';
import { markBad, markRejected } from '../../src/ledger/vault/credentials';
import { detailOf, EXPORTER, HOUR_MS, IEC, irmRecord, knowExporter, NOW, readIrms, tell } from '../ledger/filed';
import { irmCursor } from '../../src/domain/identity';
import type { ExporterView, IrmView } from '../../src/starter/exporters/views';
import { cleanEnvironment, ebrc } from '../support/command-line';
import { testFolder } from '../support/folder';
import { useTestDatabase } from '../support/postgres';

const ledger = useTestDatabase();
const folder = testFolder();
let env: Record<string, string>;
const row = (n: number) => ({
  ...{ sbCumInvoiceNumber: String(100 + n), billNo: `KVR/26/${n}` },
  ...(n === 2 && { isGstAvail: 'Y' as const, gstinInvoiceNumber: 'GST-77', gstinInvoiceDate: '05012026' }),
  becomes: { certificate: `EB${n}` },
});

beforeAll(async () => {
  env = { DATABASE_URL: ledger.url, EBRC_MODE: 'test' };
  await knowExporter(ledger);
  await tell(ledger, { reference: 'GOOD', madeAt: NOW, hours: 1, rows: [row(1), row(2)] });
  // There is no document store here.
  await ledger.pool.query('UPDATE certificates SET pdf_document = NULL');
  // A whole reading of those days that showed neither certificate.
  await compareCompany(ledger.pool, {
    ...{ mode: 'test', iec: IEC, exporterId: EXPORTER, checks: ['certificates'], overdueAfterMs: HOUR_MS },
    windows: [{ from: '2026-02-01', to: '2026-02-28', readAt: Date.now() + HOUR_MS, whole: true }],
  });
});

const findings = async (...args: string[]): Promise<FindingView[]> => {
  const { code, json } = await ebrc(['findings', ...args, '--json'], { env });
  expect(code).toBe(0);
  return json<FindingView[]>();
};

it('says of findings whose they are and what to do', async () => {
  const { stdout } = await ebrc(['findings'], { env });
  expect(stdout).toMatch(
    /\tKind\tExporter\t[^]*\tDocument\t[^]*\tours_not_theirs\tAsha.*\t10\d\t[^]*What to do:\n+ours_not_theirs\t.*portal/u,
  );
});

it('lists open findings with what to do, quiets one with a note, and keeps it under --all', async () => {
  const open = await findings();
  expect(open).toMatchObject([
    { kind: 'ours_not_theirs', eBRCNumber: 'EB1', ours: { eBRCNumber: 'EB1' }, theirs: null, closedAt: null },
    { kind: 'ours_not_theirs', eBRCNumber: 'EB2' },
  ]);
  expect(open[0]?.advice).toMatch(/portal/u);
  const id = open[0]?.id ?? '';

  const { code, json } = await ebrc(
    ['findings', 'acknowledge', id, '--note', 'cancelled by us', '--by', 'ravi', '--json'],
    { env },
  );
  expect(code).toBe(0);
  const quieted = { id, acknowledgedBy: 'ravi', note: 'cancelled by us', closedAt: null };
  expect(json<FindingView>()).toMatchObject(quieted);
  expect((await findings()).map(({ eBRCNumber }) => eBRCNumber)).toEqual(['EB2']);
  const all = await findings('--all');
  expect(all).toHaveLength(2);
  expect(all.find((each) => each.id === id)).toMatchObject(quieted);
});

it.each([
  ['a finding that is not there', ['999999', '--note', 'x'], /no finding 999999/u],
  ['an empty note', ['1', '--note', '  '], /Give a note/u],
])('refuses to acknowledge %s', async (_what, args, message) => {
  const { code, json } = await ebrc(['findings', 'acknowledge', ...args, '--json'], { env });
  expect(code).toBe(3);
  expect(json<{ errors: { message: string }[] }>().errors[0]?.message).toMatch(message);
});

it('lists those of one kind and exporter alone', async () => {
  expect(await findings('--kind', 'pdf_missing')).toEqual([]);
  expect(await findings('--kind', 'ours_not_theirs', '--exporter', 'exporter-1@example.test')).not.toEqual([]);
  const { code } = await ebrc(['findings', '--exporter', 'nobody@example.test', '--json'], { env });
  expect(code).toBe(3);
});

it('shows no exporter as ready whose portal password is known to be wrong', async () => {
  const shown = async () => (await ebrc(['exporters'], { env })).stdout;
  expect(await shown()).not.toContain('needs_credentials');
  await markBad(ledger.pool, 'exporter-1', 0, 'credentials_invalid');
  expect(await shown()).toMatch(/\tneeds_credentials\t/u);
  expect((await ebrc(['exporter', 'exporter-1'], { env })).stdout).toContain('`ebrc credentials exporter-1@');
});

it.each([
  ['quietly where its reader has enough', 'EPIPE', 0, /^$/u],
  ['with one line where the disk is full', 'ENOSPC', 1, /^Error: the output cannot be written: ENOSPC\n$/u],
])('ends a list %s', async (_what, code, exit, said) => {
  const broken = Object.assign(new Error(code), { code });
  const stdout = new Writable({ highWaterMark: 1, write: (_piece, _encoding, done) => done(broken) });
  let stderr = '';
  const kept = new PassThrough().on('data', (piece: Buffer) => void (stderr += piece.toString()));
  const streams = { stdin: Readable.from([]), stdout, stderr: kept };
  expect(await runProgram(['exporters'], streams, { env: cleanEnvironment(env) })).toBe(exit);
  expect(stderr).toMatch(said);
});

it('says of an exporter whose first password was rejected that it needs another', async () => {
  const states = async () => {
    const listed = (await ebrc(['exporters', '--json'], { env })).json<ExporterView[]>();
    return listed.find(({ exporterId }) => exporterId === 'exporter-3')?.state;
  };
  await knowExporter(ledger, 'exporter-3', 'AAGCM4521N');
  const { pool } = ledger;
  const submit = (version: number) =>
    pool.query(
      `INSERT INTO credential_versions (exporter_id, version, state) VALUES ('exporter-3', $1, 'unverified')`,
      [version],
    );
  await submit(1);
  await markRejected(pool, 'exporter-3', 1, 'credentials_rejected');
  // It works with what it had before.
  expect(await states()).toBe('ready');
  await pool.query(`UPDATE exporters SET is_active = false, has_credentials = false WHERE exporter_id = 'exporter-3'`);
  expect(await states()).toBe('needs_credentials');
  expect((await ebrc(['exporters'], { env })).stdout).toContain('`ebrc credentials exporter-3@');
  await markRejected(pool, 'exporter-3', 1, 'dgft_username_taken');
  expect((await ebrc(['exporters'], { env })).stdout).toMatch(/Another client has its portal user name: `ebrc cred/u);
  await submit(2);
  expect(await states()).toBe('created');
});

describe('filings', () => {
  const list = async (...args: string[]) => {
    const { code, json } = await ebrc(['list', ...args, '--json'], { env });
    expect(code).toBe(0);
    return json<FilingSummary[]>().map(({ reference }) => reference);
  };

  it('are found by state, by time, and by what they contain, page by page', async () => {
    await tell(ledger, { reference: 'LOST', madeAt: new Date(NOW.getTime() + HOUR_MS), rows: [row(7)] });
    expect(await list()).toEqual(['LOST', 'GOOD']);
    expect(await list('--state', 'outcome_unknown', '--state', 'certified')).toEqual(['LOST', 'GOOD']);
    expect(await list('--state', 'outcome_unknown')).toEqual(['LOST']);
    expect(await list('--search', 'goo')).toEqual(['GOOD']);
    expect(await list('--search', 'eb1')).toEqual(['GOOD']);
    expect(await list('--search', '107')).toEqual(['LOST']);
    expect(await list('--search', 'kvr/26/7')).toEqual(['LOST']);
    expect(await list('--search', 'gst-77')).toEqual(['GOOD']);
    expect(await list('--search', 'nothing like it')).toEqual([]);
    expect(await list('--since', '1m')).toEqual([]);
    expect(await list('--since', '2020-01-01', '--limit', '1')).toEqual(['LOST']);
    expect(await list('--limit', '1', '--after', 'LOST')).toEqual(['GOOD']);
    for (const none of ['july', '2026-02-31', '9999999d'])
      expect((await ebrc(['list', '--since', none], { env })).code).toBe(2);
    expect((await ebrc(['list'], { env: { ...env, EBRC_MODE: 'live' } })).stdout).toBe('No filings in live mode.\n');
    // Some were left out: that there are none is not what was found.
    const found = async (...args: string[]) => (await ebrc(args, { env })).stdout;
    expect(await found('list', '--search', 'nothing')).toBe('No filings in test mode match the options.\n');
    expect(await found('certificates', '--document', 'nothing')).toBe(
      'No certificates in test mode match the options.\n',
    );
  });

  it.each([
    ['shipping bill', '102', 'EB2'],
    ['Bill No', 'kvr/26/2', 'EB2'],
    ['GST invoice', 'gst-77', 'EB2'],
    ['Bill No that the authority alone knows', 'bank/9', 'EB9'],
  ])('have certificates that are found by %s', async (_what, number, found) => {
    const detail = { eBRCNumber: 'EB9', eBRCDate: '05022026', sbCumInvoiceNumber: '109', billNo: 'BANK/9' };
    const theirs = { ...detailOf('EB9', mapping(), NOW), ...detail };
    await saveCertificates(ledger.pool, {
      mode: 'test',
      iec: IEC,
      exporterId: EXPORTER,
      details: [theirs],
      askedAt: NOW,
    });
    const certificates = await ebrc(['certificates', '--document', number, '--json'], { env });
    expect(certificates.json<Entry[]>().map(({ eBRCNumber }) => eBRCNumber)).toEqual([found]);
  });

  it('have certificates that are written with their columns, also where there are none', async () => {
    for (const document of ['102', 'nothing']) {
      const path = join(folder, `${document}.csv`);
      expect((await ebrc(['certificates', '--document', document, '-o', path], { env })).code).toBe(0);
      const [header, first = ''] = (await readFile(path, 'utf8')).split('\n');
      expect(header).toBe(
        'eBRCNumber,date,status,cancelBy,document,billNo,irmNumber,amount,currency,reference,filingId,sha256,pdfNote',
      );
      expect(first.split(',')[0]).toBe(document === '102' ? 'EB2' : '');
    }
  });

  it('have certificates that show until when they may be cancelled, and what is odd about their PDFs', async () => {
    const note = 'its end marker is missing; PDF readers open it all the same';
    const pdf = { document: 'EB1.pdf', sha256: 'f'.repeat(64), bytes: 10, note };
    await markArchived(ledger.pool, { mode: 'test', iec: IEC, eBRCNumber: 'EB1' }, pdf);
    await ledger.pool.query(`UPDATE certificates SET status = 'Cancelled' WHERE ebrc_number = 'EB2'`);
    const shown = async (more: Record<string, string> = {}) => {
      const { json } = await ebrc(['certificates', '--json'], { env: { ...env, ...more } });
      const listed = json<CertificateView[]>().filter(({ eBRCNumber }) => /EB[12]/u.test(eBRCNumber));
      return listed.map(({ cancelBy, pdfNote }) => [cancelBy, pdfNote]);
    };
    expect(await shown()).toEqual([
      ['2026-06-10', note],
      [null, null],
    ]);
    expect((await shown({ EBRC_CANCEL_WITHIN: '10d' }))[0]?.[0]).toBe('2026-02-20');
    const { stdout } = await ebrc(['certificates'], { env });
    expect(stdout).toMatch(/EB1\t.*\t2026-06-10\t.*EB1\.pdf \(its end marker is missing/u);
    expect(stdout).toMatch(/EB2\t.*\tCancelled\t/u);
    const filing = (await ebrc(['show', 'GOOD'], { env })).stdout;
    expect(filing).toContain('EB1.pdf (its end marker is missing');
    expect(filing).toMatch(/Next: certificates were cancelled\. Correct row 2 .*`ebrc correct F-\S+ FILE`/u);
    expect((await ebrc(['show', 'GOOD', '--json'], { env })).json<FilingView>().rows[0]?.pdfNote).toBe(note);
    await ledger.pool.query(`UPDATE certificates SET status = 'Issued', pdf_document = NULL, pdf_note = NULL`);
  });

  it('have certificates that are listed for the bank by document, with what of its value is still open', async () => {
    const part = (billNo: string, mappedIRMAmountFCC: number, certificate: string) => ({
      ...{ sbCumInvoiceNumber: '140', sbCumInvoiceDate: '05012026', sbCumInvoiceValueinFCC: 1_000, portCode: 'INMAA1' },
      ...{ billNo, mappedIRMAmountFCC, becomes: { certificate, archived: false } },
    });
    const rows = [part('P/1', 300, 'EB41'), part('P/2', 200, 'EB42'), part('P/3', 100, 'EB43')];
    await tell(ledger, { reference: 'PARTS', madeAt: NOW, hours: 2, rows });
    await ledger.pool.query(`UPDATE certificates SET status = 'Cancelled' WHERE ebrc_number = 'EB43'`);
    const path = join(folder, 'for-the-bank.xlsx');
    const forBank = (...args: string[]) => ebrc(['certificates', '--for-bank', '--document', '140', ...args], { env });
    const { code, json } = await forBank('-o', path, '--json');
    expect(code).toBe(0);
    expect(json<BankListEntry[]>().map(({ eBRCNumber, open }) => [eBRCNumber, open])).toEqual([
      ['EB41', '500'],
      ['EB42', '500'],
    ]);
    const workbook = new Workbook();
    await workbook.xlsx.readFile(path);
    const [header, first] = workbook.worksheets[0]?.getRows(1, 2) ?? [];
    const { irmNumber, irmDt, irmAdCode } = mapping();
    const cells = Object.fromEntries(
      (header?.values as string[]).slice(1).map((name, at) => [name, first?.getCell(at + 1).value]),
    );
    expect(cells).toMatchObject({
      ...{ 'Shipping bill or document': '140', 'Document date': new Date('2026-01-05'), 'Port code': 'INMAA1' },
      ...{ 'Bill No': 'P/1', 'Document value': 1_000, 'Document currency': 'USD', 'IRM number': irmNumber },
      ...{ 'IRM date': new Date(isoFromFilingDate(irmDt)), 'AD code': irmAdCode, 'eBRC number': 'EB41' },
      ...{ 'eBRC date': new Date('2026-02-10'), Realised: 300, Currency: 'USD', 'Still open': 500 },
    });
    // Paid in another currency, what is open cannot be said.
    await ledger.pool.query(`UPDATE certificates SET currency = 'EUR' WHERE ebrc_number = 'EB42'`);
    const mixed = await forBank('-o', path, '--force', '--json');
    expect(mixed.json<BankListEntry[]>().map(({ open }) => open)).toEqual([null, null]);
    expect((await forBank()).stderr).toContain('-o FILE.xlsx');
    expect((await forBank('-o', join(folder, 'list.csv'))).code).toBe(2);
    await ledger.pool.query(`DELETE FROM filings WHERE reference = 'PARTS'`);
    await ledger.pool.query(`DELETE FROM certificates WHERE document_no = '140'`);
  });

  it('are read by each function of a reader alone, as programs take them out', async () => {
    const documents = { pathOf: (name: string) => name };
    const { filingPages } = createEbrcReader({ pool: ledger.pool, mode: 'test', documents });
    const read: FilingSummary[] = [];
    for await (const page of filingPages()) read.push(...page);
    expect(read.map(({ reference }) => reference)).toEqual(['LOST', 'GOOD']);
  });

  it('say what they wait for, since when, and until when, and what happened to them', async () => {
    await ledger.pool.query(`UPDATE filings SET due_at = '2026-02-10T07:00:00Z' WHERE reference = 'LOST'`);
    const { waiting, history } = (await ebrc(['show', 'LOST', '--history', '--json'], { env })).json<
      FilingView & { history: { state: string | null; text: string }[] }
    >();
    expect(waiting).toEqual({
      for: 'evidence whether it was filed',
      since: expect.any(String) as string,
      expectedBy: null,
      until: '2026-02-10T07:00:00.000Z',
    });
    expect(history.map(({ state }) => state)).toContain('outcome_unknown');
    await ledger.pool.query(
      `INSERT INTO findings (mode, iec, key, kind, filing_id, first_seen_at, last_seen_at)
       SELECT mode, iec, 'lost ' || filing_id, 'outcome_unknown', filing_id, now(), now() FROM filings WHERE reference = 'LOST'`,
    );
    const advice = async () => (await ebrc(['findings', '--kind', 'outcome_unknown'], { env })).stdout;
    expect(await advice()).toMatch(/outcome_unknown\tEvidence .*: nothing has to be done yet/u);
    await ledger.pool.query(`UPDATE filings SET asked = true WHERE reference = 'LOST'`);
    expect(await advice()).toMatch(/outcome_unknown\tIt is not known .* portal/u);
    await ledger.pool.query(`UPDATE filings SET asked = false WHERE reference = 'LOST'`);
    await ledger.pool.query(`DELETE FROM findings WHERE key LIKE 'lost %'`);
    const { stdout } = await ebrc(['list', '--state', 'outcome_unknown'], { env });
    expect(stdout).toMatch(/LOST\t.*\tevidence whether it was filed, at the latest 2026-02-10/u);
  });
});

type Entry = Record<'filingId' | 'eBRCNumber' | 'exporterId' | 'id' | 'irmNumber', string>;

it('prints every list as one document, as lines, and page by page from where the last one ended', async () => {
  await knowExporter(ledger, 'exporter-2', 'AAGCM4521L');
  const irm = irmRecord(10_000);
  const days = ['05012026', '31122025', '05012026'];
  const more = days.map((irmIssueDate, nth) => ({ ...irm, irmNumber: `LIST/${nth}`, irmIssueDate }));
  await readIrms(ledger, [irm, ...more], new Date());
  const lists: [string[], (last: Entry) => string][] = [
    [['list'], ({ filingId }) => filingId],
    [['certificates'], ({ eBRCNumber }) => eBRCNumber],
    [['exporters'], ({ exporterId }) => exporterId],
    [['findings', '--all'], ({ id }) => id],
    [['irms', EXPORTER], (last) => irmCursor(last as unknown as IrmView)],
  ];
  for (const [command, cursorOf] of lists) {
    const all = (await ebrc([...command, '--json'], { env })).json<Entry[]>();
    expect([command, all.length > 1]).toEqual([command, true]);
    const lines = async (...args: string[]) =>
      (await ebrc([...command, '--jsonl', ...args], { env })).stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Entry);
    const names = (entries: Entry[]) => entries.map(cursorOf);
    expect(names(await lines())).toEqual(names(all));
    const first = await ebrc([...command, '--limit', '1', '--json'], { env });
    expect(first.stderr).toContain(`--after "${cursorOf(all[0] as Entry)}"`);
    const paged = first.json<Entry[]>();
    while (paged.length < all.length) {
      const page = await lines('--limit', '1', '--after', cursorOf(paged.at(-1) as Entry));
      expect(page).toHaveLength(1);
      paged.push(...page);
    }
    expect(names(paged)).toEqual(names(all));
    expect(await lines('--after', cursorOf(all.at(-1) as Entry))).toEqual([]);
    expect((await ebrc([...command, '--limit', '0'], { env })).code).toBe(2);
    expect((await ebrc([...command, '--after', 'nothing like it'], { env })).code).toBe(3);
  }
  const none = await ebrc(['certificates', '--document', 'nothing like it', '--json'], { env });
  expect(none.json()).toEqual([]);
});
