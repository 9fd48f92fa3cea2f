/** Pages of filings. */
import { actionsOf, waitingOf, type FilingSummary, type EventView } from '../../domain/filing/view';
import type { Mode } from '../../domain/names';
import { Conditions, MICROSECONDS, ISO } from '../paging';
import type { Queryable } from '../pool';
import { FILING_RECORDS, NEEDS_ATTENTION, type FilingRecord } from '../filings/filing';
import { countRows, type Scope } from './rows';

/** A filing's place in a list, for the page behind it. */
export interface Mark {
  madeAt: string;
  filingId: string;
}

export interface FilingsPage {
  mode: Mode;
  states?: readonly string[];
  exporterId?: string;
  /** Lower-cased ids of the exporters to include; null: all. */
  exporters?: readonly string[] | null;
  attention?: boolean;
  /** Made at this time or later. */
  since?: Date;
  /** Part of a reference, document number, IRM number or certificate number, or a whole id. */
  search?: string;
  after?: Mark;
  /** Default: the newest first. Not with `after`. */
  oldestFirst?: boolean;
  limit: number;
}

/** Filings with their counts, each with its mark. */
export async function listFilings(
  db: Queryable,
  page: FilingsPage,
): Promise<(FilingSummary & { filingId: string; mark: Mark })[]> {
  const { mode, states, exporterId, exporters, attention, since, search, after, limit, oldestFirst = false } = page;
  const where = new Conditions(mode, limit)
    .add(states, (p) => (states?.length === 1 ? `f.state = (${p}::text[])[1]` : `f.state = ANY(${p})`))
    .add(
      exporterId,
      (p) => `f.exporter_id = (SELECT exporter_id FROM exporters WHERE lower(exporter_id) = lower(${p}))`,
    )
    .add(exporters, (p) => `f.exporter_id IN (SELECT exporter_id FROM exporters WHERE lower(exporter_id) = ANY(${p}))`)
    .add(attention, (p) => (attention ? `${NEEDS_ATTENTION} AND ${p}` : `NOT ${NEEDS_ATTENTION} AND NOT ${p}`))
    .add(since, (p) => `f.made_at >= ${p}`)
    .add(search, (p) => `f.filing_id = ANY (ARRAY(${found(p)}))`)
    .behind(after && { at: after.madeAt, id: after.filingId }, { at: 'f.made_at', id: 'f.filing_id' });
  const { rows } = await db.query<FilingRecord & { at: string }>(
    `${FILING_RECORDS(`, ${MICROSECONDS('f.made_at')} AS at`)}
      WHERE f.mode = $1 ${where.text} ORDER BY ${oldestFirst ? 'f.made_at, f.filing_id DESC' : 'f.made_at DESC, f.filing_id'} LIMIT $2`,
    where.values,
  );
  const counts = await countRows(
    db,
    rows.map(({ filingId }) => filingId),
  );
  return rows.map(({ at, ...filing }) => {
    const { filingId } = filing;
    return { ...summaryOf(filing, counts(filingId)), filingId, mark: { madeAt: at, filingId } };
  });
}

/** A filing for lists. */
export function summaryOf(filing: FilingRecord, counts: FilingSummary['counts']): FilingSummary {
  const { madeAt, approvedAt, ...record } = filing;
  return {
    filingId: record.filingId,
    workflowId: record.workflowId,
    reference: record.reference,
    n: record.n,
    exporterId: record.exporterId,
    exporterName: record.exporterName,
    exporterEmail: record.exporterEmail,
    state: record.state,
    waiting: waitingOf(filing, counts),
    needsAttention: record.needsAttention,
    attention: record.attention,
    asked: record.asked,
    actions: actionsOf(filing),
    requestId: record.requestId,
    dgftAckId: record.dgftAckId,
    uploadType: record.uploadType,
    channel: record.channel,
    declaration: record.declaration,
    madeBy: record.madeBy,
    madeAt: madeAt.toISOString(),
    approval: record.approval,
    approvedAt: approvedAt?.toISOString() ?? null,
    corrects: record.corrects,
    counts,
    warnings: record.warnings,
    errors: record.errors,
    annotated: record.annotated,
    contentHash: record.contentHash,
  };
}

/** SQL for the `search` of {@link listFilings}; it scans every filing. */
const found = (
  text: string,
) => `SELECT filing_id FROM filings WHERE strpos(lower(reference), lower(${text})) > 0 OR filing_id = ${text}
  UNION ALL SELECT filing_id FROM attempts WHERE ${text} IN (request_id, dgft_ack_id)
  UNION ALL SELECT filing_id FROM filing_inputs i JOIN filings USING (input_ref) WHERE strpos(i.words, lower(${text})) > 0
  UNION ALL SELECT filing_id FROM filing_rows WHERE strpos(lower(ebrc_number), lower(${text})) > 0`;

/** The mark of a filing; undefined if the ledger does not hold it. */
export async function markOf(db: Queryable, filingId: string): Promise<Mark | undefined> {
  const { rows } = await db.query<Mark>(
    `SELECT ${MICROSECONDS('made_at')} AS "madeAt", filing_id AS "filingId" FROM filings WHERE filing_id = $1`,
    [filingId],
  );
  return rows[0];
}

/** The story of a filing, or of a whole reference, oldest first. `after`: the `next` of the page before. */
export async function eventsPage(
  db: Queryable,
  { mode, reference, n, after = '0', limit }: Scope & { after?: string; limit: number },
): Promise<{ items: EventView[]; next: string | null }> {
  const { rows } = await db.query<EventView & { ordinal: string }>(
    `SELECT e.ordinal::text AS ordinal, e.event_id AS id, e.filing_id AS "filingId", f.n, ${ISO('e.at')} AS at, e.kind, e.state, e.who, e.text
       FROM filings f JOIN events e ON e.filing_id = f.filing_id
      WHERE f.mode = $1 AND f.reference = $2 AND ($3::int IS NULL OR f.n = $3) AND e.kind IS NOT NULL AND e.ordinal > $4
      ORDER BY e.ordinal LIMIT $5`,
    [mode, reference, n, after, limit + 1],
  );
  const page = rows.slice(0, limit);
  const items = page.map(({ ordinal: _, ...event }) => event);
  return { items, next: rows.length > limit ? (page.at(-1)?.ordinal ?? null) : null };
}
