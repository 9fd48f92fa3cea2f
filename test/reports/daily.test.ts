import { Workbook, type Worksheet } from 'exceljs';
import { acknowledgeFinding, listFindings } from '../../src/ledger/findings';
import { compareCompany } from '../../src/ledger/reconciliation/compare';
import { createApiCallAudit } from '../../src/ledger/service/api-calls';
import { inSnapshot } from '../../src/ledger/reports/scope';
import { dailyReport, type ReportInput } from '../../src/reports/make';
import type { Report, Value } from '../../src/reports/report';
import { writeReportHtml } from '../../src/reports/write-html';
import { writeReportWorkbook } from '../../src/reports/write-workbook';
import { hashOfKey } from '../../src/budget/budget';
import { EXPORTER, HOUR_MS, IEC, irmRecord, knowExporter, readBalance, readIrms, tell } from '../ledger/filed';
import { useTestDatabase } from '../support/postgres';
import { reportOn } from './report-input';

/** Noon in Asia/Kolkata. */
const NOON = new Date('2026-02-20T06:30:00Z');
const ON = '2026-02-20';
const before = (days: number, hours = 0) => new Date(NOON.getTime() - (days * 24 + hours) * HOUR_MS);
const EVIL = '<img src=x onerror=alert(1)>=1+1';

const ledger = useTestDatabase();
let report: Report;
const requestOf = (more: Partial<ReportInput> = {}): ReportInput => ({ ...reportOn(ON), ...more });

beforeAll(async () => {
  await knowExporter(ledger);
  const row = (n: number, amount: number) => ({ sbCumInvoiceNumber: String(100 + n), mappedIRMAmountFCC: amount });
  await tell(ledger, {
    reference: 'GOOD',
    madeAt: before(5),
    hours: 1,
    rows: [
      { ...row(1, 1_000), becomes: { certificate: 'EB1' } },
      { ...row(2, 500), becomes: { certificate: 'EB2', archived: false } },
    ],
  });
  await tell(ledger, {
    reference: 'MIXED',
    madeAt: before(3),
    hours: 5,
    rows: [
      { ...row(3, 300), becomes: { certificate: 'EB3' } },
      { ...row(4, 200), portCode: 'INMAA1', becomes: { errors: [`ERR-08: ${EVIL}`, 'ERR23 balance'] } },
    ],
  });
  await tell(ledger, { reference: EVIL, madeAt: before(2), rows: [row(5, 700)] });
  await readBalance(ledger, 8_200, before(1));
  // The ledger as a reconciliation that read no certificate of these days leaves it: three are missing at the
  // authority.
  await compareCompany(ledger.pool, {
    ...{ mode: 'test', iec: IEC, exporterId: EXPORTER, checks: ['certificates'], overdueAfterMs: HOUR_MS },
    windows: [{ from: '2026-02-01', to: ON, readAt: Date.now() + HOUR_MS, whole: true }],
  });
  await ledger.pool.query('UPDATE findings SET first_seen_at = $1, last_seen_at = $1', [before(1)]);
  const [first] = await listFindings(ledger.pool, { mode: 'test', kind: 'ours_not_theirs' });
  await acknowledgeFinding(ledger.pool, { mode: 'test', id: first?.id ?? '', by: 'ravi', note: 'known' });
  const audit = createApiCallAudit({ pool: ledger.pool, mode: 'test' });
  const nothing = { exporterId: null, kind: null, errorCode: null, requestId: null };
  const call = { operation: 'pushIrm', attempt: 1, ...nothing } as const;
  for (const second of [1, 2, 3]) {
    audit.recordApiCall({ ...call, at: new Date(before(0, 2).getTime() + second * 1_000), status: 200, latencyMs: 5 });
  }
  audit.recordApiCall({ ...call, at: before(0, 1), status: 429, latencyMs: 5 });
  await audit.close();
  report = await dailyReport(ledger.pool, requestOf());
});

const group = (id: string, of = report) => {
  const found = of.groups.find((each) => each.id === id);
  if (!found) throw new Error(`no group ${id}`);
  return found;
};
const figures = (id: string, of = report): Record<string, Value> =>
  Object.fromEntries(group(id, of).figures.map((figure) => [figure.id, figure.value]));
const rowsOf = (id: string, table: string) => group(id).tables.find((each) => each.id === table)?.rows ?? [];
const trend = (id: string, series = 0) => group(id).trend?.series[series]?.values.slice(-7);

it('has the ten groups, each with a definition and thirty days of trend', () => {
  expect(report.groups.map(({ id }) => id)).toEqual(
    'unknown funnel latency rejections irms ageing breaks credentials quota archive'.split(' '),
  );
  for (const { id, definition, trend: days } of report.groups) {
    expect(definition.length).toBeGreaterThan(40);
    if (id !== 'irms') expect(days?.categories).toHaveLength(30);
    expect(days?.categories.at(-1)).toBe(ON);
  }
});

it('counts unknown outcomes with their age and what is at risk', () => {
  expect(figures('unknown')).toEqual({ filings: 1, older_than_24h: 1, oldest_hours: 48, at_risk_usd: '700' });
  expect(trend('unknown')).toEqual([0, 0, 0, 0, 1, 1, 1]);
  expect(rowsOf('unknown', 'unknown')[0]?.[0]).toMatchObject({
    href: `https://ui.example.test/${encodeURIComponent(`file/test/${EVIL}`)}`,
  });
});

it('counts rows from the upload to the archive', () => {
  const [uploaded, passed, acknowledged, processed, fetched, archived] = [5, 5, 4, 3, 3, 2];
  const steps = { uploaded, passed, acknowledged, processed, fetched, archived };
  expect(figures('funnel')).toEqual({ ...steps, conversion: 0.4 });
  expect(trend('funnel')).toEqual([0, 2, 0, 2, 1, 0, 0]);
});

it('measures how long the authority takes', async () => {
  const hours = { p50_hours: 3, p95_hours: 4.8, max_hours: 5 };
  expect(figures('latency')).toEqual({ requests: 2, ...hours, over_2h: 0.5, over_4h: 0.5 });
  expect(group('latency').charts?.[0]?.series[0]?.values).toEqual([0, 0, 1, 0, 0, 1, 0]);
  // A send that nobody answered has no such time, whatever ended it.
  const end = (at: Date | null) =>
    ledger.pool.query(
      'UPDATE attempts SET ended_at = $2 WHERE filing_id = (SELECT filing_id FROM filings WHERE reference = $1)',
      [EVIL, at],
    );
  await end(before(0, 1));
  expect(figures('latency', await dailyReport(ledger.pool, requestOf()))).toEqual(figures('latency'));
  await end(null);
});

it('ranks rejections by code, exporter and port', () => {
  expect(figures('rejections')).toEqual({ settled: 4, rejected: 1, first_pass_yield: 0.75, escape_rate: 0.25 });
  expect(rowsOf('rejections', 'by_code')).toEqual([
    ['ERR23', 1, 1],
    ['ERR8', 1, 1],
  ]);
  expect(rowsOf('rejections', 'by_port')).toEqual([['INMAA1', 1, 1]]);
  expect(trend('rejections', 1)).toEqual([0, 0, 0, 1, 0, 0, 0]);
});

it('shows what of the remittances is available, reserved and unmapped', () => {
  const balances = { available_usd: '8200', reserved_usd: '700', utilised_usd: '1800', unmapped_over_180_usd: '0' };
  expect(figures('irms')).toEqual(balances);
  expect(rowsOf('irms', 'irms_by_currency')).toEqual([['USD', 1, '8200', '700', '1800', '0', '7500', '0', '0']]);
  expect(trend('irms')).toEqual([10_000, 10_000, 10_000, 10_000, 10_000, 8_200, 8_200]);
});

it('counts what the reconciliation found, acknowledged or not', () => {
  expect(figures('breaks')).toEqual({ open: 3, acknowledged: 1, ours_not_theirs: 3, value_usd: '1800' });
  expect(trend('breaks')).toEqual([0, 0, 0, 0, 0, 3, 3]);
  expect(rowsOf('breaks', 'findings')).toHaveLength(3);
});

it('says that there are more rows than are listed where there are', async () => {
  const listed = async (rows: number) => {
    const tables = group('breaks', await dailyReport(ledger.pool, requestOf({ rows }))).tables;
    const found = tables.find(({ id }) => id === 'findings');
    return [found?.rows.length, found?.cut];
  };
  expect([await listed(2), await listed(3)]).toEqual([
    [2, true],
    [3, false],
  ]);
});

it('shows credentials, limits and the archive', () => {
  expect(figures('credentials')).toMatchObject({ ready: 1, pending: 0, invalid: 0, locked: 0, blocked: 0 });
  expect(figures('quota')).toEqual({ calls: 4, refused: 1, waiting: 0, certificates: 3, entities: 1 });
  expect(rowsOf('quota', 'classes').find(([name]) => name === 'push')).toEqual(['push', 10, 4, 3, 0.3, 1, 0]);
  expect(figures('archive')).toMatchObject({ certificates: 3, missing: 1, problem: 0, verified: 2 / 3 });
  expect(rowsOf('archive', 'gaps').map(([number]) => number)).toEqual(['EB2']);
});

it('looks back: an earlier day has the figures of its end', async () => {
  const earlier = await dailyReport(ledger.pool, requestOf({ on: '2026-02-16' }));
  expect(figures('unknown', earlier)).toEqual({ filings: 0, older_than_24h: 0, oldest_hours: null });
  expect(figures('funnel', earlier)).toMatchObject({ uploaded: 2, processed: 2 });
  expect(figures('breaks', earlier)).toEqual({ open: 0, acknowledged: 0 });
  // Both certificates are newer than the balance that was read by then.
  expect(figures('irms', earlier)).toMatchObject({ available_usd: '10000', reserved_usd: '1500' });
});

it('counts a remittance whose date is none among the oldest', async () => {
  for (const [n, irmIssueDate] of ['00000000', '31022026', '01010000', 'unknown'].entries()) {
    const record = { ...irmRecord(100), irmNumber: `UNDATED${n}`, irmIssueDate, remittanceDate: null };
    await readIrms(ledger, [record], before(0, 3));
  }
  const undated = await dailyReport(ledger.pool, requestOf());
  expect(figures('irms', undated)).toMatchObject({ available_usd: '8600', unmapped_over_180_usd: '400' });
});

it('reserves nothing of a remittance that is overdrawn', async () => {
  await readIrms(ledger, [{ ...irmRecord(-50), irmNumber: 'OVERDRAWN' }], before(0, 3));
  const overdrawn = await dailyReport(ledger.pool, requestOf());
  expect(figures('irms', overdrawn)).toMatchObject({ available_usd: '8550', reserved_usd: '700' });
});

it('is made while no other is: each takes a connection, and who may look asks as often as it likes', async () => {
  let [now, most] = [0, 0];
  const make = () =>
    inSnapshot(ledger.pool, async (db) => {
      most = Math.max(most, (now += 1));
      await db.query('SELECT 1');
      now -= 1;
    });
  await Promise.allSettled([make(), inSnapshot(ledger.pool, () => Promise.reject(new Error('no report'))), make()]);
  await Promise.all(Array.from({ length: 5 }, make));
  expect([now, most]).toEqual([0, 1]);
});

it('is of one mode alone', async () => {
  await ledger.pool.query(
    `INSERT INTO budget_tickets (ticket, key_hash, rate_class, owner, lease_until)
     SELECT gen_random_uuid(), $1, 'push', gen_random_uuid(), clock_timestamp() + interval '1 hour'`,
    [hashOfKey('dev_key')],
  );
  expect(figures('quota', await dailyReport(ledger.pool, requestOf()))).toMatchObject({ waiting: 1 });
  const live = await dailyReport(ledger.pool, requestOf({ mode: 'live' }));
  expect(figures('unknown', live)).toMatchObject({ filings: 0 });
  expect(figures('archive', live)).toMatchObject({ certificates: 0 });
  expect(figures('quota', live)).toMatchObject({ calls: 0, refused: 0, waiting: 0 });
});

it('marks what is used of the contract in live mode from 80 % on', async () => {
  await ledger.pool.query(
    `INSERT INTO exporters (exporter_id, mode, name, email, state)
     SELECT 'live-' || n, 'live', 'N', n || '@example.test', 'ready' FROM generate_series(1, 8) n`,
  );
  const marked = async (exporters: number, mode: 'live' | 'test' = 'live') => {
    const made = await dailyReport(ledger.pool, requestOf({ mode, quota: { certificates: 250, exporters } }));
    const found = group('quota', made).figures.find(({ id }) => id === 'entities');
    return [found?.label, found?.alarm ?? false];
  };
  expect(await marked(11)).toEqual(['Exporters (included: 11)', false]);
  expect(await marked(10)).toEqual(['Exporters (included: 10)', true]);
  expect((await marked(1, 'test'))[1]).toBe(false);
});

it('lists the filings that wait for somebody, until they have moved on', async () => {
  const rows = [{ sbCumInvoiceNumber: '777', mappedIRMAmountFCC: 1 }];
  const filingId = await tell(ledger, { reference: 'WAITS', madeAt: before(1, 2), rows, unsent: true });
  await ledger.pool.query(`UPDATE filings SET attention = 'Approve it.' WHERE filing_id = $1`, [filingId]);
  const waiting = async (on?: string) =>
    group('funnel', await dailyReport(ledger.pool, requestOf(on ? { on } : {}))).tables.find(
      ({ id }) => id === 'waiting',
    )?.rows;
  expect(await waiting()).toContainEqual([
    expect.anything(),
    'WAITS',
    expect.anything(),
    before(1, 2),
    26,
    'Approve it.',
  ]);
  expect(JSON.stringify(await waiting('2026-02-16'))).not.toContain('WAITS');
  await ledger.pool.query('UPDATE filings SET attention = NULL WHERE filing_id = $1', [filingId]);
  expect(JSON.stringify(await waiting())).not.toContain('WAITS');
});

describe('as a workbook', () => {
  let workbook: Workbook;
  beforeAll(async () => {
    workbook = new Workbook();
    const bytes = await writeReportWorkbook(report, { grouping: 'indian' });
    await workbook.xlsx.load(bytes as unknown as ArrayBuffer);
  });
  const cells = (sheet: Worksheet | undefined) =>
    (sheet?.getSheetValues() ?? []).flatMap((row) => (Array.isArray(row) ? [row.slice(1)] : []));

  it('has an overview and a sheet for each group', () => {
    expect(workbook.worksheets.map(({ name }) => name)).toEqual([
      'Overview',
      ...report.groups.map(({ title }) => title),
    ]);
    const overview = cells(workbook.getWorksheet('Overview'));
    expect(overview).toContainEqual(['Unknown outcomes', 'Value at risk', 700, 'USD', '']);
  });

  it('holds numbers as numbers, dates as dates, filters, and texts that do not run', () => {
    const sheet = workbook.getWorksheet('Unknown outcomes');
    const row = cells(sheet).find((each) => each[1] === EVIL);
    expect(row?.[6]).toBe(700);
    // Noon by the clock of Asia/Kolkata, which a workbook cannot say.
    expect(row?.[3]).toEqual(new Date('2026-02-18T12:00:00Z'));
    expect(row?.[8]).toBe('wait until 2026-02-18 12:00');
    expect(row?.[0]).toMatchObject({ hyperlink: expect.stringContaining('https://ui.example.test/') as string });
    expect(sheet?.getTables().length).toBeGreaterThan(1);
  });
});

describe('as a page', () => {
  it('escapes what others wrote and asks for nothing', () => {
    const html = writeReportHtml(report, { grouping: 'western' });
    expect(html).not.toContain('<img');
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(html).toContain("default-src 'none'");
    const targets = [...html.matchAll(/\s(?:src|href|xlink:href)="([^"]+)"/gu)].map(([, target = '']) => target);
    expect(targets.filter((target) => !/^(#|https:\/\/ui\.example\.test\/)/u.test(target))).toEqual([]);
    expect(html).not.toMatch(/url\((?!#)|@import/u);
    expect(html.match(/<svg /gu)?.length).toBeGreaterThan(8);
  });
});

it('counts a row whose certificate was found after a lost answer as accepted: no step has more than the one before', async () => {
  await ledger.pool.query(
    `UPDATE attempts SET request_id = NULL, request_from = NULL WHERE filing_id = (SELECT filing_id FROM filings WHERE reference = 'GOOD')`,
  );
  const lost = await dailyReport(ledger.pool, requestOf());
  expect(figures('funnel', lost)).toMatchObject({ acknowledged: 4, processed: 3 });
});
