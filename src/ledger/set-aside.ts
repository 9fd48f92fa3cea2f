/** Steps that kill their worker. They are recorded before they begin, because a killed process reports nothing. */
import type { Queryable } from './pool';

/** Lost workers before a step with very large content is set aside; the first may have died of something else. */
const LOST_WITH_MUCH = 2;
const MUCH_BYTES = 2_097_152;
/** Lost workers before any other step is set aside; workers that are killed for other reasons repeat steps too. */
const LOST_WORKERS = 5;

export interface StepTry {
  workflowId: string;
  /** Identifies the step; equal for each try. */
  step: string;
  /** What the step does; the same step of another run is set aside with it. */
  what: string;
  tryId: string;
  /** The stored content that the step was given; null: it is small, or the filing's own. */
  inputRef: string | null;
}

/** Records a try. @returns how many workers the step has lost in a row, and whether it is set aside and must not run */
export async function noteStep(
  db: Queryable,
  { workflowId, step, what, tryId, inputRef }: StepTry,
): Promise<{ lost: number; setAside: boolean }> {
  const { rows } = await db.query<{ lost: number; setAside: boolean }>(
    `INSERT INTO steps_under_way AS s (workflow_id, step, what, try_id) VALUES ($1, $2, $3, $4)
     ON CONFLICT (workflow_id, step) DO UPDATE SET lost = s.lost + 1, try_id = excluded.try_id, since = now()
     RETURNING lost, EXISTS (SELECT FROM steps_under_way o WHERE o.workflow_id = $1 AND o.what = $3 AND o.set_aside) AS "setAside"`,
    [workflowId, step, what, tryId],
  );
  const { lost = 0, setAside = false } = rows[0] ?? {};
  if (setAside || lost < LOST_WITH_MUCH) return { lost, setAside };
  const { rowCount } = await db.query(
    `UPDATE steps_under_way SET set_aside = true WHERE workflow_id = $1 AND step = $2 AND ($3 OR EXISTS (
       SELECT FROM filing_inputs WHERE octet_length(rows::text) > ${MUCH_BYTES} AND (input_ref = $4 OR input_ref IN (
         SELECT input_ref FROM filings WHERE workflow_id = $1))))`,
    [workflowId, step, lost >= LOST_WORKERS, inputRef],
  );
  return { lost, setAside: rowCount === 1 };
}

/** Removes the record of a step that has ended or was not begun. A step that is set aside stays recorded. */
export async function strikeStep(db: Queryable, { workflowId, step, tryId }: StepTry): Promise<void> {
  await db.query('DELETE FROM steps_under_way WHERE workflow_id = $1 AND step = $2 AND try_id = $3 AND NOT set_aside', [
    workflowId,
    step,
    tryId,
  ]);
}

/** Takes back the loss counted for a try that has to wait, because it lost no worker. */
export async function postponeStep(db: Queryable, { workflowId, step, tryId }: StepTry): Promise<void> {
  await db.query(
    'UPDATE steps_under_way SET lost = lost - 1 WHERE workflow_id = $1 AND step = $2 AND try_id = $3 AND lost > 0',
    [workflowId, step, tryId],
  );
}

/** Opens a question about a filing, or the attempt to make one, that is set aside. */
export async function askAboutSetAside(
  db: Queryable,
  about: { workflowId: string; exporterId: string; filingId: string | null; text: string; at: Date },
): Promise<void> {
  await db.query(
    `INSERT INTO questions (mode, party_id, key, kind, exporter_id, filing_id, reason, first_seen_at, last_seen_at)
     SELECT e.mode, e.party_id, 'filing_set_aside|' || $1, 'filing_set_aside', e.exporter_id, $3, $4, $5, $5
       FROM exporters e WHERE e.exporter_id = $2
     ON CONFLICT (party_id, key) WHERE closed_at IS NULL DO UPDATE SET reason = excluded.reason, last_seen_at = excluded.last_seen_at`,
    [about.workflowId, about.exporterId, about.filingId, about.text, about.at],
  );
}

/** Lets a workflow's steps be tried again. @returns the exporter of the filing that was set aside, or null */
export async function forgetSetAside(db: Queryable, workflowId: string): Promise<{ exporterId: string } | null> {
  await db.query('DELETE FROM steps_under_way WHERE workflow_id = $1 AND set_aside', [workflowId]);
  const { rows } = await db.query<{ exporterId: string }>(
    `UPDATE questions SET closed_at = now() WHERE key = 'filing_set_aside|' || $1 AND closed_at IS NULL
     RETURNING exporter_id AS "exporterId"`,
    [workflowId],
  );
  return rows[0] ?? null;
}
