import pino from 'pino';
import type { Deps } from '../../src/activities/dependencies';
import { BULK_COLUMNS } from '../../src/domain/rules/columns';
import type { Finding } from '../../src/domain/rules/finding';
import { readBulkTemplate } from '../../src/ledger/service/bulk-templates';
import { openInput } from '../../src/activities/filings/open';
import { needFiling } from '../../src/ledger/filings/filing';
import { saveInput } from '../../src/ledger/filings/inputs';
import { checkFile } from '../../src/starter/filings/check';
import { templateReading } from '../../src/worker/jobs';
import { workbooksInProcess } from '../../src/workbook/workbooks';
import { writeBulkWorkbook } from '../../src/workbook/write';
import { clientOf, startService, type Service } from '../api/support/service';
import { TEST_SETTINGS } from '../support/settings';
import { mappingRow } from '../../dev/sample-mapping';
import { EXPORTER, knowExporter } from '../ledger/filings/recording';
import { useTestDatabase } from '../support/postgres';

const LABELS = BULK_COLUMNS.map(({ header }) => (header === 'Vostro Type' ? 'Vostro Account' : header));

const NOW = new Date('2026-02-10T06:00:00Z');
const minutesLater = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);

const ledger = useTestDatabase();
let service: Service;
let labels: readonly string[] = LABELS;
let now = NOW;
let deps: Pick<Deps, 'pool' | 'mode' | 'api' | 'workbooks' | 'clock' | 'logger'>;

beforeAll(async () => {
  service = await startService((request, response) => {
    void writeBulkWorkbook([], { labels }).then((file) => {
      expect(request.url).toContain(`/irm/bulk-template?platformCustomerId=${EXPORTER}`);
      response.writeHead(200, { 'content-disposition': 'attachment; filename="ebrc-bulk-base.xlsx"' }).end(file);
    });
  });
  const { api } = clientOf(service.baseUrl);
  const logger = pino({ level: 'silent' });
  deps = { pool: ledger.pool, mode: 'test', api, workbooks: workbooksInProcess, clock: () => now.getTime(), logger };
});
afterAll(async () => {
  await deps.api.close();
  await service.close();
});

const asked = () => service.received.length;
const open = (reference: string, inputRef: string, more: { channel?: 'push' } = {}) =>
  openInput({ ...deps, settings: TEST_SETTINGS } as unknown as Deps, {
    input: { mode: 'test', exporterId: EXPORTER, declaration: 'Y', uploadType: 101, reference, inputRef, ...more },
    workflowId: `file/test/${reference}`,
    run: reference,
  });
const run = () => templateReading(deps).run(new AbortController().signal);

test('the labels are read from the service’s template once an exporter is known, then daily, by one worker', async () => {
  await run();
  expect(asked()).toBe(0);
  await knowExporter(ledger);
  await Promise.all([run(), run()]);
  expect(asked()).toBe(1);
  expect(await readBulkTemplate(ledger.pool, 'test')).toEqual({ labels: LABELS, learnedAt: NOW.toISOString() });
  now = minutesLater(23 * 60);
  await run();
  expect(asked()).toBe(1);

  labels = LABELS.filter((label) => label !== 'Port Code');
  now = minutesLater(25 * 60);
  await run();
  expect(asked()).toBe(2);
  expect((await readBulkTemplate(ledger.pool, 'test'))?.labels).toEqual(LABELS);
  now = minutesLater(25 * 60 + 4);
  await run();
  expect(asked()).toBe(2);
  labels = [...LABELS, 'Drawback'];
  now = minutesLater(27 * 60);
  await run();
  expect((await readBulkTemplate(ledger.pool, 'test'))?.labels).toEqual(labels);
});

test('a check uses the labels in the ledger, and lists which columns are sent', async () => {
  const row = mappingRow();
  const bytes = await writeBulkWorkbook([{ ...row, extra: { 'Vostro Account': 'SVRA', Remarks: 'ask Meera' } }], {
    labels: LABELS,
  });
  const request = { source: { name: 'july.xlsx', bytes }, exporter: EXPORTER };
  const { columns, warnings } = await checkFile({ pool: ledger.pool, mode: 'test' }, request);
  expect(columns?.templateReadAt).toBe(minutesLater(27 * 60).toISOString());
  expect(columns?.optional).toContainEqual(expect.objectContaining({ header: 'Vostro Account' }));
  expect(columns?.own).toEqual([{ column: 'AL', header: 'Remarks' }]);
  expect(warnings.map(({ code }) => code)).toContain('unknown_column');
  const alone = await checkFile({}, request);
  expect(alone.columns?.own.map(({ header }) => header)).toEqual(['Vostro Account', 'Remarks']);
});

test('a mapping that stands in the file twice is one error of the row, not one of the rules and one of the ledger', async () => {
  const twice = [1, 2, 3].map((serialNo) => ({ ...mappingRow(), serialNo }));
  const bytes = await writeBulkWorkbook(twice, { labels: LABELS });
  const { errors } = await checkFile(
    { pool: ledger.pool, mode: 'test' },
    { source: { name: 'july.xlsx', bytes }, exporter: EXPORTER },
  );
  const ofRows = errors.filter(({ field }) => field === null);
  expect(ofRows).toMatchObject([
    { row: 3, code: 'duplicate_mapping', allowDuplicate: '3,4=REASON' },
    { row: 4, code: 'duplicate_mapping', allowDuplicate: '3,4=REASON' },
  ]);
});

test('a client without an IEC is told so: its certificates cannot be looked for', async () => {
  await knowExporter(ledger, 'exporter-9', 'AAGCM4521Z');
  await ledger.pool.query(`UPDATE exporters SET iec = NULL, iec_source = NULL WHERE exporter_id = 'exporter-9'`);
  const source = { name: 'july.xlsx', bytes: await writeBulkWorkbook([mappingRow()], { labels: LABELS }) };
  const { warnings } = await checkFile({ pool: ledger.pool, mode: 'test' }, { source, exporter: 'exporter-9' });
  expect(warnings).toContainEqual(expect.objectContaining({ code: 'iec_unknown', field: 'iec' }));
});

test('what the check of a file warned of is kept with the filing, each warning once', async () => {
  const own: Finding = {
    severity: 'warning',
    code: 'unknown_column',
    row: 1,
    field: null,
    message: 'Remarks stays here.',
  };
  const rows = [mappingRow({ irmAdCode: '510001' })];
  const byRule: Finding = { severity: 'warning', code: 'x', row: 2, field: 'irmAdCode', message: 'y' };
  const inputRef = await saveInput(ledger.pool, { rows, sourceKind: 'workbook', warnings: [own, byRule] });
  const opened = await open('R1', inputRef);
  if (opened.outcome !== 'recorded') throw new Error(JSON.stringify(opened));
  const { warnings } = await needFiling(ledger.pool, opened.filingId);
  expect(warnings).toContainEqual(own);
  expect(new Set(warnings.map((each) => JSON.stringify(each))).size).toBe(warnings.length);
});

test('a filled optional column goes by the bulk channel, whatever was asked for', async () => {
  const row = mappingRow();
  const fileWith = async (reference: string, extra: Record<string, string>) => {
    const rows = [{ ...row, extra, mapping: { ...row.mapping, billNo: reference, sbCumInvoiceNumber: reference } }];
    const inputRef = await saveInput(ledger.pool, { rows, sourceKind: 'workbook', warnings: [] });
    const opened = await open(reference, inputRef, { channel: 'push' });
    if (opened.outcome !== 'recorded') throw new Error(JSON.stringify(opened));
    const { channel, warnings } = await needFiling(ledger.pool, opened.filingId);
    return { channel, codes: (warnings as Finding[]).map(({ code }) => code) };
  };
  expect(await fileWith('7654322', { 'Vostro Account': 'SVRA' })).toEqual({
    channel: 'bulk',
    codes: expect.arrayContaining(['bulk_forced']) as string[],
  });
  expect(await fileWith('7654323', {})).toMatchObject({ channel: 'push' });
});
