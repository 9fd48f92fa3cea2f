import { splitWindow, type FilingDate } from '../domain/dates';
import { readIec } from '../domain/identity';
import { readDetailsCaller, type DetailsCaller } from '../ledger/exporters/exporters';
import type { CredentialVersion } from '../ledger/vault/credentials';
import { saveCertificates, VANISHED } from '../ledger/certificates/certificates';
import { recordLook } from '../ledger/submissions/lost-time';
import { notYet } from './application-failure';
import { withHeartbeat } from './call-context';
import { withCredentials } from './exporters/credential-guard';
import type { Deps } from './dependencies';

/** Delay before a look that began under another IEC is repeated. */
const IEC_CHANGED_MS = 1_000;

/** Leaves out certificates of another IEC, which prove nothing about this one; the whole answer may be another's. */
export const certificatesOf = <C extends { iec: string | null }>(iecCode: string, certificates: readonly C[]): C[] =>
  certificates.filter(({ iec }) => [null, readIec(iecCode)].includes(readIec(iec)));

const NO_IEC = 'fetch-details needs an IEC, and neither the exporter nor its IRMs have one';

/** Reads an exporter's certificates of a span of days and records the look, also a failed one. */
export async function readDetails(
  deps: Pick<Deps, 'pool' | 'api' | 'clock' | 'logger'>,
  args: {
    exporterId: string;
    from: FilingDate;
    to: FilingDate;
    caller?: DetailsCaller;
  },
): Promise<{
  /** Null: none is known, so nothing was requested. */
  iecCode: string | null;
  numbers: string[];
  /** Why the look is incomplete; null: every entry of every day was read. */
  problem: string | null;
}> {
  const { exporterId, from, to, caller = await readDetailsCaller(deps.pool, exporterId) } = args;
  const { iecCode } = caller;
  if (!iecCode) return { iecCode: null, numbers: [], problem: NO_IEC };
  const now = () => new Date(deps.clock());
  const look = { exporterId, iecCode, beganAt: now(), from, to };
  const numbers = new Set<string>();
  let unread = 0;
  let vanished = 0;
  // Only for the first call, because they may change after it.
  let credentials: CredentialVersion | null | undefined = caller.credentials;
  const problem = () => {
    if (unread > 0) return `${unread} entries of fetch-details cannot be read, or name another IEC`;
    return vanished > 0 ? `${vanished} ${VANISHED}` : null;
  };
  const windows = splitWindow(from, to);
  try {
    for (const window of windows) {
      const query = {
        platformCustomerId: exporterId,
        iecCode,
        eBRCIssueFromDt: window.from,
        eBRCIssueToDt: window.to,
      };
      const askedAt = now();
      const call = () => withHeartbeat(exporterId, (context) => deps.api.fetchDetails(query, context));
      const details = await withCredentials(deps, exporterId, call, credentials);
      credentials = undefined;
      const ours = certificatesOf(iecCode, details.certificates);
      unread += details.unread + details.certificates.length - ours.length;
      for (const { eBRCNumber, sbCumInvoiceNumber, billNo } of ours) {
        if (eBRCNumber) numbers.add(eBRCNumber.trim());
        // An entry without a document can be anybody's, so this look cannot prove absence.
        if (!eBRCNumber || !(sbCumInvoiceNumber?.trim() || billNo?.trim())) unread += 1;
      }
      const completed = window === windows.at(-1) && { look: { ...look, endedAt: now(), problem: problem() } };
      const saved = { exporterId, iecCode, details: ours, days: window, askedAt, at: now(), ...completed };
      const missing = await saveCertificates(deps.pool, saved);
      if (missing === null) throw notYet(`The IEC of ${exporterId} has changed.`, IEC_CHANGED_MS);
      vanished += missing;
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    await recordLook(deps.pool, { ...look, endedAt: now(), problem: why }).catch(() => undefined);
    throw error;
  }
  return { iecCode, numbers: [...numbers], problem: problem() };
}
