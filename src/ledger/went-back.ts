/** Whether the ledger lacks what Temporal knows: runs compared with filings, and the findings of that. */
import type pg from 'pg';
import { isEnd } from '../domain/filing/states';
import { filingWorkflowId, type Mode } from '../domain/names';
import { closeFinding, openFinding } from './findings';
import { ISO, MS } from './paging';
import { withTransaction, type Queryable } from './pool';
import { LEDGER_IS_WHOLE, NOT_COMPARED, NOT_COMPARED_TEXT, renewEpoch, WENT_BACK } from './time';

/** A run of which Temporal says that the ledger recorded its filing. */
export interface RecordedRun {
  workflowId: string;
  runId: string;
  reference: string | null;
  /** The last state that it showed, and the request that it followed; null: none was known. */
  state: string;
  requestId: string | null;
  startedAt: string;
  /** Null: it is running. */
  closedAt: string | null;
  /** It ended by itself, so that its state is the filing's end. */
  completed: boolean;
}

/** What a comparison begins with. */
export interface Standing {
  /** The server's epoch now. */
  epoch: string;
  /** Whether the ledger was compared in this epoch. */
  compared: boolean;
  whole: boolean;
  /** When the last comparison that found everything began; null: never. */
  sinceMs: number | null;
  /** When what the mode had lost was brought back, or named; null: never. What closed before is not missed again. */
  restoredMs: number | null;
  nowMs: number;
}

export async function readStanding(db: Queryable, mode: Mode): Promise<Standing> {
  const { rows } = await db.query<Standing>(
    `SELECT server_epoch() AS epoch, l.epoch = server_epoch() AS compared, ${LEDGER_IS_WHOLE('$1')} AS whole,
            (l.compared ->> $1)::float8 AS "sinceMs",
            CASE WHEN (l.compared ->> $1)::float8 >= ${MS('l.restored_at')} THEN ${MS('l.restored_at')} END AS "restoredMs",
            ${MS('clock_timestamp()')} AS "nowMs" FROM ledger l`,
    [mode],
  );
  if (!rows[0]) throw new Error('The ledger has no row of its own: its migration did not finish.');
  return rows[0];
}

/** States that a run shows of a filing once an attempt was made. */
const AFTER_SENDING: readonly string[] = ['processing', 'outcome_unknown', 'overdue'];

/**
 * Those of the runs whose filing the ledger lacks, or the attempt that was made, or, for a completed one, its end. A
 * run under an id of its own ends with what stands under its reference.
 */
export async function missingRuns(db: Queryable, mode: Mode, runs: readonly RecordedRun[]): Promise<RecordedRun[]> {
  const asked = runs.map(({ workflowId, reference, state, completed }) => {
    const first = filingWorkflowId(mode, reference ?? '');
    const own = workflowId === first || workflowId.startsWith(`${first}/`);
    const ends = completed && isEnd(state) ? state : null;
    return { id: workflowId, reference, own, ends, sent: AFTER_SENDING.includes(state) };
  });
  const { rows } = await db.query<{ missing: boolean }>(
    `SELECT NOT EXISTS (SELECT FROM filings f
        WHERE f.mode = $1 AND f.reference = k.reference AND (f.workflow_id = k.id OR NOT k.own)
          AND (k.ends IS NULL OR f.state = k.ends OR EXISTS (SELECT FROM events e WHERE e.filing_id = f.filing_id AND e.state = k.ends))
          AND (NOT k.sent OR EXISTS (SELECT FROM attempts a WHERE a.filing_id = f.filing_id))
        ) AS missing
       FROM ROWS FROM (jsonb_to_recordset($2::jsonb) AS (id text, reference text, own boolean, ends text, sent boolean))
       WITH ORDINALITY AS k (id, reference, own, ends, sent, nth)
      ORDER BY k.nth`,
    [mode, JSON.stringify(asked)],
  );
  return runs.filter((_run, index) => rows[index]?.missing);
}

const subjectOf = ({ workflowId, runId }: RecordedRun): string => `run/${runId}/${workflowId}`;

/** The runs of open findings. Temporal may have forgotten them meanwhile. */
export async function runsOfFindings(db: Queryable, mode: Mode): Promise<RecordedRun[]> {
  const { rows } = await db.query<{ run: RecordedRun }>(
    `SELECT theirs AS run FROM findings
      WHERE mode = $1 AND kind = $2 AND closed_at IS NULL AND key LIKE $2 || '|run/%' ORDER BY first_seen_at, finding_id`,
    [mode, WENT_BACK],
  );
  return rows.map(({ run }) => run);
}

/**
 * Stores what a comparison found. Where everything is there, work goes on in the server's epoch.
 * @returns whether the ledger is whole now; null: the epoch changed meanwhile, and the comparison counts for nothing
 */
export async function storeComparison(
  pool: pg.Pool,
  args: { mode: Mode; standing: Standing; missing: readonly RecordedRun[]; found: readonly RecordedRun[] },
): Promise<boolean | null> {
  const { mode, standing, missing, found } = args;
  return withTransaction(pool, async (client) => {
    const { rows } = await client.query<{ epoch: string }>('SELECT server_epoch() AS epoch FROM ledger FOR UPDATE');
    if (rows[0]?.epoch !== standing.epoch) return null;
    const about = { mode, kind: WENT_BACK, iec: null } as const;
    for (const run of missing) {
      await openFinding(client, { ...about, subject: subjectOf(run), text: textOf(run), theirs: run });
    }
    for (const run of found) await closeFinding(client, { ...about, subject: subjectOf(run) });
    await closeAnswersFound(client, mode);
    await closeFinding(client, { ...NOT_COMPARED, mode });
    if (missing.length === 0) await renewEpoch(client, mode, { epoch: standing.epoch, comparedMs: standing.nowMs });
    return (await readStanding(client, mode)).whole;
  });
}

/** Closes findings of answers whose attempt the ledger has by now, with the request that the answer named. */
async function closeAnswersFound(client: Queryable, mode: Mode): Promise<void> {
  await client.query(
    `UPDATE findings w SET closed_at = clock_timestamp()
      WHERE w.mode = $1 AND w.kind = $2 AND w.closed_at IS NULL AND w.filing_id IS NOT NULL
        AND EXISTS (SELECT FROM attempts a WHERE a.filing_id = w.filing_id AND w.key LIKE '%/' || a.number
          AND (w.theirs ->> 'requestId' IS NULL OR lower(a.request_id) = lower(w.theirs ->> 'requestId')))`,
    [mode, WENT_BACK],
  );
}

function textOf({ workflowId, state, closedAt, completed }: RecordedRun): string {
  const run = completed && isEnd(state) ? `ended as ${state} at ${closedAt}` : `showed the state ${state}`;
  return `The run of ${workflowId} ${run}, which this ledger lacks: it went back, and nothing is sent. Bring it back with \`ebrc ledger restored --since TIME\`.`;
}

/** Says why a ledger that is not whole could not be compared. */
export async function noteNotCompared(db: Queryable, mode: Mode, problem: string): Promise<void> {
  await openFinding(db, { ...NOT_COMPARED, mode, text: `${NOT_COMPARED_TEXT} It could not be: ${problem}` });
}

export interface LedgerStatus {
  ledgerId: string;
  epoch: string;
  heartbeat: { beat: number; at: string };
  state: 'whole' | 'recovering';
  /** When the last comparison with Temporal that found everything began. */
  comparedAt: string | null;
  restoredAt: string | null;
  /** What the ledger lacks, or why that is not known. */
  missing: { findingId: string; filingId: string | null; workflowId: string | null; text: string; since: string }[];
}

/** The ledger's time, and whether anything is known to be missing. */
export async function readLedgerStatus(db: Queryable, mode: Mode): Promise<LedgerStatus> {
  const { rows } = await db.query<Omit<LedgerStatus, 'missing' | 'state'> & { whole: boolean; compared: boolean }>(
    `SELECT l.ledger_id AS "ledgerId", server_epoch() AS epoch, jsonb_build_object('beat', l.beat, 'at', ${ISO('l.beat_at')}) AS heartbeat,
            ${LEDGER_IS_WHOLE('$1')} AS whole, l.epoch = server_epoch() AS compared,
            ${ISO('to_timestamp((l.compared ->> $1)::float8 / 1000)')} AS "comparedAt", ${ISO('l.restored_at')} AS "restoredAt"
       FROM ledger l`,
    [mode],
  );
  const { rows: missing } = await db.query<LedgerStatus['missing'][number]>(
    `SELECT finding_id AS "findingId", filing_id AS "filingId", theirs ->> 'workflowId' AS "workflowId",
            coalesce(text, '') AS text, ${ISO('first_seen_at')} AS since
       FROM findings WHERE mode = $1 AND kind = $2 AND closed_at IS NULL ORDER BY first_seen_at, finding_id`,
    [mode, WENT_BACK],
  );
  if (!rows[0]) throw new Error('The ledger has no row of its own: its migration did not finish.');
  const { whole, compared, ...status } = rows[0];
  const unread = {
    findingId: '',
    filingId: null,
    workflowId: null,
    text: NOT_COMPARED_TEXT,
    since: status.heartbeat.at,
  };
  return {
    ...status,
    state: whole ? 'whole' : 'recovering',
    missing: compared || missing.length > 0 ? missing : [unread],
  };
}
