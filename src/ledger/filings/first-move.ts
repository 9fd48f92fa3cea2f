/** The move that is recorded with a filing's intent. */
import {
  approvalMove,
  areBalancesFresh,
  CHECKING,
  isActivationPending,
  submittingMove,
} from '../../domain/filing/move-texts';
import { stateLimitMs, type StateLimitSettings } from '../../domain/filing/states';
import { type Finding, hasErrors } from '../../domain/rules/finding';
import { ISO, MS } from '../paging';
import type { Queryable } from '../pool';
import { saveBalanceFindings } from './filing-notes';
import { writeMove } from './filing-progress';
import type { FilingRecord } from './filings';
import { heldIrmsQuery, irmNumberOf } from '../exporters/irms';

/** Moves a new filing to sending or approval if fresh balances are reserved, else to its checks. */
export async function writeFirstMove(
  client: Queryable,
  filing: Pick<FilingRecord, 'filingId' | 'madeBy' | 'approvalNeeded'> & {
    /** The row count of each submission. */
    submissions: readonly number[];
    /** The findings of its balance check; without an error the balances are reserved. */
    findings: readonly Finding[];
    readiness: FilingReadiness;
    at: Date;
  },
  settings: StateLimitSettings,
): Promise<void> {
  const { filingId, submissions, findings, readiness, at } = filing;
  const fresh = !isActivationPending(readiness) && areBalancesFresh(readiness, at.getTime());
  const ready = fresh && !hasErrors(findings);
  if (ready && findings.length > 0) await saveBalanceFindings(client, filingId, findings);
  const [rowCount = 0] = submissions;
  const sending = submittingMove({ submission: 1, rowCount }, submissions.length);
  const { state, event, attention } = !ready ? CHECKING : filing.approvalNeeded ? approvalMove(filing) : sending;
  const limitMs = stateLimitMs(state, settings, 0);
  const dueAt = limitMs === null ? null : new Date(at.getTime() + limitMs);
  await writeMove(client, { filingId, seq: 1, state, attention, dueAt, at, event });
}

const NUMBER = `${irmNumberOf('irm_key')} AS number`;

export interface FilingReadiness {
  /** When the oldest balance of the filing's IRMs was read, ms since the epoch; null if one was never read. */
  balancesReadAt: number | null;
  apiState: string | null;
  /** ISO 8601. */
  activatesAt: string | null;
}

/** When the oldest balance of the unsent rows' IRMs was read, by any client of the party, and the API access. */
export async function readReadiness(
  db: Queryable,
  { filingId, exporterId }: { filingId: string; exporterId: string },
): Promise<FilingReadiness> {
  const { rows } = await db.query<FilingReadiness>(
    `WITH wanted AS (
       SELECT DISTINCT ${NUMBER} FROM filing_rows
        WHERE filing_id = $1 AND live AND submitted_at IS NULL
     ), newest AS (
       ${heldIrmsQuery({ columns: `${NUMBER}, read_at`, exporterId: '$2', numbers: 'ARRAY(SELECT number FROM wanted)' })}
     )
     SELECT CASE WHEN (SELECT count(*) FROM wanted) = (SELECT count(DISTINCT number) FROM newest)
              THEN (SELECT ${MS('min(read_at)')} FROM newest) END AS "balancesReadAt",
            e.api_state AS "apiState", ${ISO('activates_at')} AS "activatesAt"
       FROM (VALUES (1)) AS one LEFT JOIN exporters e ON lower(e.exporter_id) = lower($2)`,
    [filingId, exporterId],
  );
  return rows[0] ?? { balancesReadAt: null, apiState: null, activatesAt: null };
}
