/** The result of a filing's run, and the answer to its query, from the ledger. */
import { NO_ROWS, ROWS_IN_RESULT, type FileInput, type FilingResult } from '../../domain/contracts';
import { isEnd, type FilingState } from '../../domain/filing/states';
import type { Finding } from '../../domain/rules/finding';
import type { Queryable } from '../pool';
import { FilingMissing } from './lock';

/** SQL: the counts of filing `f` in the shape of {@link FilingResult}. */
const COUNTS = `(SELECT jsonb_build_object('rows', count(*), 'certified', count(*) FILTER (WHERE r.state = 'certified'),
    'archived', count(*) FILTER (WHERE c.archived_at IS NOT NULL), 'errored', count(*) FILTER (WHERE NOT r.held),
    'corrected', count(*) FILTER (WHERE r.corrected_by IS NOT NULL), 'open', count(*) FILTER (WHERE r.state IN ('planned', 'sent')))
   FROM filing_rows r LEFT JOIN certificates c ON c.mode = r.mode AND c.iec = r.iec AND c.ebrc_number = r.ebrc_number
  WHERE r.filing_id = f.filing_id)`;

/** States in which rows have changed, so that they are worth reading. */
const SHOWS_ROWS = (state: FilingState): boolean =>
  isEnd(state) || ['collecting', 'outcome_unknown', 'overdue'].includes(state);

type Shown = Omit<FilingResult, 'rows'> & { rows: FilingResult['rows'] | null };

/** A filing's result. `shown`: the state whose rows the run has already; `rows` are null then. @throws FilingMissing */
export async function readResult(
  db: Queryable,
  filingId: string,
  shown: string | null,
): Promise<{ workflowId: string; exporterId: string; result: Shown }> {
  const { rows } = await db.query<
    Omit<Shown, 'rows' | 'moreRows' | 'state' | 'recorded'> & { exporterId: string; state: FilingState }
  >(
    `SELECT f.filing_id AS "filingId", f.workflow_id AS "workflowId", f.exporter_id AS "exporterId", f.reference, f.n, f.state,
            f.content_hash AS "contentHash", f.attention, f.asked, ${COUNTS} AS counts, a.request_id AS "requestId",
            a.dgft_ack_id AS "dgftAckId", m.number AS attempt,
            jsonb_path_query_array(f.errors, '$[0 to 49]') AS errors,
            CASE WHEN f.closed_at IS NULL THEN coalesce(jsonb_path_query_array(m.evidence, '$.entries[0 to 19]'), '[]') ELSE '[]' END AS evidence
       FROM filings f
       LEFT JOIN LATERAL (SELECT * FROM attempts a WHERE a.filing_id = f.filing_id AND request_id IS NOT NULL ORDER BY number LIMIT 1) AS a ON true
       LEFT JOIN LATERAL (SELECT * FROM attempts a WHERE a.filing_id = f.filing_id AND verdict IN ('sending', 'unknown', 'accepted')
          ORDER BY number DESC LIMIT 1) AS m ON true
      WHERE f.filing_id = $1`,
    [filingId],
  );
  const [found] = rows;
  if (!found) throw new FilingMissing(filingId);
  const { workflowId, exporterId, ...result } = found;
  const seen = SHOWS_ROWS(result.state) ? (shown === rowsKey(result) ? null : await readRows(db, filingId)) : [];
  const { counts } = result;
  const moreRows =
    counts.rows > ROWS_IN_RESULT && SHOWS_ROWS(result.state)
      ? `ebrc show ${filingId} --json, or GET /v1/filings/${filingId}/rows, has all ${counts.rows} rows`
      : null;
  return { workflowId, exporterId, result: { ...result, workflowId, recorded: null, rows: seen, moreRows } };
}

/** What tells whether rows changed since they were shown. */
const rowsKey = ({ state, counts }: Pick<FilingResult, 'state' | 'counts'>): string => JSON.stringify([state, counts]);

async function readRows(db: Queryable, filingId: string): Promise<FilingResult['rows']> {
  const { rows } = await db.query<FilingResult['rows'][number]>(
    `SELECT r.source_row AS row, r.position + 1 AS "serialNo", left(r.mapping->>'irmNumber', 200) AS "irmNumber",
            left(r.mapping->>'sbCumInvoiceNumber', 200) AS "sbCumInvoiceNumber", r.state, r.ebrc_number AS "eBRCNumber",
            c.pdf_document AS pdf, c.pdf_sha256 AS sha256,
            ARRAY(SELECT left(e, 500) FROM jsonb_array_elements_text(r.errors) AS e LIMIT 5) AS errors
       FROM filing_rows r LEFT JOIN certificates c ON c.mode = r.mode AND c.iec = r.iec AND c.ebrc_number = r.ebrc_number
      WHERE r.filing_id = $1 ORDER BY r.position LIMIT ${ROWS_IN_RESULT}`,
    [filingId],
  );
  return rows;
}

/** The result of a run that recorded nothing, with what stands under its reference. */
export async function refusedResult(
  db: Queryable,
  args: {
    workflowId: string;
    input: Pick<FileInput, 'reference' | 'n'> | null;
    findings: readonly Finding[];
    contentHash?: string | null;
    recorded?: string | null;
  },
): Promise<Shown> {
  const { workflowId, input, findings, contentHash = null, recorded = null } = args;
  const stands = recorded === null ? null : (await readResult(db, recorded, null)).result;
  return {
    ...{
      filingId: null,
      workflowId,
      reference: String(input?.reference ?? ''),
      n: Number(input?.n ?? 1),
      state: 'refused',
    },
    recorded:
      stands === null || stands.filingId === null || stands.state === 'refused'
        ? null
        : { filingId: stands.filingId, state: stands.state, counts: stands.counts },
    ...{ contentHash, requestId: null, dgftAckId: null, counts: NO_ROWS, attention: null, asked: false },
    errors: findings.filter(({ severity }) => severity === 'error').slice(0, 50),
    ...{ attempt: null, evidence: [], rows: [], moreRows: null },
  };
}
