/** The locks of a filing, in their order: IRMs (advisory), the filing, its exporter, its rows. */
import type { FilingState } from '../../domain/filing/states';
import type { Mode } from '../../domain/names';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { LEDGER_HISTORY, LEDGER_IS_WHOLE, type LedgerHistory } from '../time';

/** The ledger does not hold the filing: it went back, or is another one. */
export class FilingMissing extends Error {
  override readonly name = 'FilingMissing';

  constructor(filingId: string) {
    super(`Filing ${filingId} is not in this ledger. Is DATABASE_URL the one it was made with?`);
  }
}

/** A filing as its transaction holds it. Times are epoch ms by PostgreSQL's clock. */
export interface LockedFiling {
  filingId: string;
  mode: Mode;
  exporterId: string;
  /** Null until the exporter's IEC is known. */
  iec: string | null;
  reference: string;
  n: number;
  corrects: string | null;
  workflowId: string;
  channel: 'push' | 'bulk';
  uploadType: number;
  declaration: 'Y' | 'N';
  state: FilingState;
  closed: boolean;
  since: number;
  moves: number;
  dueAt: number | null;
  attention: string | null;
  asked: boolean;
  approval: string | null;
  approvedAt: number | null;
  approvedEvidence: string[];
  /** Two persons let it go, less than an hour ago, although the certificates could not be read. */
  unreadApproved: boolean;
  madeBy: string;
  makerId: string | null;
  pause: string | null;
  pauseUntil: number | null;
  pauseTries: number;
  /** Why it pauses, for people. */
  pauseText: string | null;
  credentialsSeen: number | null;
  run: string | null;
  epoch: string | null;
  checkedAt: number | null;
  reservedAt: number | null;
  hasWorkbook: boolean;
  /** Whether an attempt is being sent, and how many decisions nothing came of yet. */
  sending: boolean;
  openDecisions: number;
  /** The ledger's time now, and whether Temporal knows this ledger, so that it may send. */
  ledger: LedgerHistory;
  ledgerWhole: boolean;
  annotated: string | null;
  /** PostgreSQL's clock when it was read. */
  now: number;
}

/** SQL: whether two persons let a filing go lately although the certificates could not be read. */
export const UNREAD_APPROVED = 'coalesce(unread_until > clock_timestamp(), false) AS "unreadApproved"';

const COLUMNS = `filing_id AS "filingId", mode, exporter_id AS "exporterId", iec, reference, n, corrects,
  workflow_id AS "workflowId", channel, upload_type AS "uploadType", declaration, state, closed_at IS NOT NULL AS closed,
  ${MS('since')} AS since, moves, ${MS('due_at')} AS "dueAt", attention, asked, approval, ${MS('approved_at')} AS "approvedAt",
  approved_evidence AS "approvedEvidence", ${UNREAD_APPROVED}, made_by AS "madeBy", maker_id AS "makerId", pause, ${MS('pause_until')} AS "pauseUntil",
  pause_tries AS "pauseTries", pause_text AS "pauseText", credentials_seen AS "credentialsSeen", run, f.epoch, ${MS('checked_at')} AS "checkedAt", ${MS('reserved_at')} AS "reservedAt", annotated,
  EXISTS (SELECT FROM filing_inputs i WHERE i.input_ref = f.input_ref AND i.source_document IS NOT NULL) AS "hasWorkbook",
  EXISTS (SELECT FROM attempts a WHERE a.filing_id = f.filing_id AND a.verdict = 'sending') AS sending,
  (SELECT count(*)::int FROM decisions d WHERE d.filing_id = f.filing_id AND d.outcome IS NULL) AS "openDecisions",
  (SELECT to_jsonb(h) FROM (SELECT ${LEDGER_HISTORY}) AS h) AS ledger,
  ${LEDGER_IS_WHOLE('f.mode')} AS "ledgerWhole", ${MS('clock_timestamp()')} AS now`;

/** Locks a filing. What depends on it is read by later statements, which see what others committed before. */
export async function lockFiling(client: Queryable, filingId: string): Promise<LockedFiling> {
  const { rows } = await client.query<LockedFiling>(
    `SELECT ${COLUMNS} FROM filings f, ledger l WHERE filing_id = $1 FOR UPDATE OF f`,
    [filingId],
  );
  if (!rows[0]) throw new FilingMissing(filingId);
  return rows[0];
}

/** Locks IRMs of a mode by their comparable numbers, in one order, before the filing. Requires a transaction. */
export async function lockIrms(client: Queryable, mode: Mode, irmKeys: readonly string[]): Promise<void> {
  await client.query(
    `SELECT pg_advisory_xact_lock(hashtextextended(k, 6)) FROM (SELECT DISTINCT $1 || '/' || k AS k FROM unnest($2::text[]) AS k ORDER BY 1) AS keys`,
    [mode, irmKeys],
  );
}

/** Locks the IRMs of a filing's rows, before the filing. Requires a transaction. */
export async function lockIrmsOf(client: Queryable, filingId: string): Promise<void> {
  await client.query(
    `SELECT pg_advisory_xact_lock(hashtextextended(k, 6))
       FROM (SELECT DISTINCT mode || '/' || irm_key AS k FROM filing_rows WHERE filing_id = $1 ORDER BY 1) AS keys`,
    [filingId],
  );
}
