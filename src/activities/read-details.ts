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

/** Until a look that began under another IEC is made again. */
const IEC_CHANGED_MS = 1_000;

/** Without certificates of another IEC: they prove nothing of this one's, and the whole answer may be another's. */
export const certificatesOf = <C extends { iec: string | null }>(iecCode: string, certificates: readonly C[]): C[] =>
  certificates.filter(({ iec }) => [null, readIec(iecCode)].includes(readIec(iec)));

const NO_IEC = 'fetch-details needs an IEC, and neither the exporter nor its IRMs have one';

/** Reads an exporter's certificates of a span of days. The look goes on record, a failed one too. */
export async function readDetails(
  deps: Pick<Deps, 'pool' | 'api' | 'clock' | 'logger'>,
  args: {
    exporterId: string;
    from: FilingDate;
    to: FilingDate;
    /** Where it was read just before. */
    caller?: DetailsCaller;
  },
): Promise<{
  /** Null: nothing can be asked for without one. */
  iecCode: string | null;
  numbers: string[];
  /** Why it is not complete; null: every entry of every day was read. */
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
  // For the first call: they may have changed since.
  let credentials: CredentialVersion | null | undefined = caller.credentials;
  const problem = () => {
    if (unread > 0) return `${unread} entries of fetch-details cannot be read, or name another IEC`;
    return vanished > 0 ? `${vanished} ${VANISHED}` : null;
  };
  const windows = splitWindow(from, to);
  try {
    for (const window of windows) {
      const asked = {
        platformCustomerId: exporterId,
        iecCode,
        eBRCIssueFromDt: window.from,
        eBRCIssueToDt: window.to,
      };
      const call = () => withHeartbeat(exporterId, (context) => deps.api.fetchDetails(asked, context));
      const details = await withCredentials(deps, exporterId, call, credentials);
      credentials = undefined;
      const ours = certificatesOf(iecCode, details.certificates);
      unread += details.unread + details.certificates.length - ours.length;
      for (const { eBRCNumber, sbCumInvoiceNumber, billNo } of ours) {
        if (eBRCNumber) numbers.add(eBRCNumber.trim());
        // One that names no document can be anybody's: absence cannot be told from it.
        if (!eBRCNumber || !(sbCumInvoiceNumber?.trim() || billNo?.trim())) unread += 1;
      }
      const whole = window === windows.at(-1) && { look: { ...look, endedAt: now(), problem: problem() } };
      const saved = { exporterId, iecCode, details: ours, days: window, at: now(), ...whole };
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
