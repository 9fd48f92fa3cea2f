import { counted } from '../domain/text';
import type { PartyToReconcile, RepairableFinding, WindowReading } from '../activities/reconciliation';
import type { ReconcileCheck } from '../domain/reconciliation/findings';
import { calls, callsInBackground } from './activity-profiles';
import { orNull } from './failures';

const REPAIRS_AT_ONCE = 3;

/** A compared party with the repairs that are still to be made, also by a continued run. */
export interface ComparedParty {
  party: PartyToReconcile;
  outcome: {
    opened: number;
    closed: number;
    healed: number;
    /** Which reads failed and why; everything else was compared. */
    skipped: string | null;
  };
  /** The checks and windows that were read, for the comparison after the repairs. */
  checks: ReconcileCheck[];
  windows: WindowReading[];
  repairs: RepairableFinding[];
}

/** Compares one party. Findings of a check whose read failed stay as they are, with a note. */
export async function compareParty(
  party: PartyToReconcile,
  scope: {
    /** YYYY-MM-DD, both included. */
    from: string;
    to: string;
    checks: ReconcileCheck[];
    /** Check each stored PDF, not only those that are due. */
    eachDocument: boolean;
  },
): Promise<ComparedParty> {
  const { partyId } = party;
  const problems: string[] = [];
  const wants = (check: ReconcileCheck) => scope.checks.includes(check);
  const checked: ReconcileCheck[] = [];
  if (wants('filings')) checked.push('filings');
  const lookAtPdfs = () => checkAllDocuments(partyId, scope.eachDocument);
  if (wants('documents') && (await noted(problems, lookAtPdfs, 'the stored PDFs were not all looked at; ')))
    checked.push('documents');
  if (party.skip !== null && (wants('certificates') || wants('balances'))) problems.push(party.skip);
  const reader = party.skip === null ? party : null;
  if (reader && wants('balances') && (await noted(problems, () => readBalances(clientsOf(reader)))))
    checked.push('balances');
  let windows: WindowReading[] | null = null;
  if (reader && wants('certificates')) {
    windows = await noted(problems, () => readWindows(reader, scope.from, scope.to));
    if (windows) checked.push('certificates');
  }
  const { opened, closed, open } = await compare(problems, partyId, checked, windows ?? []);
  const outcome = { opened, closed, healed: 0, skipped: problems.join('; ') || null };
  const repairs = open > 0 ? await repairsOf(partyId, checked) : [];
  return { party, outcome, checks: checked, windows: windows ?? [], repairs };
}

/** Makes repairs while there is room in the history, then compares again. @returns whether all repairs were made */
export async function repairParty(compared: ComparedParty, hasRoom: () => boolean): Promise<boolean> {
  const { party, outcome, checks, windows, repairs } = compared;
  const unknown = repairs.filter(({ kind }) => kind === 'outcome_unknown');
  // Balances have to confirm a certificate before it is adopted, so they are read before the look for certificates.
  for (const exporterId of new Set(unknown.map((repair) => repair.exporterId)))
    await noted([], () => readBalances([exporterId]));
  const lane = async (): Promise<void> => {
    while (hasRoom()) {
      const next = repairs.shift();
      if (!next) return;
      if (await noted([], () => repairOne(party, next))) outcome.healed += 1;
    }
  };
  await Promise.all(Array.from({ length: REPAIRS_AT_ONCE }, lane));
  if (repairs.length > 0) return false;
  if (outcome.healed === 0) return true;
  // No new check of documents is needed: fetched PDFs were hashed when stored, and the others have just been checked.
  const problems = outcome.skipped === null ? [] : [outcome.skipped];
  const { opened, closed } = await compare(problems, party.partyId, checks, windows);
  outcome.opened += opened;
  outcome.closed += closed;
  outcome.skipped = problems.join('; ') || null;
  return true;
}

/** Compares a party. A failure (e.g. a party too large for a statement) keeps its findings and stops no other. */
async function compare(problems: string[], partyId: number, checks: ReconcileCheck[], windows: WindowReading[]) {
  const summary = 'Compare the ledger with the authority';
  const comparison = () => calls('document', summary).compareLedger({ partyId, checks, windows });
  return (await noted(problems, comparison, 'nothing was compared; ')) ?? { opened: 0, closed: 0, open: 0 };
}

async function checkAllDocuments(partyId: number, each: boolean): Promise<true> {
  const documents = calls('document', 'Compare stored PDFs with their hashes');
  for (let after: string | null = ''; after !== null;) {
    const look: { next: string | null } = await documents.checkDocuments({ partyId, after, each });
    after = look.next;
  }
  return true;
}

const clientsOf = ({ callAs, alsoAs }: PartyToReconcile): string[] => [callAs, ...(alsoAs ?? [])];

async function readBalances(exporterIds: Iterable<string>): Promise<true> {
  for (const exporterId of exporterIds) {
    await callsInBackground(exporterId, 'irm-refresh', 'Refresh the IRMs').refreshIrms({ exporterId });
    await callsInBackground(exporterId, 'api', 'Read the IRMs').readIrms({ exporterId });
  }
  return true;
}

async function readWindows(party: PartyToReconcile, from: string, to: string): Promise<WindowReading[]> {
  const { partyId, iecCode } = party;
  const clients = clientsOf(party);
  const planned = await calls('ledger', 'Choose the issue dates to read').certificateWindows({ partyId, from, to });
  const readings = [...planned.known];
  for (const window of planned.read) {
    const summary = `Certificates of ${window.from} to ${window.to}`;
    let reading: (WindowReading & { whole: boolean }) | null = null;
    for (const [index, exporterId] of clients.entries()) {
      const about = { partyId, exporterId, iecCode: iecCode ?? '', ...window };
      const more = index < clients.length - 1;
      reading = await callsInBackground(exporterId, 'details', summary).readCertificates({
        ...about,
        before: reading,
        more,
      });
    }
    if (reading) readings.push(reading);
  }
  return readings;
}

async function repairsOf(partyId: number, checked: readonly ReconcileCheck[]): Promise<RepairableFinding[]> {
  const repairs = await calls('ledger', 'List what can be repaired').repairsOf({ partyId });
  return repairs.filter(({ kind }) => checked.includes(kind.startsWith('pdf_') ? 'documents' : 'filings'));
}

async function repairOne({ partyId }: PartyToReconcile, finding: RepairableFinding): Promise<boolean> {
  const { kind, eBRCNumber, filingId } = finding;
  const isOfPdf = kind === 'pdf_missing' || kind === 'pdf_damaged';
  const settle = kind === 'outcome_unknown' ? settleUnknown : followLost;
  const healed = await (isOfPdf ? fetchPdfAgain(partyId, finding) : settle(finding));
  if (healed === null) return false;
  const subject = eBRCNumber ?? filingId ?? '';
  await calls('ledger', 'Record the repair').noteHealed({ partyId, kind, subject, healed });
  return true;
}

async function fetchPdfAgain(partyId: number, { kind, exporterId, eBRCNumber }: RepairableFinding) {
  if (eBRCNumber === null) return null;
  const setAside = calls('ledger', `Set aside the damaged PDF of ${eBRCNumber}`);
  const { fetch } = await setAside.prepareRefetch({ partyId, eBRCNumber });
  if (!fetch) return null;
  const download = callsInBackground(exporterId, 'pdf', `Fetch the PDF of ${eBRCNumber} again`);
  // An incomplete download is not stored: the PDF stays missing, and the next run tries again.
  if ((await download.downloadCertificate({ exporterId, eBRCNumber })).sha256 === null) return null;
  return kind === 'pdf_missing' ? 'the PDF was fetched' : 'the damaged PDF was set aside and fetched again';
}

/** Gathers evidence as the filing itself does. */
async function settleUnknown({ exporterId, filingId, lost }: RepairableFinding): Promise<string | null> {
  if (filingId === null) return null;
  const details = callsInBackground(exporterId, 'details', 'Look for certificates of the unknown submission');
  let settled = 0;
  for (const { submission, attemptId } of lost) {
    settled += (await details.gatherEvidence({ filingId, submission, exporterId, attemptId })).adopted.length;
  }
  return settled > 0 ? `settled by certificates: ${counted(settled, 'row')}` : null;
}

/** Applies the sweep's rule: a new run follows a filing that may have been sent; any other waits for a person. */
async function followLost({ filingId }: RepairableFinding): Promise<string | null> {
  if (filingId === null) return null;
  const { why } = await calls('ledger', `Check the workflow of ${filingId}`).followLostFiling({ filingId });
  return why === null ? null : `a new run follows the filing: ${why}`;
}

/** Makes a call that the reconciliation can continue without; adds its failure to `problems`. */
const noted = <T>(problems: string[], call: () => Promise<T>, what = ''): Promise<T | null> =>
  orNull(call, ({ kind, message }) => problems.push(`${what}${kind ?? 'failed'}: ${message}`));
