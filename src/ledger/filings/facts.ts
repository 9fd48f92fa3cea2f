/** Reads what is known of a filing for `nextStep`. What grows with history is in no statement of it. */
import type { AttemptFacts, Facts, PauseReason } from '../../domain/filing/facts';
import type { RowState, Verdict } from '../../domain/filing/states';
import { isOutage } from '../../domain/filing/verdicts';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { ANSWER_MARGIN_MS } from '../attempts/attempts';
import type { LockedFiling } from './lock';
import { standsAgainst } from '../attempts/send-conditions';

/** The settings of a worker that decisions depend on. */
export interface DecidingSettings {
  settleAfterMs: number;
  overdueAfterMs: number;
  httpTimeoutMs: number;
  rateWindowMs: number;
}

interface Counted {
  rows: Partial<Record<RowState, number>>;
  rowsWithoutDetails: number;
  toCorrect: boolean;
  pdfs: number;
  pdfsDue: string[];
  pdfNextAt: number | null;
  decidedAt: number | null;
  credentials: number | null;
}

interface AttemptRead {
  number: number;
  verdict: Verdict;
  reason: string | null;
  markedAt: number;
  settlesAt: number;
  settled: boolean;
  answerBy: number;
  requestId: string | null;
  denied: boolean;
  unlisted: boolean;
  doneAt: number | null;
  judgedAt: number | null;
  evidence: string[];
  open: boolean;
}

export async function readFacts(client: Queryable, filing: LockedFiling, settings: DecidingSettings): Promise<Facts> {
  const attempts = await readAttemptFacts(client, filing, settings);
  const counted = await count(client, filing);
  const readings = await readReadings(client, filing, settings);
  const maybe = attempts.find(
    ({ verdict }) => verdict === 'sending' || verdict === 'unknown' || verdict === 'accepted',
  );
  const last = attempts.at(-1) ?? null;
  const { planned = 0, sent = 0, certified = 0, rejected = 0, released = 0 } = counted.rows;
  const sendable = !maybe && !filing.closed && planned > 0 && filing.iec !== null && filing.checkedAt !== null;
  const against = sendable ? await standsAgainst(client, filing, settings.settleAfterMs) : null;
  const { pause, pauseUntil, now } = filing;
  const renewed =
    pause === 'credentials' && counted.credentials !== null && counted.credentials > (filing.credentialsSeen ?? 0);
  return {
    now,
    settleMs: settings.settleAfterMs,
    ledgerWhole: filing.ledgerWhole,
    filing: {
      state: filing.state,
      closed: filing.closed,
      exporterId: filing.exporterId,
      iec: filing.iec,
      channel: filing.channel,
      approval: filing.approval,
      approved: filing.approvedAt !== null,
      unreadApproved: filing.unreadApproved,
      dueAt: filing.dueAt,
      reservedAt: filing.reservedAt,
      checkedAt: filing.checkedAt,
      toAnnotate: filing.hasWorkbook && filing.annotated === null,
    },
    pause:
      pause === null
        ? null
        : {
            reason: pause as PauseReason,
            until: pauseUntil ?? now,
            tries: filing.pauseTries,
            text: filing.pauseText ?? '',
            over: renewed || (pauseUntil ?? 0) <= now,
          },
    rows: { planned, sent, certified, rejected, released },
    rowsWithoutDetails: counted.rowsWithoutDetails,
    toCorrect: counted.toCorrect,
    attempt: maybe ?? null,
    attempts: last?.number ?? 0,
    last,
    openRequests: attempts.filter(({ open }) => open).length,
    readings: { ...readings, failingSince: readings.failures > 0 ? readings.failingSince : null },
    against,
    breaker: !maybe && (await breakerOpen(client, filing)),
    decidedAt: counted.decidedAt,
    pdfs: { missing: counted.pdfs, due: counted.pdfsDue, nextAt: counted.pdfNextAt },
  };
}

async function readAttemptFacts(
  client: Queryable,
  filing: LockedFiling,
  { settleAfterMs, httpTimeoutMs }: DecidingSettings,
): Promise<(AttemptFacts & { open: boolean })[]> {
  const { rows } = await client.query<AttemptRead>(
    `SELECT number, verdict, reason, ${MS('marked_at')} AS "markedAt",
            ${MS('marked_at')} + greatest(settle_ms, $2) AS "settlesAt",
            marked_at + greatest(settle_ms, $2) * interval '1 ms' <= clock_timestamp()
              AND $3 >= a.beat + settle_beats AS settled,
            ${MS('marked_at')} + greatest(timeout_ms, $4) + ${ANSWER_MARGIN_MS} AS "answerBy",
            request_id AS "requestId", ${MS('ended_at')} AS "doneAt", ${MS('judged_at')} AS "judgedAt",
            denied_since IS NOT NULL AND (lower(trim(coalesce(ack_status, ''))) = 'failed'
              OR denied_since + greatest(settle_ms, $2) * interval '1 ms' <= clock_timestamp()) AS denied,
            denied_since IS NOT NULL AND record IS NULL AS unlisted,
            coalesce((SELECT array_agg(n) FROM jsonb_array_elements_text(evidence -> 'names') AS n), '{}') AS evidence,
            request_id IS NOT NULL AND ended_at IS NULL AS open
       FROM attempts a WHERE filing_id = $1 ORDER BY number`,
    [filing.filingId, settleAfterMs, filing.ledger.beat, httpTimeoutMs],
  );
  return rows;
}

async function count(client: Queryable, { filingId, mode, iec, exporterId }: LockedFiling): Promise<Counted> {
  const { rows } = await client.query<Counted>(
    `WITH pdfs AS (SELECT c.ebrc_number, c.pdf_next_at, r.position FROM filing_rows r JOIN certificates c
         ON c.mode = $2 AND c.iec = $3 AND c.ebrc_number = r.ebrc_number
        WHERE r.filing_id = $1 AND c.archived_at IS NULL)
     SELECT (SELECT jsonb_object_agg(state, n) FROM (SELECT state, count(*)::int AS n FROM filing_rows WHERE filing_id = $1 GROUP BY state) AS s) AS rows,
            (SELECT count(*)::int FROM filing_rows WHERE filing_id = $1 AND state = 'sent' AND record_status = 'processed') AS "rowsWithoutDetails",
            EXISTS (SELECT FROM filing_rows WHERE filing_id = $1 AND NOT held AND corrected_by IS NULL) AS "toCorrect",
            (SELECT count(*)::int FROM pdfs) AS pdfs,
            ARRAY(SELECT ebrc_number FROM pdfs WHERE coalesce(pdf_next_at, '-infinity') <= clock_timestamp() ORDER BY position LIMIT 5) AS "pdfsDue",
            (SELECT ${MS('min(pdf_next_at)')} FROM pdfs WHERE pdf_next_at > clock_timestamp()) AS "pdfNextAt",
            (SELECT ${MS('max(at)')} FROM decisions WHERE filing_id = $1 AND outcome IS NULL) AS "decidedAt",
            (SELECT max(version) FROM credential_versions WHERE exporter_id = $4 AND held AND state <> 'bad') AS credentials`,
    [filingId, mode, iec, exporterId],
  );
  const [found] = rows;
  if (!found) throw new Error('PostgreSQL returned no counts.');
  return { ...found, rows: found.rows ?? {} };
}

/** The readings of the filing's company. Everything comes from the newest few: older ones tell nothing new. */
async function readReadings(
  client: Queryable,
  { mode, iec, exporterId }: LockedFiling,
  { settleAfterMs }: DecidingSettings,
): Promise<Facts['readings']> {
  const { rows } = await client.query<Omit<Facts['readings'], 'everyMs'> & { inDoubt: number }>(
    `WITH recent AS (SELECT * FROM readings WHERE mode = $1 AND iec = $2 ORDER BY began_at DESC LIMIT 200),
       last_whole AS (SELECT max(began_at) AS at FROM readings WHERE mode = $1 AND iec = $2 AND whole),
       failed AS (SELECT * FROM recent, last_whole WHERE ended_at IS NOT NULL AND whole IS FALSE AND began_at > coalesce(at, '-infinity'))
     SELECT ${MS('(SELECT at FROM last_whole)')} AS "wholeAt",
            (SELECT ${MS('max(ended_at)')} FROM recent WHERE whole IS NOT NULL) AS "endedAt",
            (SELECT ${MS('irms_refreshed_at')} FROM exporters WHERE exporter_id = $3) AS "irmsAt",
            EXISTS (SELECT FROM recent WHERE ended_at IS NULL AND began_at > clock_timestamp() - interval '10 min') AS "underWay",
            (SELECT count(*)::int FROM failed) AS failures,
            (SELECT ${MS('min(began_at)')} FROM failed) AS "failingSince",
            (SELECT count(DISTINCT (r.mode, r.iec))::int FROM filing_rows r WHERE r.mode = $1 AND r.state = 'sent') AS "inDoubt"`,
    [mode, iec, exporterId],
  );
  if (!rows[0]) throw new Error('PostgreSQL returned no readings.');
  const { inDoubt, ...found } = rows[0];
  return { ...found, everyMs: Math.max(Math.min(10 * 60_000, settleAfterMs / 24), (inDoubt / 3) * 60_000) };
}

/** After an outage nothing is sent with this key until a live read of any exporter succeeds. */
async function breakerOpen(client: Queryable, { mode }: LockedFiling): Promise<boolean> {
  const { rows } = await client.query<{ reason: string | null; read: boolean }>(
    `SELECT reason, EXISTS (SELECT FROM readings r WHERE r.mode = $1 AND r.problem IS NULL AND r.ended_at IS NOT NULL
         AND r.began_at > coalesce(a.answered_at, a.marked_at)) AS read
       FROM (SELECT * FROM attempts WHERE mode = $1 AND verdict = 'unknown' AND sender IS NOT NULL ORDER BY marked_at DESC LIMIT 1) AS a`,
    [mode],
  );
  const [last] = rows;
  return last !== undefined && !last.read && isOutage(last.reason);
}
