/** What the records of a filing's requests come to for its rows. Pure; docs/protocol.md says why. */
import type { StatusRecord } from '../service/request-status';
import { type Certificate, contradiction } from './certificate';
import { type FollowedRow, judgeRecord, numberKey, type RecordJudgement, type RowReport } from './follow';
import type { RowState, Verdict } from './states';

/** A request of the filing with its last record. */
export interface FollowedRequest {
  /** Of its attempt. */
  number: number;
  verdict: Verdict;
  requestId: string;
  /** A person named it: only certificates follow from it, and what it reports as Errored is evidence. */
  named: boolean;
  record: StatusRecord;
  markedAt: number;
  /** Another attempt of the filing may have been filed too: Errored entries then free no row. */
  beside: boolean;
}

export interface RowWithOutcome extends FollowedRow {
  state: RowState;
  certifiedBy: 'record' | 'details' | 'persons' | null;
}

/** What a record changes in a row. */
export interface RowChange {
  position: number;
  status: 'processed' | 'errored';
  number: string | null;
  errors: string[] | null;
  reject: boolean;
}

/** What somebody has to look at. */
export interface Problem {
  text: string;
  row: number | null;
  number: string | null;
}

export interface Outcomes {
  /** By position. */
  changes: Map<number, RowChange>;
  /** Certificates by the record of the filing's own request, and by one that a person named. */
  byRecord: { position: number; number: string }[];
  byDetails: { position: number; number: string }[];
  /** By position, or `request/ATTEMPT` where it concerns no row. */
  problems: Map<string, Problem>;
  /** Other IECs that own requests name. */
  otherIecs: Set<string>;
  /** Attempts whose request has an outcome for every row, and those whose request is Errored without a list. */
  ended: number[];
  erroredEmpty: number[];
}

/** Judges all requests of a filing; the attempt that may have been filed comes first. */
export function outcomesOf(
  iec: string | null,
  requests: readonly FollowedRequest[],
  rows: readonly RowWithOutcome[],
  certificates: ReadonlyMap<string, Certificate>,
): Outcomes {
  const lists = { byRecord: [], byDetails: [], ended: [], erroredEmpty: [] };
  const outcomes: Outcomes = { changes: new Map(), problems: new Map(), otherIecs: new Set(), ...lists };
  for (const request of requests) {
    const judged = judgeRecord(rows, request.record, { iec, certificates, namedByPerson: request.named });
    if (judged.complete) outcomes.ended.push(request.number);
    if (request.named) adoptNamed(request, judged, rows, certificates, outcomes);
    else judgeOwn(request, judged, rows, certificates, outcomes);
  }
  return outcomes;
}

/** Entries of a request that a person named, which are rows of the filing, count as certificates that were found. */
function adoptNamed(
  { markedAt }: FollowedRequest,
  { reports }: RecordJudgement,
  rows: readonly RowWithOutcome[],
  certificates: ReadonlyMap<string, Certificate>,
  { byDetails, byRecord }: Outcomes,
): void {
  for (const row of rows) {
    const report = reports.get(row.position);
    if (row.state !== 'sent' || report?.outcome !== 'processed') continue;
    const certificate = certificates.get(numberKey(report.number));
    if (!certificate || whyNot(row, certificate, markedAt) !== null) continue;
    if (byRecord.some(({ position }) => position === row.position)) continue;
    byDetails.push({ position: row.position, number: certificate.number });
  }
}

/** Why a certificate that a record names is not its row's; null: nothing contradicts. */
const whyNot = (row: RowWithOutcome, certificate: Certificate, markedAt: number): string | null =>
  certificate.firstSeenAt < markedAt ? 'it was there before the attempt' : contradiction(row, certificate);

function judgeOwn(
  request: FollowedRequest,
  judged: RecordJudgement,
  rows: readonly RowWithOutcome[],
  certificates: ReadonlyMap<string, Certificate>,
  outcomes: Outcomes,
): void {
  const { requestId, markedAt, number, verdict } = request;
  const { changes, problems } = outcomes;
  if (judged.erroredEmpty) outcomes.erroredEmpty.push(number);
  for (const other of judged.otherIecs) outcomes.otherIecs.add(other);
  if (judged.problems.length > 0) {
    const text = `The record of request ${requestId} contradicts the filing: ${judged.problems.slice(0, 5).join('; ')}.`;
    problems.set(`request/${number}`, { text, row: null, number: null });
  }
  // Errored frees a row only by the record of the request that the filing goes by, once every row has its outcome.
  const final = verdict === 'accepted' && judged.complete && judged.clean && !request.beside;
  const goesByIt = verdict === 'accepted' || verdict === 'unknown';
  for (const row of rows) {
    const report = judged.reports.get(row.position);
    if (!report) continue;
    const { position } = row;
    const note = (why: string) => problems.set(String(position), problemOf(requestId, row, report, why));
    if (row.state !== 'sent') {
      const why = contradictsOutcome(row, report);
      if (why !== null) note(why);
    } else if (report.outcome === 'errored') {
      const { errors, duplicate } = report;
      if (goesByIt)
        changes.set(position, { position, status: 'errored', number: null, errors, reject: final && !duplicate });
    } else if (changes.get(position)?.status !== 'processed') {
      const certificate = certificates.get(numberKey(report.number));
      const why = certificate ? whyNot(row, certificate, markedAt) : null;
      if (why !== null) note(why);
      else if (certificate) outcomes.byRecord.push({ position, number: certificate.number });
      const named = certificate?.number ?? report.number;
      changes.set(position, { position, status: 'processed', number: named, errors: null, reject: false });
    } else if (numberKey(changes.get(position)?.number ?? '') !== numberKey(report.number)) {
      note(`another request of it reports ${changes.get(position)?.number}`);
    }
  }
}

function problemOf(requestId: string, row: RowWithOutcome, report: RowReport, why: string): Problem {
  const number = report.outcome === 'processed' ? report.number : null;
  const what = number === null ? 'an error' : `certificate ${number}`;
  return { text: `Request ${requestId} reports ${what} for row ${row.row}: ${why}.`, row: row.row, number };
}

/** Why what a request reports contradicts the outcome that a row has; null: it does not. */
function contradictsOutcome(row: RowWithOutcome, report: RowReport): string | null {
  const isProcessed = report.outcome === 'processed';
  if (row.state === 'planned') return isProcessed ? 'the row is to be sent again' : null;
  if (row.state !== 'certified') return isProcessed ? `the row is ${row.state}` : null;
  // Two persons knew what the request said.
  if (row.certifiedBy === 'persons') return null;
  const same = isProcessed && numberKey(report.number) === numberKey(row.number ?? '');
  return same ? null : `the row is certified as ${row.number}`;
}
