import type { CompanyToReconcile, RepairableFinding, WindowRead } from '../../activities/reconciliation';
import type { ReconcileCheck } from '../../domain/reconciliation/findings';
import { calls, callsInBackground } from '../activity-profiles';
import { readWithRetries } from './company-reading';
import { orNull } from '../failures';

const REPAIRS_AT_ONCE = 3;

/** A compared company with the repairs that are still to be made, also by a continued run. */
export interface ComparedCompany {
  company: CompanyToReconcile;
  outcome: {
    opened: number;
    closed: number;
    healed: number;
    /** Which reads failed and why; everything else was compared. */
    skipped: string | null;
  };
  /** The checks and windows that were read, for the comparison after the repairs. */
  checks: ReconcileCheck[];
  windows: WindowRead[];
  repairs: RepairableFinding[];
}

/** Compares one company. Findings of a check whose read failed stay as they are, with a note. */
export async function compareCompany(
  company: CompanyToReconcile,
  scope: {
    /** YYYY-MM-DD, both included. */
    from: string;
    to: string;
    checks: ReconcileCheck[];
    /** Check each stored PDF, not only those that are due. */
    eachDocument: boolean;
  },
): Promise<ComparedCompany> {
  const { iec, skip } = company;
  const problems: string[] = [];
  const wants = (check: ReconcileCheck) => scope.checks.includes(check);
  const checks: ReconcileCheck[] = [];
  const windows: WindowRead[] = [];
  if (wants('filings')) checks.push('filings');
  if (iec !== null && wants('documents') && (await checkAllDocuments(problems, iec, scope.eachDocument)))
    checks.push('documents');
  if (skip !== null && (wants('certificates') || wants('balances'))) problems.push(skip);
  if (skip === null && wants('balances') && (await readBalances(problems, company))) checks.push('balances');
  if (skip === null && iec !== null && wants('certificates')) {
    const read = await readWindows(problems, { ...company, iec }, scope);
    windows.push(...read);
    if (read.length > 0) checks.push('certificates');
  }
  const { opened, closed, open } = await compare(problems, company, checks, windows);
  const outcome = { opened, closed, healed: 0, skipped: problems.join('; ') || null };
  const list = () => calls('ledger', 'List what can be repaired').repairsOf({ iec: iec ?? '' });
  const repairs = open > 0 && checks.includes('documents') ? await list() : [];
  return { company, outcome, checks, windows, repairs };
}

/** Makes repairs while there is room in the history, then compares again. @returns whether all repairs were made */
export async function repairCompany(compared: ComparedCompany, hasRoom: () => boolean): Promise<boolean> {
  const { company, outcome, checks, windows, repairs } = compared;
  const lane = async (): Promise<void> => {
    while (hasRoom()) {
      const next = repairs.shift();
      if (!next) return;
      if (await noted([], () => fetchPdfAgain(company.iec ?? '', next))) outcome.healed += 1;
    }
  };
  await Promise.all(Array.from({ length: REPAIRS_AT_ONCE }, lane));
  if (repairs.length > 0) return false;
  if (outcome.healed === 0) return true;
  // No new check of documents is needed: fetched PDFs were hashed when stored, and the others have just been checked.
  const problems = outcome.skipped === null ? [] : [outcome.skipped];
  const { opened, closed } = await compare(problems, company, checks, windows);
  outcome.opened += opened;
  outcome.closed += closed;
  outcome.skipped = problems.join('; ') || null;
  return true;
}

/** Compares a company. A failure (e.g. one too large for a statement) keeps its findings and stops no other. */
async function compare(
  problems: string[],
  { iec, exporterId }: CompanyToReconcile,
  checks: ReconcileCheck[],
  windows: WindowRead[],
) {
  const summary = 'Compare the ledger with the authority';
  const comparison = () => calls('document', summary).compareLedger({ iec, exporterId, checks, windows });
  return (await noted(problems, comparison, 'nothing was compared; ')) ?? { opened: 0, closed: 0, open: 0 };
}

async function checkAllDocuments(problems: string[], iec: string, each: boolean): Promise<boolean> {
  const documents = calls('document', 'Compare stored PDFs with their hashes');
  const check = async () => {
    for (let after: string | null = ''; after !== null;) {
      const checked: { next: string | null } = await documents.checkDocuments({ iec, after, each });
      after = checked.next;
    }
    return true;
  };
  return (await noted(problems, check, 'the stored PDFs were not all looked at; ')) ?? false;
}

const ABOUT = { priorityKey: 5, tries: 4 } as const;

async function readBalances(problems: string[], { exporterId }: CompanyToReconcile): Promise<boolean> {
  const about = { ...ABOUT, summary: 'Refresh and read the IRMs' };
  const read = await noted(problems, () => readWithRetries({ exporterId, what: 'irms' }, about));
  if (read && read.problem !== null) problems.push(read.problem);
  return read?.irmsWhole === true;
}

/** The windows of the scope that were read, now or lately. */
async function readWindows(
  problems: string[],
  { exporterId, iec }: CompanyToReconcile & { iec: string },
  { from, to }: { from: string; to: string },
): Promise<WindowRead[]> {
  const planned = await calls('ledger', 'Choose the issue dates to read').certificateWindows({ iec, from, to });
  const windows = [...planned.known];
  for (const days of planned.read) {
    const about = { ...ABOUT, summary: `Certificates of ${days.from} to ${days.to}` };
    const reading = await noted(problems, () => readWithRetries({ exporterId, what: 'certificates', days }, about));
    if (reading && reading.problem !== null) problems.push(reading.problem);
    if (reading?.read) windows.push(reading.read);
  }
  return windows;
}

async function fetchPdfAgain(iec: string, { kind, exporterId, eBRCNumber }: RepairableFinding): Promise<true | null> {
  const setAside = calls('ledger', `Set aside the damaged PDF of ${eBRCNumber}`);
  if (!(await setAside.prepareRefetch({ iec, eBRCNumber })).fetch) return null;
  const download = callsInBackground(exporterId, 'pdf', `Fetch the PDF of ${eBRCNumber} again`);
  // An incomplete download is not stored: the PDF stays missing, and the next run tries again.
  if ((await download.downloadCertificate({ exporterId, eBRCNumber })).sha256 === null) return null;
  const healed = kind === 'pdf_missing' ? 'the PDF was fetched' : 'the damaged PDF was set aside and fetched again';
  await calls('ledger', 'Record the repair').noteHealed({ iec, kind, subject: eBRCNumber, healed });
  return true;
}

/** Makes a call that the reconciliation can continue without; adds its failure to `problems`. */
const noted = <T>(problems: string[], call: () => Promise<T>, what = ''): Promise<T | null> =>
  orNull(call, ({ kind, message }) => problems.push(`${what}${kind ?? 'failed'}: ${message}`));
