import type { BulkTemplate } from '../../domain/rules/columns';
import type { Mode } from '../../domain/names';
import { ISO } from '../paging';
import type { Queryable } from '../pool';

export async function readBulkTemplate(db: Queryable, mode: Mode): Promise<BulkTemplate | null> {
  const { rows } = await db.query<BulkTemplate>(
    `SELECT labels, ${ISO('learned_at')} AS "learnedAt" FROM bulk_templates WHERE mode = $1 AND labels IS NOT NULL`,
    [mode],
  );
  return rows[0] ?? null;
}

export async function saveBulkTemplate(db: Queryable, mode: Mode, labels: readonly string[], at: Date): Promise<void> {
  await db.query(
    `INSERT INTO bulk_templates (mode, labels, learned_at, asked_at) VALUES ($1, $2, $3, $3)
     ON CONFLICT (mode) DO UPDATE SET labels = EXCLUDED.labels, learned_at = EXCLUDED.learned_at, asked_at = EXCLUDED.asked_at`,
    [mode, JSON.stringify(labels), at],
  );
}

/**
 * Claims the reading of a mode's template if it is older than `maxAgeMs`. A reading that was claimed and failed can be
 * claimed again after `retryMs`.
 * @returns the exporter to read it for; null: it is known or claimed, or there is no exporter yet
 */
export async function claimTemplateReading(
  db: Queryable,
  { mode, at, maxAgeMs, retryMs }: { mode: Mode; at: Date; maxAgeMs: number; retryMs: number },
): Promise<string | null> {
  const { rows } = await db.query<{ exporterId: string }>(
    `WITH reader AS (
       SELECT exporter_id FROM exporters WHERE mode = $1 AND is_active
        ORDER BY irms_refreshed_at DESC NULLS LAST, exporter_id LIMIT 1
     )
     INSERT INTO bulk_templates AS known (mode, asked_at) SELECT $1, $2 FROM reader
     ON CONFLICT (mode) DO UPDATE SET asked_at = EXCLUDED.asked_at
     WHERE known.asked_at <= $4 AND (known.learned_at IS NULL OR known.learned_at <= $3)
     RETURNING (SELECT exporter_id FROM reader) AS "exporterId"`,
    [mode, at, new Date(at.getTime() - maxAgeMs), new Date(at.getTime() - retryMs)],
  );
  return rows[0]?.exporterId ?? null;
}
