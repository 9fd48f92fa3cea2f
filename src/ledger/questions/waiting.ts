import type { FilingCounts } from '../../domain/contracts';
import { waitsFor, type Waiting } from '../../domain/filing/view';
import type { Queryable } from '../pool';
import { expectedAnswerMs } from '../submissions/answer-times';
import type { FilingRecord } from '../filings/filings';
import { readQueue } from './queue';
import type { Cadence } from '../../domain/filing/poll-cadence';

interface Times {
  filingId: string;
  since: Date | null;
  askedSince: Date | null;
  evidenceUntil: Date | null;
  activatesAt: Date | null;
}

/** What each of some filings waits for, by id; those that have ended are left out. */
export async function readWaiting(
  db: Queryable,
  filings: readonly FilingRecord[],
  counts: ReadonlyMap<string, FilingCounts>,
  cadence: Cadence,
): Promise<Map<string, Waiting>> {
  const subjects = new Map(
    filings.flatMap((filing) => {
      const subject = waitsFor(filing, counts.get(filing.filingId) ?? NO_ROWS);
      return subject === null ? [] : [[filing.filingId, subject] as const];
    }),
  );
  if (subjects.size === 0) return new Map();
  const times = await readTimes(db, [...subjects.keys()]);
  const [asked] = filings.filter(({ state }) => state === 'processing');
  const [queued] = filings.filter(({ state }) => state === 'submitting' || state === 'collecting');
  const queue = queued ? await readQueue(db, queued.mode) : null;
  const meanMs = asked ? await expectedAnswerMs(db, asked.mode, cadence) : 0;
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
        since: (since ?? filing.madeAt).toISOString(),
        queue: turn && { place: turn.place, of: turn.of },
        expectedBy: ahead(opened ?? turned ?? answered)?.toISOString() ?? null,
        until: until?.toISOString() ?? null,
      };
      return [[filing.filingId, waiting] as const];
    }),
  );
}

/** What should have come already says nothing of when it comes. */
const ahead = (time: Date | null): Date | null => (time && time.getTime() > Date.now() ? time : null);

const NO_ROWS: FilingCounts = { rows: 0, certified: 0, archived: 0, errored: 0, open: 0 };

async function readTimes(db: Queryable, filingIds: readonly string[]): Promise<Map<string, Times>> {
  const { rows } = await db.query<Times>(
    `SELECT f.filing_id AS "filingId",
            (SELECT min(e.at) FROM filing_events e WHERE e.filing_id = f.filing_id AND e.state = f.state
               AND e.event_id > coalesce((SELECT max(o.event_id) FROM filing_events o
                 WHERE o.filing_id = f.filing_id AND o.state <> f.state), 0)) AS since,
            (SELECT min(q.since) FROM requests q WHERE q.filing_id = f.filing_id AND q.state = 'followed') AS "askedSince",
            (SELECT max(a.marked_at + a.settle_ms * interval '1 millisecond') FROM attempts a
              WHERE a.filing_id = f.filing_id AND a.verdict IN ('marked', 'accepted')) AS "evidenceUntil",
            (SELECT e.activates_at FROM exporters e WHERE e.exporter_id = f.exporter_id) AS "activatesAt"
       FROM filings f WHERE f.filing_id = ANY($1)`,
    [filingIds],
  );
  return new Map(rows.map((row) => [row.filingId, row]));
}
