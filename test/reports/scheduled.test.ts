import { createHash } from 'node:crypto';
/** The daily report as a schedule writes it, on a real Temporal server. */
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { DailyReportInput, DailyReportResult } from '../../src/domain/report-contracts';
import { createReportThread, type ReportRenderer } from '../../src/reports/render';
import { readScheduleFile, applySchedules, listSchedules, type ScheduleView } from '../../src/starter/schedules';
import type { dailyReport } from '../../src/workflows/one-step';
import { knowExporter, tell } from '../ledger/filed';
import { closeAfterAll } from '../support/closing';
import { useTestDatabase } from '../support/postgres';
import { eventually } from '../support/processes';
import { useDevServer } from '../support/temporal';
import { startTestWorker, type TestWorker } from '../support/worker';

const sha256Of = (content: Buffer) => createHash('sha256').update(content).digest('hex');

const ROOT = join(__dirname, '..', '..');
const NOW = Date.parse('2026-02-20T02:30:00Z');
const ID = 'ebrc-test-daily-report';

const server = useDevServer();
const ledger = useTestDatabase(knowExporter);
let temporal: Client;
let reports: ReportRenderer;
let worker: TestWorker;

beforeAll(async () => {
  await tell(ledger, { reference: 'LOST', madeAt: new Date(NOW - 30 * 3_600_000), rows: [{}] });
  temporal = await server.client();
  // The thread runs the sources as they are, as the tests do.
  reports = createReportThread({ execArgv: ['-r', join(ROOT, 'scripts', 'typescript.cjs')] });
  worker = await startTestWorker({
    env: { ...(await server.environment()), currentTimeMs: () => Promise.resolve(NOW) },
    sandbox: { url: 'http://127.0.0.1:9/api/v1' },
    ledger,
    adjust: (deps) => ({
      ...deps,
      reports,
      temporalUi: { address: 'https://ui.example.test', namespace: 'default' },
    }),
  });
  const planned = await readScheduleFile(join(ROOT, 'schedules.yaml'));
  await applySchedules({ temporal, mode: 'test', taskQueue: worker.taskQueue, planned });
});
closeAfterAll(async () => {
  await worker?.close();
  await reports?.close();
});

const runsSeen = new Set<string>();

/** Lets the schedule run once more, and answers what `ebrc schedules list` says of the run. */
async function triggered(): Promise<DailyReportResult> {
  await temporal.schedule.getHandle(ID).trigger();
  let last: ScheduleView['lastResult'] | undefined;
  await eventually(async () => {
    last = (await listSchedules({ temporal, mode: 'test' })).find(({ id }) => id === ID)?.lastResult;
    return last?.closedAt != null && !runsSeen.has(last.runId);
  });
  runsSeen.add(last!.runId);
  expect(last).toMatchObject({ status: 'COMPLETED', error: null });
  return last?.result as DailyReportResult;
}

it('is a page and a workbook of the day in the document store; the result has their paths and the figures', async () => {
  const { documents } = worker.deps;
  const first = await triggered();
  expect(first).toMatchObject({ on: '2026-02-20', madeAt: expect.stringMatching(/^2026-02-20T02:30:0/u) as string });
  expect(first.page.document).toMatch(/^test\.DAILY-REPORT-2026-02-20~[0-9a-f]{32}\.html$/u);
  expect(first.workbook.document).toMatch(/^test\.DAILY-REPORT-2026-02-20~[0-9a-f]{32}\.xlsx$/u);
  expect(first.figures).toContainEqual({ group: 'unknown', id: 'older_than_24h', value: 1, alarm: true });
  expect(first.figures).toContainEqual({
    group: 'unknown',
    id: 'at_risk_usd',
    value: expect.any(String) as string,
    currency: 'USD',
    alarm: expect.any(Boolean) as boolean,
  });
  expect(first.alarms).toBeGreaterThan(0);
  expect(new Set(first.figures.map(({ group }) => group)).size).toBeGreaterThanOrEqual(9);
  for (const { document, sha256 } of [first.page, first.workbook]) {
    expect(sha256Of(await documents.read(document))).toBe(sha256);
  }
  const page = (await documents.read(first.page.document)).toString('utf8');
  expect(page).toContain('Daily report of 2026-02-20');
  expect(page).toContain('href="https://ui.example.test/namespaces/default/workflows/file%2Ftest%2FLOST"');
  expect(page).toContain('<svg');

  // The day again: what was read in the morning stays as it was.
  const second = await triggered();
  expect(second.page.document).toContain('DAILY-REPORT-2026-02-20-2~');
  expect(second.workbook.document).toContain('DAILY-REPORT-2026-02-20-2~');
  expect(sha256Of(await documents.read(first.page.document))).toBe(first.page.sha256);
});

it.each<[Partial<DailyReportInput>, string, RegExp]>([
  [{ on: '2026-02-30' }, 'invalid_input', /on: is not a calendar day/],
  [{ on: '2026-02-21' }, 'invalid_input', /has not come yet/],
  [{ mode: 'live' }, 'wrong_mode', /works in test mode/],
])('refuses %j and says why', async (input, type, message) => {
  const run = temporal.workflow.execute<typeof dailyReport>('dailyReport', {
    taskQueue: worker.taskQueue,
    workflowId: `daily-report-${JSON.stringify(input)}`,
    args: [{ mode: 'test', ...input }],
  });
  await expect(run).rejects.toMatchObject({
    cause: { cause: { type, message: expect.stringMatching(message) as string } },
  });
});
