import type { Evidence } from '../../activities/filings/looks';
import type { FilingResult } from '../../domain/contracts';
import { dateText } from '../../domain/dates';
import { placeText, waitingText, waitsFor, type FilingView, type OtherUse } from '../../domain/filing/view';
import type { RowView, Waiting } from '../../domain/filing/view';
import { amountText, compareAmounts, subtractAmounts, sumAmounts } from '../../domain/money';
import { filingName, type Mode } from '../../domain/names';
import type { FilingSummary } from '../../domain/filing/view';
import type { Problem } from '../errors';
import { counted, plainText } from '../../domain/text';
import { stateCell, describeProblems, nothingFiled } from './texts';
import { apart, fields, localTime, optional, right, table, toned, type Page, type Part } from './page';

/** A filing for people: fields, rows, evidence, problems and the next step. */
export function filingPage(filing: FilingView): Part[] {
  const head = fields([
    ['Filing', filing.filingId],
    ['Reference', filingName(filing)],
    ['Exporter', [filing.exporterName, filing.exporterId].filter(Boolean).join(', ')],
    ['State', stateCell(filing.state)],
    ['Waits for', filing.waiting && waitingText(filing.waiting, (at) => localTime(at) ?? at)],
    ['Attention', filing.attention],
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
    problemLines(filing),
    nextStep(filing),
  ]);
}

function rowsTable(rows: readonly RowView[]): Part | null {
  if (rows.length === 0) return null;
  return table(
    [right('Row'), optional('IRM'), 'Document', right('Mapped'), 'State', 'eBRC number', 'eBRC date', optional('PDF')],
    rows.map((row) => [
      row.row,
      row.irmNumber,
      row.sbCumInvoiceNumber,
      amountText(row.mappedIRMAmountFCC, row.currency),
      stateCell(row.state),
      row.eBRCNumber,
      dateText(row.eBRCDate),
      row.document,
    ]),
  );
}

/** The evidence for and against an unknown outcome, as last gathered. */
function evidenceParts({ evidence, otherUses, state }: FilingView): (Part | null)[] {
  if (evidence === null) return [];
  const found = evidence as Partial<Evidence>;
  const { balances = [], agreeing = [], contradicted = [], adopted = [], gatheredAt, sentAt } = found;
  const looked = found.looked ? 'looked at completely' : `not looked at completely: ${found.problem ?? 'unknown why'}`;
  const settled = found.openRows === 0;
  // A person or another attempt may have settled the outcome since.
  const past = state !== 'outcome_unknown';
  const conclusion = settled
    ? toned('every row has one', 'good')
    : found.openRows && `${counted(found.openRows, 'row')} without one${past ? ' then' : ''}`;
  const rows = [
    ['Certificates', looked, conclusion],
    ...adopted.map(({ eBRCNumber }) => [eBRCNumber, 'certifies a row', toned('filed', 'good')]),
    ...agreeing.map((number) => [
      number,
      'agrees with a row, but may be another filing’s',
      toned('perhaps filed', 'waits'),
    ]),
    ...contradicted.map(({ eBRCNumber, why }) => [eBRCNumber, `would fit, but ${why}`, toned('does not agree', 'bad')]),
    // Once every row has its certificate, balances decide nothing, and other filings may have moved them since.
    ...(settled ? [] : balances.map((balance) => balanceRow(balance, otherUses))),
  ];
  return [
    `Evidence of ${localTime(gatheredAt) ?? 'an unknown time'}${past ? ', before the outcome was known' : ''}${sentAt ? `, for what was sent at ${localTime(sentAt)}` : ''}:`,
    table(['What', 'Found', 'Speaks for'], rows),
  ];
}

function balanceRow({ irmKey, before, after }: Evidence['balances'][number], otherUses: readonly OtherUse[]) {
  // The key has the AD code in comparable form; banks and workbooks write seven digits.
  const [irm = irmKey, adCode = ''] = irmKey.split(' ');
  const what = `Balance of IRM ${irm}, AD code ${adCode.padStart(7, '0')}`;
  if (before === null || after === null) return [what, 'was not read before and after the send', 'nothing'];
  const others = otherUses.filter((use) => use.irmKey === irmKey);
  const named = others.map(
    ({ reference, filingId, amount, certified }) =>
      `${amountText(amount)} ${certified ? '' : 'perhaps '}by ${reference} (${filingId})`,
  );
  const used = named.length > 0 ? `; used since: ${named.join(', ')}` : '';
  if (compareAmounts(before, after) === 0)
    return [what, `${amountText(after)}, as before the send${used}`, toned('perhaps not filed', 'waits')];
  const changed = `${amountText(before)} before, ${amountText(after)} now: ${amountText(subtractAmounts(after, before))}`;
  // Other filings' use explains a change of that size and no more. Uses that are not certified leave it undecided.
  const isLeft = (uses: readonly OtherUse[]) =>
    compareAmounts(subtractAmounts(before, after), sumAmounts(uses.map(({ amount }) => amount))) > 0;
  const undecided = isLeft(others.filter(({ certified }) => certified)) ? 'nothing' : 'perhaps not filed';
  return [what, `${changed}${used}`, toned(isLeft(others) ? 'perhaps filed' : undecided, 'waits')];
}

function problemLines({ errors, warnings }: FilingView): string {
  const asProblem = (severity: 'error' | 'warning') => (problem: unknown) =>
    isProblem(problem) ? { ...problem, severity } : { severity, code: 'observation', message: plainText(problem) };
  return describeProblems([...errors.map(asProblem('error')), ...warnings.map(asProblem('warning'))]);
}

function isProblem(value: unknown): value is Problem {
  return typeof value === 'object' && value !== null && 'message' in value && 'code' in value;
}

function nextStep({ filingId, state, asked, exporterId, again, correctedBy, rows }: FilingView): string {
  const id = filingId ?? '';
  switch (state) {
    case 'awaiting_approval':
      return `Next: somebody other than its maker runs \`ebrc approve ${id}\`, with a token of theirs in EBRC_TOKEN.`;
    case 'needs_credentials':
      return `Next: \`ebrc credentials ${exporterId} --username USER\` with the portal's new password; the filing continues automatically.`;
    case 'needs_access':
      return 'Next: fix the API key or its agreements with the service; the filing continues automatically.';
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
      if (correctedBy.length > 0 && !rows.some((row) => row.state === 'needs_correction')) return '';
      return (
        id &&
        `Next: correct the errored rows and run \`ebrc correct ${id} FILE\`${again === null ? '' : `, or file all of it again with \`ebrc file … --again ${again}\`, or under another --reference`}.`
      );
    default:
      return '';
  }
}

/** Says that nothing is listed, and whether the options may be the reason. */
export function nothingListed(what: string, mode: Mode, filter: object): string {
  const narrowed = Object.values(filter).some((value) => value !== undefined);
  return narrowed ? `No ${what} in ${mode} mode match the options.` : `No ${what} in ${mode} mode.`;
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
function waitingSummary({ for: subject, since, queue, expectedBy, until }: Waiting): string {
  const latest = until ? `at the latest ${localTime(until)}` : `since ${localTime(since)}`;
  const when = expectedBy ? `expected by ${localTime(expectedBy)}` : latest;
  return [subject, queue && placeText(queue), when].filter(Boolean).join(', ');
}

/** A line of progress. */
export function progressText({ state, counts, asked }: FilingResult, waiting: Waiting | null = null): string {
  const parts: string[] = [state];
  // While a filing collects, the waiting text counts the PDFs.
  if (counts.rows > 0) parts.push(`${counts.certified} of ${counts.rows} certified`);
  if (counts.errored > 0) parts.push(`${counts.errored} errored${correctedText(counts)}`);
  const subject = waiting ? waitingSummary(waiting) : waitsFor({ state, asked }, counts);
  if (subject && state !== 'refused') parts.push(`waits for ${subject}`);
  return parts.join(', ');
}
