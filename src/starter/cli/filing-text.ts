import type { FilingResult } from '../../domain/contracts';
import { dateText } from '../../domain/dates';
import {
  waitingText,
  type DecisionView,
  type FilingSummary,
  type FilingView,
  type RowView,
} from '../../domain/filing/view';
import type { Waiting } from '../../domain/filing/view';
import { amountText } from '../../domain/money';
import { rowRuns } from '../../domain/rules/duplicates';
import { filingName, type Mode } from '../../domain/names';
import type { Problem } from '../errors';
import { plainText } from '../../domain/text';
import { groupBy } from '../../domain/values';
import { stateCell, describeProblems, nothingFiled } from './texts';
import { apart, fields, localTime, optional, right, table, type Page, type Part } from './page';

/** A filing for people: fields, rows, evidence, problems and the next step. */
export function filingPage(filing: FilingView): Part[] {
  const head = fields([
    ['Filing', filing.filingId],
    ['Reference', filingName(filing)],
    ['Exporter', [filing.exporterName, filing.exporterId].filter(Boolean).join(', ')],
    ['State', stateCell(filing.state)],
    ['Waits for', filing.waiting && waitingText(filing.waiting, (at) => localTime(at) ?? at)],
    ['Attention', filing.attention],
    ['Rate limit', rateLimitText(filing)],
    ['Attempts', attemptsText(filing)],
    ['Request', filing.requestId],
    ['Acknowledgement', filing.dgftAckId],
    ['Channel', filing.channel],
    ['Made', filing.madeAt && `${localTime(filing.madeAt)} by ${filing.madeBy ?? 'unknown'}`],
    ['Corrects', filing.corrects],
    ['Corrected by', filing.correctedBy.join(', ')],
    ['Workflow', filing.workflowId],
    ['Workbook with result', filing.annotated],
  ]);
  const refused = filing.state === 'refused' && nothingFiled(filing.errors.filter(isProblem));
  return apart([
    refused,
    head,
    rowsTable(filing.rows),
    ...evidenceParts(filing),
    ...changedIrmParts(filing),
    decisionsTable(filing.decisions),
    problemLines(filing),
    nextStep(filing),
  ]);
}

function rowsTable(rows: readonly RowView[]): Part | null {
  if (rows.length === 0) return null;
  return table(
    [
      ...[right('Row'), optional('IRM'), 'Document', right('Mapped'), 'State', 'eBRC number', 'eBRC date'],
      ...[optional('eBRC status'), optional('PDF')],
    ],
    rows.map((row) => [
      row.row,
      row.irmNumber,
      row.sbCumInvoiceNumber,
      amountText(row.mappedIRMAmountFCC, row.currency),
      stateCell(row.state),
      row.eBRCNumber,
      dateText(row.eBRCDate),
      row.cancelled,
      [row.pdf, row.pdfNote && `(${row.pdfNote})`].filter(Boolean).join(' '),
    ]),
  );
}

/** Which calls wait because something else uses the API key. */
const rateLimitText = ({ rateLimited }: FilingView): string =>
  rateLimited.length === 0
    ? ''
    : `the service answered 429, so something else uses the API key; no calls before ${rateLimited
        .map(({ rateClass, until }) => `${localTime(until)} (${rateClass})`)
        .join(', ')}`;

/** What became of each attempt to send it. */
const attemptsText = ({ attempts }: FilingView): string =>
  attempts
    .map(
      ({ number, verdict, reason, markedAt, said }) =>
        `${number}: ${verdict}${reason ? ` (${reason})` : ''}, ${localTime(markedAt)}${said ? `: ${said.replace(/\.$/u, '')}` : ''}`,
    )
    .join('; ');

/** What was found against "it was not filed", or against sending it, as last read. */
function evidenceParts({ evidence }: FilingView): (Part | null)[] {
  if (evidence === null) return [];
  const { readAt, settledAt, entries, balances } = evidence;
  const when = readAt === null ? 'Nothing was read yet' : `Evidence of ${localTime(readAt)}`;
  const until = settledAt === null ? '' : `; nobody can say "not filed" before ${localTime(settledAt)}`;
  const rows = [
    ...entries.map(({ name, text }) => [name, text]),
    ...balances.map(({ irmNumber, before, now }) => [
      `Balance of IRM ${irmNumber}`,
      `${amountText(before) ?? 'unknown'} before, ${amountText(now) ?? 'unknown'} now`,
    ]),
  ];
  const heading = `${when}${until}${entries.length === 0 ? '. Nothing speaks against "not filed"' : ''}:`;
  return [heading, rows.length > 0 ? table(['What', 'Found'], rows) : null];
}

/** What changed of its remittances since its maker saw them. */
function changedIrmParts({ changedIrms }: FilingView): Part[] {
  if (changedIrms.length === 0) return [];
  const rows = changedIrms.map(({ irmNumber, what, before, now }) => [irmNumber, what, before, now]);
  return ['Since it was made, its remittances changed:', table(['IRM', 'What', 'Was', 'Is'], rows)];
}

/** What persons decided. */
function decisionsTable(decisions: readonly DecisionView[]): Part | null {
  if (decisions.length === 0) return null;
  return table(
    ['Decided', 'By', 'At', 'Came of it', optional('Note')],
    decisions.map(({ kind, by, principal, at, outcome, why, note }) => [
      kind.replace('_', ' '),
      principal ? by : `${by} (a claimed name)`,
      localTime(at),
      [outcome?.replace('_', ' ') ?? 'waits', why].filter(Boolean).join(': '),
      note,
    ]),
  );
}

function problemLines({ errors, warnings }: FilingView): string {
  const asProblem = (severity: 'error' | 'warning') => (problem: unknown) =>
    isProblem(problem) ? { ...problem, severity } : { severity, code: 'observation', message: plainText(problem) };
  return describeProblems([...errors.map(asProblem('error')), ...warnings.map(asProblem('warning'))]);
}

function isProblem(value: unknown): value is Problem {
  return typeof value === 'object' && value !== null && 'message' in value && 'code' in value;
}

function nextStep({ filingId, state, actions, exporterId, exporterEmail, rows }: FilingView): string {
  const id = filingId ?? '';
  if (actions.includes('approve'))
    return `Next: somebody other than its maker runs \`ebrc approve ${id}\`, with a token of theirs in EBRC_TOKEN.`;
  if (actions.includes('credentials'))
    return `Next: \`ebrc credentials ${exporterEmail ?? exporterId} --username USER\` with the portal's new password, once for all filings of the exporter; they continue by themselves.`;
  if (state === 'needs_access')
    return 'Next: fix the API key or its agreements with the service; the filing continues by itself.';
  if (actions.includes('resolve'))
    return `Next: look at the portal, then \`ebrc resolve ${id} --as filed|not-filed --note TEXT\`.`;
  if (state === 'outcome_unknown') return 'Evidence is being gathered; you do not have to do anything now.';
  if (!actions.includes('correct')) return '';
  const cancelled = rows.filter((row) => row.cancelled !== null && row.correctedBy === null).map(({ row }) => row);
  if (cancelled.length === 0) return `Next: correct the freed rows and run \`ebrc correct ${id} FILE\`.`;
  return `Next: certificates were cancelled. Correct row ${rowRuns(cancelled).join(', ')} in the workbook and run \`ebrc correct ${id} FILE\`; somebody else then approves it.`;
}

/** Says that nothing is listed, and whether the options may be the reason. */
export function nothingListed(what: string, mode: Mode, filter: object): string {
  const narrowed = Object.values(filter).some((value) => value !== undefined);
  return narrowed ? `No ${what} in ${mode} mode match the options.` : `No ${what} in ${mode} mode.`;
}

/** What filings need, one line each; an exporter's credentials are asked for once. */
export function attentionLines(filings: readonly FilingSummary[]): string[] {
  const asking = filings.filter(({ needsAttention }) => needsAttention);
  const question = (filing: FilingSummary) =>
    filing.state === 'needs_credentials' ? filing.exporterId : (filing.filingId ?? filing.workflowId);
  return [...groupBy(asking, question).values()].map(([first, ...others]) => {
    const names = [first, ...others].map((filing) => filingName(filing)).join(', ');
    if (first.state !== 'needs_credentials') return `${names}: ${first.attention}`;
    const { exporterName, exporterEmail, exporterId } = first;
    return `${exporterName ?? exporterId} needs working portal credentials: \`ebrc credentials ${exporterEmail ?? exporterId} --username USER\`. Then these go on by themselves: ${names}.`;
  });
}

/** Filings in a table. */
export function filingsPage(filings: readonly FilingSummary[]): Page {
  return table(
    [
      'Reference',
      'Exporter',
      'State',
      right('Certified'),
      'Made',
      optional('Waits for'),
      optional(right('Errored')),
      optional(right('PDFs')),
      optional('Filing'),
    ],
    filings.map(({ filingId, reference, n, exporterName, exporterId, state, counts, madeAt, waiting }) => [
      filingName({ reference, n }),
      exporterName ?? exporterId,
      stateCell(state),
      `${counts.certified}/${counts.rows}`,
      localTime(madeAt),
      waiting && waitingSummary(waiting),
      `${counts.errored}${correctedText(counts)}`,
      counts.archived,
      filingId,
    ]),
  );
}

const correctedText = ({ corrected }: FilingSummary['counts']): string =>
  corrected > 0 ? ` (${corrected} corrected)` : '';

/** What a listed filing waits for, and the next time that matters. */
function waitingSummary({ for: subject, since, expectedBy, until }: Waiting): string {
  const latest = until ? `at the latest ${localTime(until)}` : `since ${localTime(since)}`;
  return `${subject}, ${expectedBy ? `expected by ${localTime(expectedBy)}` : latest}`;
}

/** A line of progress. */
export function progressText({ state, counts }: FilingResult, waiting: Waiting | null = null): string {
  const parts: string[] = [state];
  // While a filing collects, the waiting text counts the PDFs.
  if (counts.rows > 0) parts.push(`${counts.certified} of ${counts.rows} certified`);
  if (counts.errored > 0) parts.push(`${counts.errored} errored${correctedText(counts)}`);
  if (waiting) parts.push(`waits for ${waitingSummary(waiting)}`);
  return parts.join(', ');
}
