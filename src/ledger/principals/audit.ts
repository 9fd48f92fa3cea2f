import type { Mode } from '../../domain/names';
import { cleanText, cutText } from '../../domain/text';
import type { Queryable } from '../pool';

const SUBJECT_BYTES = 300;

export interface AuditEvent {
  mode: Mode;
  at: Date;
  /** Null: without a valid token. */
  principal: { principalId: string; name: string } | null;
  /** A route such as `POST /v1/filings`, or a command such as `principals rotate`. */
  action: string;
  outcome: 'used' | 'refused';
  subject?: string;
  code?: string;
  requestId?: string;
  /** How often, since `at`; default 1. */
  uses?: number;
}

export async function recordAudit(db: Queryable, events: readonly AuditEvent[]): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map(({ principal, ...event }) => ({
    ...event,
    principal_id: principal?.principalId ?? null,
    principal: principal?.name ?? null,
    request_id: event.requestId ?? null,
    // A name as a caller wrote it: one that cannot be stored would fail all events that are written with it.
    subject: event.subject === undefined ? null : cutText(cleanText(event.subject), SUBJECT_BYTES),
    uses: event.uses ?? 1,
  }));
  await db.query(
    `INSERT INTO audit_events (mode, at, principal_id, principal, action, outcome, subject, code, request_id, uses)
     SELECT mode, at, principal_id, principal, action, outcome, subject, code, request_id, uses
       FROM jsonb_to_recordset($1::jsonb) AS e (mode text, at timestamptz, principal_id uuid, principal text, action text, outcome text,
         subject text, code text, request_id text, uses integer)`,
    [JSON.stringify(rows)],
  );
}
