import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createDocumentStore } from '../src/documents/document-store';
import type { Certificate } from '../sandbox/authority/world';
import type { FilerReport } from './filer';
import type { Plan } from './plan';
import type { Scenario } from './scenarios';
import type { Stage } from './stage';
import { ASKED_STATES, isAsked, isSettled, readStandings, type Standing } from './watch';

/** The result of a check: figures for the table, and every violation found. */
export interface Verdict {
  figures: [name: string, value: string | number][];
  problems: string[];
}

/** Names of the figures that the summaries show. */
export const FIGURES = {
  filings: 'filings',
  certified: '… certified',
  unknown: '… outcome_unknown, with evidence',
  otherStates: '… other states',
  submissions: 'submissions that reached the service',
  unanswered: '… that got no answer',
  minted: 'certificates minted',
  archived: 'PDFs archived, hashes checked',
  twice: 'mappings filed twice',
  lost: 'filings lost',
} as const;

export interface LedgerRow {
  filingId: string;
  reference: string;
  filingState: string;
  rowState: string;
  eBRCNumber: string | null;
  certifiedBy: string | null;
  irmNumber: string;
  document: string;
  amount: string;
  iec: string;
  pdf: string | null;
  sha256: string | null;
}

/**
 * Compares the sandbox's records with the ledger: no mapping filed twice, no filing without an end or a question to a
 * person, every certificate with the one row that it was filed for, every archived PDF with its recorded hash.
 */
export async function judge(
  stage: Stage,
  plan: Plan,
  report: FilerReport,
  { expectsNoQuestions = false, mayEndOtherwise = false }: Scenario,
): Promise<Verdict> {
  const problems: string[] = [];
  const { sandbox, pool } = stage;
  const standings = await readStandings(pool);
  const rows = await readRows(stage);
  const world = await sandbox.state();
  const certificates = world.accounts.flatMap((account) => account.certificates);

  const doubles = sandbox.doubleFilings();
  for (const { requestIds } of doubles) problems.push(`filed twice: requests ${requestIds.join(', ')}`);

  const lost = lostFilings(plan, standings, report);
  problems.push(...lost);
  const otherwise = standings.filter((each) => each.state !== 'certified' && !isAsked(each));
  // Nothing that is filed is wrong, so that nothing may be refused, or kept from being sent, but twins.
  const twins = new Set(plan.filings.flatMap(({ hasTwin, reference }) => (hasTwin ? [reference] : [])));
  const refused = standings.filter(
    (each) =>
      each.state !== 'certified' &&
      (!isAsked(each) || each.state === 'awaiting_approval') &&
      !twins.has(each.reference),
  );
  if (!mayEndOtherwise) problems.push(...refused.map(({ reference, state }) => `${reference} is ${state}`));
  if (expectsNoQuestions) {
    for (const { reference } of await askedAbout(stage)) problems.push(`a person was asked about ${reference}`);
  }
  problems.push(...report.refused.map((text) => `not started: ${text}`));
  problems.push(...report.wrongAgain.map((text) => `the same command again found another filing: ${text}`));
  problems.push(...report.acceptedElsewhere.map((text) => `filed again under another reference: ${text}`));

  const owners = ownersOf(certificates, rows, problems);
  const archived = await checkPdfs(stage, rows, problems);
  const unknown = standings.filter(isAsked);
  const unknownIds = new Set(unknown.map(({ filingId }) => filingId));
  const filedUnknown = new Set(
    owners.unowned.map(({ holder }) => holder).filter((holder): holder is string => holder !== null),
  );
  const count = (state: string) => standings.filter((each) => each.state === state).length;
  const calls = sandbox.calls();
  const submissions = calls.filter(({ operation }) => operation === 'push-irm' || operation === 'bulk-upload');
  return {
    problems,
    figures: [
      [FIGURES.filings, standings.length],
      [FIGURES.certified, count('certified')],
      [FIGURES.unknown, unknown.length],
      ['    of these at the authority', [...unknownIds].filter((id) => filedUnknown.has(id)).length],
      [FIGURES.otherStates, otherwise.length],
      ['rows', rows.length],
      [FIGURES.submissions, submissions.length],
      [FIGURES.unanswered, submissions.filter(({ status }) => status === null).length],
      [FIGURES.minted, certificates.length],
      ['… with the row they were filed for', owners.owned],
      ['… that fit an outcome_unknown filing', owners.unowned.length],
      [FIGURES.archived, archived],
      ['the same command again, other filing', `${report.again}, ${report.wrongAgain.length}`],
      ['the same rows by another name, accepted', `${report.otherReferences}, ${report.acceptedElsewhere.length}`],
      ['calls / refused with 429', `${calls.length} / ${sum(Object.values(sandbox.refusedByRate()))}`],
      [FIGURES.twice, doubles.length],
      [FIGURES.lost, lost.length],
    ],
  };
}

function lostFilings(plan: Plan, standings: readonly Standing[], { refusedTwins }: FilerReport): string[] {
  const byReference = new Map<string, Standing[]>();
  for (const each of standings) byReference.set(each.reference, [...(byReference.get(each.reference) ?? []), each]);
  const problems = plan.filings.flatMap(({ reference }) => {
    const found = byReference.get(reference) ?? [];
    if (found.length === 0 && refusedTwins.includes(reference)) return [];
    if (found.length === 0) return [`lost: ${reference} is not in the ledger`];
    // One that was cancelled before it was sent may have been filed anew.
    const kept = found.filter(({ state }) => state !== 'abandoned');
    if (kept.length > 1) return [`lost: ${reference} is in the ledger ${kept.length} times`];
    return kept.flatMap((standing) =>
      isSettled(standing) ? [] : [`lost: ${reference} (${standing.filingId}) still stands in ${standing.state}`],
    );
  });
  return problems;
}

/** Filings whose events say that their outcome was unknown or that a person was asked, whatever became of them. */
async function askedAbout({ pool }: Stage): Promise<{ reference: string }[]> {
  const { rows } = await pool.query<{ reference: string }>(
    `SELECT DISTINCT reference FROM filings JOIN events USING (filing_id) WHERE events.state = 'outcome_unknown'`,
  );
  return rows;
}

export async function readRows({ pool }: Stage): Promise<LedgerRow[]> {
  const { rows } = await pool.query<LedgerRow>(
    `SELECT r.filing_id AS "filingId", f.reference, f.state AS "filingState", r.state AS "rowState",
            r.ebrc_number AS "eBRCNumber", r.certified_by AS "certifiedBy", r.mapping->>'irmNumber' AS "irmNumber",
            r.mapping->>'sbCumInvoiceNumber' AS document, r.amount::text AS amount, e.iec,
            c.pdf_document AS pdf, c.pdf_sha256 AS sha256
       FROM filing_rows r
       JOIN filings f USING (filing_id)
       JOIN exporters e ON e.exporter_id = f.exporter_id
       LEFT JOIN certificates c ON c.mode = r.mode AND c.iec = r.iec AND c.ebrc_number = r.ebrc_number`,
  );
  return rows;
}

interface Unowned {
  eBRCNumber: string;
  /** The filing of unknown outcome that it fits. */
  holder: string | null;
}

/** Each certificate of the authority has one row, the one that it was minted for, or fits a row of unknown outcome. */
function ownersOf(
  certificates: readonly Certificate[],
  rows: readonly LedgerRow[],
  problems: string[],
): { owned: number; unowned: Unowned[] } {
  const byNumber = new Map<string, LedgerRow[]>();
  for (const row of rows) {
    if (row.eBRCNumber === null) continue;
    byNumber.set(row.eBRCNumber, [...(byNumber.get(row.eBRCNumber) ?? []), row]);
  }
  const waiting = rows.filter((row) => row.eBRCNumber === null && ASKED_STATES.includes(row.filingState));
  const taken = new Set<LedgerRow>();
  const unowned: Unowned[] = [];
  let owned = 0;
  for (const certificate of certificates) {
    const { eBRCNumber } = certificate;
    const [row, ...more] = byNumber.get(eBRCNumber) ?? [];
    if (more.length > 0) problems.push(`certificate ${eBRCNumber} belongs to ${more.length + 1} rows`);
    if (row) {
      byNumber.delete(eBRCNumber);
      if (isFiledFor(certificate, row)) owned += 1;
      else problems.push(`certificate ${eBRCNumber} stands with a row of ${row.reference} that it was not filed for`);
      continue;
    }
    const fits = waiting.find((candidate) => !taken.has(candidate) && isFiledFor(certificate, candidate));
    if (fits) taken.add(fits);
    else problems.push(`certificate ${eBRCNumber} (${certificate.sbCumInvoiceNumber}) is known to no filing`);
    unowned.push({ eBRCNumber, holder: fits?.filingId ?? null });
  }
  for (const number of byNumber.keys()) problems.push(`the ledger has certificate ${number}, the authority does not`);
  return { owned, unowned };
}

/** The sandbox has the IRM of a certificate, which fetch-details does not show: it distinguishes equal tranches. */
export function isFiledFor(certificate: Certificate, row: LedgerRow): boolean {
  return (
    certificate.iec === row.iec &&
    certificate.irmNumber === row.irmNumber &&
    certificate.sbCumInvoiceNumber === row.document &&
    certificate.realisedValueFCC === Number(row.amount)
  );
}

async function checkPdfs({ documentsRoot }: Stage, rows: readonly LedgerRow[], problems: string[]): Promise<number> {
  const documents = createDocumentStore({ root: documentsRoot });
  let checked = 0;
  for (const { eBRCNumber, pdf, sha256, filingState, reference } of rows) {
    if (pdf === null || sha256 === null) {
      if (filingState === 'certified')
        problems.push(`${reference} is certified without the PDF of ${eBRCNumber ?? '?'}`);
      continue;
    }
    const bytes = await readFile(documents.pathOf(pdf)).catch(() => null);
    const found = bytes && createHash('sha256').update(bytes).digest('hex');
    if (found === sha256) checked += 1;
    else problems.push(`the PDF of ${eBRCNumber ?? '?'} is ${found === null ? 'missing' : 'not what was hashed'}`);
  }
  return checked;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
