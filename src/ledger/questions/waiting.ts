/** What filings wait for, and their places in the queues for calls to the service (sends and PDFs). */
import { NO_ROWS, type FilingResult } from '../../domain/contracts';
import { waitsFor, type Waiting, queuePlaces, type QueuePlace } from '../../domain/filing/view';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { expectedAnswerMs } from '../submissions/answer-times';
import { IS_MAYBE_FILED } from '../gates/attempts';
import type { FilingRecord } from '../filings/filings';
import { ROWS_AND_CERTIFICATES } from '../rows/filing-rows';
import type { Cadence } from '../../domain/filing/poll-cadence';
import { RATE_LIMITS } from '../../domain/names';

/** What filings wait for, by id; filings that have ended are absent. */
export async function readWaiting(
  db: Queryable,
  filings: readonly FilingRecord[],
  parts: ReadonlyMap<string, { counts: FilingResult['counts'] }>,
  cadence: Cadence,
): Promise<Map<string, Waiting>> {
  const subjects = new Map(
    filings.flatMap((filing) => {
      const subject = waitsFor(filing, parts.get(filing.filingId)?.counts ?? NO_ROWS);
      return subject === null ? [] : [[filing.filingId, subject] as const];
    }),
  );
  if (subjects.size === 0) return new Map();
  const times = await readTimes(db, [...subjects.keys()]);
  const [processing] = filings.filter(({ state }) => state === 'processing');
  const [queued] = filings.filter(({ state }) => state === 'submitting' || state === 'collecting');
  const line = `${queuedFilings({ mode: '$1' })}) ORDER BY f.due_at, f.filing_id`;
  const queue = queued ? placesOf((await db.query<InLine>(line, [queued.mode])).rows) : null;
  const meanMs = processing ? await expectedAnswerMs(db, processing.mode, cadence) : 0;
  return new Map(
    filings.flatMap((filing) => {
      const subject = subjects.get(filing.filingId);
      if (subject === undefined) return [];
      const { since, askedSince, evidenceUntil, activatesAt } = times.get(filing.filingId) ?? {};
      const turn = queue?.get(filing.filingId) ?? null;
      const due = filing.dueAt === null ? null : new Date(filing.dueAt);
      const until = filing.state === 'outcome_unknown' && !filing.asked ? evidenceUntil : due;
      const answered = filing.state === 'processing' && askedSince ? new Date(askedSince.getTime() + meanMs) : null;
      const opened = filing.waitsFor === 'activation' ? (activatesAt ?? null) : null;
      const turned = turn && new Date(Date.now() + turn.windows * cadence.rateWindowMs);
      const waiting = {
        for: subject,
        since: new Date(since ?? filing.madeAt).toISOString(),
        queue: turn && { place: turn.place, of: turn.of },
        expectedBy: ifInFuture(opened ?? turned ?? answered)?.toISOString() ?? null,
        until: until?.toISOString() ?? null,
      };
      return [[filing.filingId, waiting] as const];
    }),
  );
}

const ifInFuture = (time: Date | null): Date | null => (time && time.getTime() > Date.now() ? time : null);

/** SQL: when a filing entered its state, epoch ms; null: no move into it is on record. */
export const stateSince = (filingId: string, state: string): string =>
  `(SELECT ${MS('min(e.at)')} FROM filing_events e WHERE e.filing_id = ${filingId} AND e.state = ${state}
     AND e.event_id > coalesce((SELECT max(o.event_id) FROM filing_events o WHERE o.filing_id = ${filingId} AND o.state <> ${state}), 0))`;

/** SQL: when the gathering of evidence about an unknown outcome ends. */
export const evidenceUntil = (filing: string): string =>
  `(SELECT max(a.marked_at + a.settle_ms * interval '1 millisecond') FROM attempts a
     WHERE a.filing_id = ${filing} AND ${IS_MAYBE_FILED})`;

async function readTimes(db: Queryable, filingIds: readonly string[]) {
  const { rows } = await db.query<{
    filingId: string;
    since: number | null;
    askedSince: Date | null;
    evidenceUntil: Date | null;
    activatesAt: Date | null;
  }>(
    `SELECT f.filing_id AS "filingId",
            ${stateSince('f.filing_id', 'f.state')} AS since,
            (SELECT min(q.since) FROM requests q WHERE q.filing_id = f.filing_id AND q.state = 'followed') AS "askedSince",
            ${evidenceUntil('f.filing_id')} AS "evidenceUntil",
            (SELECT e.activates_at FROM exporters e WHERE e.exporter_id = f.exporter_id) AS "activatesAt"
       FROM filings f WHERE f.filing_id = ANY($1)`,
    [filingIds],
  );
  return new Map(rows.map((row) => [row.filingId, row]));
}

export interface InLine {
  filingId: string;
  exporterId: string;
  rateClass: 'push' | 'bulk' | 'pdf';
  calls: number;
}

const queuedFilings = ({ mode, state = 'f.state' }: { mode: string; state?: string }): string =>
  `SELECT f.filing_id AS "filingId", f.exporter_id AS "exporterId",
          CASE ${state} WHEN 'collecting' THEN 'pdf' ELSE f.channel END AS "rateClass",
          CASE ${state} WHEN 'collecting'
            THEN (SELECT count(*) FROM ${ROWS_AND_CERTIFICATES}
                   WHERE r.filing_id = f.filing_id AND r.state = 'certified' AND c.archived_at IS NULL)
            ELSE (SELECT count(*) FROM submissions s WHERE s.filing_id = f.filing_id AND s.state = 'planned')
          END::int AS calls
     FROM filings f WHERE f.mode = ${mode} AND (f.state IN ('submitting', 'collecting')`;

/** The longest queue in which a move tells a filing's place, because the cost of a move must not grow with it. */
const MAX_QUEUE = 100;

/** SQL: the queues of a filing that moves to a state, for {@link placeIn}; null in states without a queue. */
export const lineOf = ({
  filingId,
  mode,
  state,
  dueAt,
}: Record<'filingId' | 'mode' | 'state' | 'dueAt', string>): string =>
  `CASE WHEN ${state} IN ('submitting', 'collecting') THEN (SELECT jsonb_agg(to_jsonb(l)) FROM (
     ${queuedFilings({ mode, state: `(CASE WHEN f.filing_id = ${filingId} THEN ${state} ELSE f.state END)` })}
        OR f.filing_id = ${filingId})
     ORDER BY CASE WHEN f.filing_id = ${filingId} THEN ${dueAt} ELSE f.due_at END, f.filing_id LIMIT ${MAX_QUEUE + 1}) AS l) END`;

/** A filing's place in its queue; null if it is in none, or the queue is longer than {@link MAX_QUEUE}. */
export function placeIn(line: readonly InLine[] | null, filingId: string): QueuePlace | null {
  return line && line.length <= MAX_QUEUE ? (placesOf(line).get(filingId) ?? null) : null;
}

function placesOf(queued: readonly InLine[]): Map<string, QueuePlace> {
  const places = (['push', 'bulk', 'pdf'] as const).map((rateClass) =>
    queuePlaces(
      queued.filter((filing) => filing.rateClass === rateClass),
      RATE_LIMITS[rateClass],
    ),
  );
  return new Map(places.flatMap((placesOfClass) => [...placesOfClass]));
}
