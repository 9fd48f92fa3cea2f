import { extname } from 'node:path';
import { filingDateInKolkata, isoFromFilingDate } from '../domain/dates';
import { isoDate } from '../domain/report-contracts';
import { writeOutputFile } from '../documents/output-file';
import { WHAT_TO_DO, type Grouping, type Report } from '../reports/report';
import { reportsInProcess, ROWS_LISTED, workflowLinks, type ReportForm } from '../reports/render';
import type { EbrcReaderDependencies } from './dependencies';
import { UsageError } from './errors';

export interface ReportRequest {
  report: Report['report'];
  path: string;
  /** Day in Asia/Kolkata as YYYY-MM-DD; default: today. */
  on?: string;
  /** Digit grouping: 1,234,567 (the default) or 12,34,567. */
  grouping?: Grouping;
}

/** The path of the report and its figures by group. */
export type ReportOutcome = ReturnType<typeof outcomeOf> & { path: string };

export type ReportDependencies = Pick<EbrcReaderDependencies, 'pool' | 'mode' | 'temporalUi' | 'quota'>;

/** Makes a report from the ledger and writes it. @throws UsageError for an invalid file name or day */
export async function makeReport(deps: ReportDependencies, request: ReportRequest): Promise<ReportOutcome> {
  const { path, grouping = 'western' } = request;
  const form = formOf(path);
  const report = await composeReport(deps, request, ROWS_LISTED[form]);
  await writeOutputFile(path, await reportsInProcess.render(report, { form, grouping }));
  return { path, ...outcomeOf(report) };
}

/** A report as a page to keep, with a name for its file. @throws UsageError for an invalid day */
export async function renderReport(
  deps: ReportDependencies,
  { grouping = 'western', ...request }: Pick<ReportRequest, 'report' | 'on' | 'grouping'>,
): Promise<{ name: string; content: Buffer | string }> {
  const report = await composeReport(deps, request, ROWS_LISTED.html);
  const content = await reportsInProcess.render(report, { form: 'html', grouping });
  return { name: `${report.report}-${report.on}.html`, content };
}

/** A report's figures, without writing a file. @throws UsageError for an invalid day */
export async function figuresOf(
  deps: ReportDependencies,
  request: Pick<ReportRequest, 'report' | 'on'>,
): Promise<ReturnType<typeof outcomeOf>> {
  return outcomeOf(await composeReport(deps, request, ROWS_LISTED.html));
}

async function composeReport(
  deps: ReportDependencies,
  request: Pick<ReportRequest, 'report' | 'on'>,
  rows: number,
): Promise<Report> {
  const now = new Date();
  const on = request.on ?? isoFromFilingDate(filingDateInKolkata(now.getTime()));
  refuseDay(on, now);
  const { dailyReport, ageingReport, readRealisationRules } = await import('../reports/make.js');
  return (request.report === 'daily' ? dailyReport : ageingReport)(deps.pool, {
    mode: deps.mode,
    on,
    now,
    rules: await readRealisationRules(),
    rows,
    workflowUrl: workflowLinks(deps.temporalUi),
    quota: deps.quota,
  });
}

function formOf(path: string): ReportForm {
  const form = extname(path).toLowerCase();
  if (form === '.html') return 'html';
  if (form === '.xlsx') return 'xlsx';
  throw new UsageError(`A report is a workbook or a page: name a file that ends in .xlsx or .html, not ${path}.`);
}

function refuseDay(on: string, now: Date): void {
  if (!isoDate.safeParse(on).success) throw new UsageError(`${on} is not a day as YYYY-MM-DD.`);
  if (on > isoFromFilingDate(filingDateInKolkata(now.getTime()))) {
    throw new UsageError(`${on} is in the future; today is the last possible day of a report.`);
  }
}

/** What somebody has to do, once a filing, from the tables that say so. */
function toDoOf(groups: Report['groups']) {
  const tables = groups.flatMap((group) => group.tables);
  return tables.flatMap(({ columns, rows }) => {
    const [reference, exporter, what] = ['Reference', 'Exporter', WHAT_TO_DO].map((name) =>
      columns.findIndex(({ label }) => label === name),
    );
    if (reference === undefined || exporter === undefined || what === undefined || what < 0) return [];
    const textOf = (row: (typeof rows)[number], at: number) => {
      const value = row[at] ?? '';
      return typeof value === 'object' && 'text' in value ? value.text : String(value);
    };
    return rows.map((row) => ({
      reference: textOf(row, reference),
      exporter: textOf(row, exporter),
      what: textOf(row, what),
    }));
  });
}

function outcomeOf({ report, mode, on, madeAt, groups }: Report) {
  return {
    toDo: toDoOf(groups),
    report,
    mode,
    on,
    madeAt,
    groups: groups.map(({ id, title, definition, figures, trend, tables }) => ({
      id,
      title,
      definition,
      figures,
      trend: trend && { categories: trend.categories, series: trend.series, unit: trend.unit },
      /** Number of rows in each table of the group, by table id. */
      tables: Object.fromEntries(tables.map((table) => [table.id, table.rows.length])),
    })),
  };
}
