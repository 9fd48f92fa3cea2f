import type { FilingResult } from '../../domain/contracts';
import type { FilingView, RowView } from '../../domain/filing/view';
import { isFilingDate, isoFromFilingDate } from '../../domain/dates';
import { filingName } from '../../domain/names';
import { formatAmount } from '../../domain/money';
import type { FilingSummary } from '../../ledger/filings/filing-view';
import type { Problem } from '../errors';
import { describeProblems } from './problem-text';
import { fields, table } from './terminal';

/** A filing as text for people: its data, its rows, its problems and the next step. */
export function filingText(filing: FilingView): string {
  const head = fields([
    ['Filing', filing.filingId ?? '(not recorded)'],
    ['Reference', filingName(filing)],
    ['Exporter', filing.exporterId],
    ['State', filing.state],
    ['Attention', filing.attention],
    ['Request', filing.requestId],
    ['Acknowledgement', filing.dgftAckId],
    ['Channel', filing.channel],
    ['Made', filing.madeAt && `${filing.madeAt} by ${filing.madeBy ?? 'unknown'}`],
    ['Corrects', filing.corrects],
    ['Corrected by', filing.correctedBy.join(', ')],
    ['Workflow', filing.workflowId],
    ['Evidence', filing.evidence],
    ['Workbook with errors', filing.annotated],
  ]);
  return [head, rowsTable(filing.rows), problemLines(filing), nextStep(filing)]
    .filter((part) => part !== '')
    .join('\n\n');
}

function rowsTable(rows: readonly RowView[]): string {
  if (rows.length === 0) return '';
  return table(
    ['serialNo', 'IRM', 'Document', 'Mapped', 'State', 'eBRC number', 'eBRC date', 'PDF or error'],
    rows.map((row) => [
      row.serialNo,
      row.irmNumber,
      row.sbCumInvoiceNumber,
      `${formatAmount(row.mappedIRMAmountFCC)} ${row.currency}`,
      row.state,
      row.eBRCNumber,
      dateText(row.eBRCDate),
      row.errors.length > 0 ? row.errors.join('; ') : row.document,
    ]),
  );
}

function problemLines({ errors, warnings }: FilingView): string {
  const asProblem = (severity: 'error' | 'warning') => (each: unknown) =>
    isProblem(each)
      ? { ...each, severity }
      : { severity, code: 'observation', message: typeof each === 'string' ? each : JSON.stringify(each) };
  return describeProblems([...errors.map(asProblem('error')), ...warnings.map(asProblem('warning'))]);
}

function isProblem(value: unknown): value is Problem {
  return typeof value === 'object' && value !== null && 'message' in value && 'code' in value;
}

/** The next step for a person, for a filing in this state. */
function nextStep({ filingId, state, asked, exporterId, again }: FilingView): string {
  const id = filingId ?? '';
  switch (state) {
    case 'awaiting_approval':
      return `Next: somebody other than its maker runs \`ebrc approve ${id}\`.`;
    case 'needs_credentials':
      return `Next: \`ebrc credentials ${exporterId} --username USER\` with the portal's new password; the filing continues by itself.`;
    case 'needs_access':
      return 'Next: fix the API key or its agreements with the service; the filing continues by itself.';
    case 'outcome_unknown':
      return asked
        ? `Next: look at the portal, then \`ebrc resolve ${id} --as filed|not-filed --note TEXT\`.`
        : 'Evidence is being gathered; you do not have to do anything now.';
    case 'abandoned':
      return again === null
        ? ''
        : `Next: file it again with \`ebrc file … --again ${again}\`, or under another --reference.`;
    case 'partly_certified':
    case 'rejected':
    case 'needs_correction':
      return (
        id &&
        `Next: correct the errored rows and run \`ebrc correct ${id} FILE\`${again === null ? '' : `, or file all of it again with \`ebrc file … --again ${again}\`, or under another --reference`}.`
      );
    default:
      return '';
  }
}

/** Filings in a table. */
export function filingsTable(filings: readonly FilingSummary[]): string {
  if (filings.length === 0) return 'No filings.';
  return table(
    ['Filing', 'Reference', 'State', 'Rows', 'Certified', 'PDFs', 'Errored', 'Made', 'Attention'],
    filings.map(({ filingId, reference, n, state, counts, madeAt, attention, needsAttention }) => [
      filingId,
      filingName({ reference, n }),
      state,
      counts.rows,
      counts.certified,
      counts.archived,
      counts.errored,
      madeAt?.slice(0, 16).replace('T', ' '),
      attention ?? (needsAttention ? 'yes' : ''),
    ]),
  );
}

/** A line of progress. */
export function progressText({ state, requestId, counts }: FilingResult): string {
  const parts: string[] = [state];
  if (requestId) parts.push(`request ${requestId}`);
  if (counts.rows > 0) parts.push(`${counts.certified} of ${counts.rows} certified, ${counts.archived} PDFs`);
  if (counts.errored > 0) parts.push(`${counts.errored} errored`);
  return parts.join(', ');
}

/** DDMMYYYY as YYYY-MM-DD; anything else as it is. */
export function dateText(date: string | null): string | null {
  return isFilingDate(date) ? isoFromFilingDate(date) : date;
}
