import type { Queryable } from '../../src/ledger/pool';
import { filingWorkflowId } from '../../src/domain/names';

export interface RecordedFilingFacts {
  reference: string;
  n?: number;
  state?: string;
  workflowId?: string;
  mode?: 'test' | 'live';
  /** States that it had, for its events; default: `state`. */
  states?: string[];
  closed?: boolean;
  due?: boolean;
  rows?: number;
}

/** A filing by plain statements, with what tests of its surroundings need. @returns how its run is started */
export async function recordFilingByHand(db: Queryable, facts: RecordedFilingFacts) {
  const { reference, n = 1, state = 'processing', mode = 'test', closed = false, due = false, rows = 1 } = facts;
  const filingId = `F-${reference}-${n}`;
  const workflowId = facts.workflowId ?? filingWorkflowId(mode, reference, n);
  const exporterId = `E-${mode}`;
  await db.query(
    `INSERT INTO exporters (exporter_id, mode, name, email, iec, state) VALUES ($1, $2, 'N', 'e@example.com', 'IEC0000001', 'ready')
     ON CONFLICT DO NOTHING`,
    [exporterId, mode],
  );
  await db.query(
    `INSERT INTO filing_inputs (input_ref, rows, row_count, source_kind) VALUES ('I', '[]', 0, 'json') ON CONFLICT DO NOTHING`,
  );
  await db.query(
    `INSERT INTO filings (filing_id, mode, exporter_id, iec, reference, n, workflow_id, content_hash, input_ref, upload_type, declaration,
        channel, declared_by, made_by, state, closed_at, due_at, checked_at)
     VALUES ($1, $2, $3, 'IEC0000001', $4, $5, $6, 'h', 'I', 101, 'Y', 'push', 'd', 'm', $7, CASE WHEN $8 THEN now() END,
       CASE WHEN $9 THEN now() - interval '1 h' ELSE now() + interval '1 h' END, now())`,
    [filingId, mode, exporterId, reference, n, workflowId, state, closed, due],
  );
  for (let position = 0; position < rows; position += 1) {
    await db.query(
      `INSERT INTO filing_rows (filing_id, position, source_row, mode, iec, mapping, irm_key, document_key, amount, currency, fingerprint)
       VALUES ($1, $2, $2 + 1, $3, 'IEC0000001', '{}', $4, 'D', 1, 'USD', $1 || '/' || $2)`,
      [filingId, position, mode, `IRM-${reference}`],
    );
  }
  for (const entered of facts.states ?? [state]) {
    await db.query(
      `INSERT INTO events (mode, type, filing_id, subject, kind, state, text) VALUES ($1, $2, $3, $4, $5, $5, '')`,
      [...[mode, `ebrc.filing.${entered}`, filingId, reference, entered]],
    );
  }
  return { filingId, workflowId, mode, exporterId, reference, n, state } as const;
}

/** An attempt of such a filing that was accepted. */
export const attemptByHand = (db: Queryable, { filingId }: { filingId: string }) =>
  db.query(
    `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, epoch, beat, settle_beats, settle_ms, timeout_ms)
     SELECT filing_id, 1, mode, exporter_id, 'accepted', '', 1, 1, 1, 1 FROM filings WHERE filing_id = $1`,
    [filingId],
  );
