import { documentName, DocumentError } from '../documents/stored-document';
import type { StoredDocument } from '../documents/document-store';
import { dailyReportInput, type DailyReportInput, type DailyReportResult } from '../domain/report-contracts';
import { filingDateInKolkata, isoFromFilingDate } from '../domain/dates';
import { IN_PLAIN_WORDS, issueText } from '../domain/issues';
import { otherModeText } from '../domain/values';
import { dailyReport, readRealisationRules } from '../reports/make';
import { ROWS_LISTED, workflowLinks, type ReportForm } from '../reports/render';
import { withRowsCut, type Report } from '../reports/report';
import { refusal } from './application-failure';
import type { Deps } from './dependencies';

/** A limit for the worker's small memory; `ebrc report daily` lists more. */
const WORKBOOK_ROWS = 5_000;
/** Every run of a day keeps its report; more runs than this must be a mistake in the schedule. */
const VERSIONS_A_DAY = 100;

/** Writes the daily report as a page and a workbook under its date; another run on that day writes the next version. */
async function writeDailyReport(deps: Deps, { input }: { input: DailyReportInput }): Promise<DailyReportResult> {
  const { mode, pool, clock, logger } = deps;
  const { data: asked, error } = dailyReportInput.safeParse(input, IN_PLAIN_WORDS);
  if (!asked) {
    const problems = error.issues.map(issueText);
    throw refusal('invalid_input', problems.join('; '));
  }
  if (asked.mode !== mode) {
    const message = otherModeText('The report is for', asked.mode, mode);
    throw refusal('wrong_mode', message);
  }
  const { on = today(deps), grouping } = asked;
  if (on > today(deps)) throw refusal('invalid_input', `on: ${on} has not come yet.`);
  const report = await dailyReport(pool, {
    mode,
    on,
    now: new Date(clock()),
    rules: await readRealisationRules(),
    rows: WORKBOOK_ROWS,
    workflowUrl: workflowLinks(deps.temporalUi),
    quota: deps.quota,
  });
  const page = withRowsCut(report, ROWS_LISTED.html);
  const html = await deps.reports.render(page, { form: 'html', grouping });
  const xlsx = await deps.reports.render(report, { form: 'xlsx', grouping });
  const stored = await store(deps, on, { html, xlsx });
  logger.info({ on, page: stored.html.document, workbook: stored.xlsx.document }, 'the daily report was written');
  return { on, madeAt: report.madeAt.toISOString(), page: stored.html, workbook: stored.xlsx, ...figuresOf(report) };
}

function today({ clock }: Deps) {
  return isoFromFilingDate(filingDateInKolkata(clock()));
}

/** The first version of a day's report with neither a page nor a workbook in the store. */
async function freeVersion({ documents, mode }: Deps, on: string): Promise<number> {
  for (let version = 1; version <= VERSIONS_A_DAY; version += 1) {
    const name = nameOf(on, version);
    const taken = await Promise.all([
      documents.exists(documentName(name, 'html', mode)),
      documents.exists(documentName(name, 'xlsx', mode)),
    ]);
    if (!taken.includes(true)) return version;
  }
  throw refusal('too_many_reports', `There are ${VERSIONS_A_DAY} reports of ${on} already.`);
}

/** Stores both documents under one name. If another run takes the name meanwhile, this one takes the next. */
async function store(deps: Deps, on: string, bytes: Record<ReportForm, Buffer>) {
  const { documents, mode } = deps;
  for (;;) {
    const name = nameOf(on, await freeVersion(deps, on));
    try {
      const html = await documents.put({ name, kind: 'html', mode, buffer: bytes.html });
      const xlsx = await documents.put({ name, kind: 'xlsx', mode, buffer: bytes.xlsx });
      return { html: entryOf(html), xlsx: entryOf(xlsx) };
    } catch (error) {
      if (!(error instanceof DocumentError && error.kind === 'conflict')) throw error;
    }
  }
}

const nameOf = (on: string, version: number) => `daily-report-${on}${version === 1 ? '' : `-${version}`}`;

const entryOf = ({ name, path, sha256, bytes }: StoredDocument) => ({ document: name, path, sha256, bytes });

function figuresOf({ groups }: Report): Pick<DailyReportResult, 'figures' | 'alarms'> {
  const figures = groups.flatMap(({ id: group, figures }) =>
    figures.map(({ id, value, currency, alarm = false }) => ({
      group,
      id,
      value: value instanceof Date ? value.toISOString() : value,
      ...(currency !== undefined && { currency }),
      alarm,
    })),
  );
  return { figures, alarms: figures.filter(({ alarm }) => alarm).length };
}

export const reportActivities = { writeDailyReport };
