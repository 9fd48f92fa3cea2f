/** Rows that take over rejected or refused ones. They share a lineage, of which at most one row may be live. */
import { groupBy } from '../../domain/values';
import { errorAt, type Finding } from '../../domain/rules/finding';
import { comparableText, irmIdentity, sameId, type IrmNames } from '../../domain/identity';
import type { Mapping, MappingRow } from '../../domain/filing/mapping';
import type { Reference } from '../filings/filings';
import type { Queryable } from '../pool';
import { askAbout, closeQuestion } from '../questions/questions';

interface EarlierRow extends IrmNames, Pick<Mapping, 'sbCumInvoiceNumber'> {
  filingId: string;
  n: number;
  exporterId: string;
  serialNo: number;
  fingerprint: string;
  lineage: string;
  state: string;
  live: boolean;
  takenOverBy: string | null;
}

/** Filings under a reference with their IRMs, to lock before {@link judgeTakeOver}. `n`: the next one's number. */
export async function filedBefore(
  client: Queryable,
  { mode, reference, n }: Reference & { n?: number },
): Promise<(IrmNames & { filingId: string })[]> {
  if (n === 1) return [];
  const { rows } = await client.query<IrmNames & { filingId: string }>(
    `SELECT DISTINCT f.filing_id AS "filingId", mapping->>'irmNumber' AS "irmNumber", mapping->>'irmAdCode' AS "irmAdCode"
       FROM filings f JOIN filing_rows r USING (filing_id) WHERE f.mode = $1 AND f.reference = $2`,
    [mode, reference],
  );
  return rows;
}

interface Successor extends Reference {
  /** The filing's number under its reference, which follows the last one. */
  n: number;
  exporterId: string;
  corrects: string | null;
  rows: readonly MappingRow[];
  fingerprints: readonly string[];
}

/** The rows that a correction (by serial number) or a reference filed again (by mapping) takes over. */
export async function judgeTakeOver(
  client: Queryable,
  successor: Successor,
): Promise<
  | { predecessors: ({ lineage: string; fingerprints: string[] } | null)[]; findings: [] }
  | { predecessors: null; findings: Finding[] }
> {
  const { corrects, rows, exporterId } = successor;
  const earlier = await readEarlier(client, successor);
  const bySerial = new Map(
    earlier.filter(({ filingId }) => filingId === corrects).map((row) => [row.serialNo, row] as const),
  );
  const findings =
    corrects === null
      ? refuseLive(successor, earlier)
      : rows.flatMap((row) => judgeCorrected(corrects, row, bySerial.get(row.mapping.serialNo), earlier));
  const stranger = earlier.find((row) => !sameId(row.exporterId, exporterId));
  if (stranger) findings.push(refusal('exporter_differs', null, stranger.filingId, OTHER_EXPORTER));
  if (findings.length > 0) return { predecessors: null, findings };

  const fingerprints = groupBy(earlier, ({ lineage }) => lineage);
  const taken =
    corrects === null ? byMapping(successor, earlier) : rows.map(({ mapping }) => bySerial.get(mapping.serialNo));
  return {
    predecessors: taken.map((row) => {
      if (!row) return null;
      const { lineage } = row;
      const all = fingerprints.get(lineage) ?? [];
      return { lineage, fingerprints: [...new Set(all.map(({ fingerprint }) => fingerprint))] };
    }),
    findings: [],
  };
}

const OTHER_EXPORTER = 'The filings under this reference are those of another exporter. Use another reference.';

async function readEarlier(client: Queryable, { mode, reference, n }: Successor): Promise<EarlierRow[]> {
  if (n === 1) return [];
  const { rows } = await client.query<EarlierRow>(
    `SELECT f.filing_id AS "filingId", f.n, f.exporter_id AS "exporterId", (r.mapping->>'serialNo')::int AS "serialNo",
            r.mapping->>'irmNumber' AS "irmNumber", r.mapping->>'irmAdCode' AS "irmAdCode",
            r.mapping->>'sbCumInvoiceNumber' AS "sbCumInvoiceNumber", r.fingerprint, r.lineage, r.state, r.live,
            r.taken_over_by AS "takenOverBy"
       FROM filings f JOIN filing_rows r USING (filing_id)
      WHERE f.mode = $1 AND f.reference = $2 ORDER BY f.n DESC, r.position`,
    [mode, reference],
  );
  return rows;
}

/** A reference is filed again as a whole, so none of its rows may be certified or under way. */
function refuseLive({ reference }: Successor, earlier: EarlierRow[]): Finding[] {
  const live = earlier.filter((row) => row.live);
  const [first] = live;
  if (!first) return [];
  const text =
    `${live.length} rows of reference ${reference} are certified or under way (filing ${first.filingId}, serialNo ` +
    `${first.serialNo}: ${first.state}), so it cannot be filed again: see \`ebrc show\` of it, and correct its errored ` +
    'rows, or use another reference.';
  return [refusal('reference_live', null, first.filingId, text)];
}

function judgeCorrected(
  corrects: string,
  { row, mapping: { serialNo } }: MappingRow,
  before: EarlierRow | undefined,
  earlier: EarlierRow[],
): Finding[] {
  const live = before && earlier.find((successor) => successor.live && successor.lineage === before.lineage);
  if (before?.state === 'needs_correction' && !live) return [];
  const holder = live?.filingId ?? before?.takenOverBy;
  const why = !before
    ? `filing ${corrects} has no row with serialNo ${serialNo} under this reference`
    : holder && holder !== corrects
      ? `filing ${holder} corrects it already`
      : `it is ${before.state} in filing ${corrects}`;
  const text = `Row ${row} is not waiting for a correction: ${why}. Leave it out.`;
  return [refusal('not_correctable', row, holder ?? corrects, text)];
}

/** Matches each row to one lineage, newest first: by mapping, else by IRM and document, else by serial number. */
function byMapping({ rows, fingerprints }: Successor, earlier: EarlierRow[]): (EarlierRow | undefined)[] {
  const continued = new Set<string>();
  const findFree = (suits: (row: EarlierRow) => boolean) =>
    earlier.find((row) => !continued.has(row.lineage) && suits(row));
  const rules: ((row: EarlierRow, now: MappingRow, fingerprint: string | undefined) => boolean)[] = [
    (row, { mapping }, fingerprint) => row.fingerprint === fingerprint && row.serialNo === mapping.serialNo,
    (row, _, fingerprint) => row.fingerprint === fingerprint,
    (row, { mapping }) => documentOf(row) === documentOf(mapping),
    (row, { mapping }) => row.serialNo === mapping.serialNo,
  ];
  const found = new Map<number, EarlierRow>();
  for (const suits of rules) {
    for (const [position, row] of rows.entries()) {
      const continuedRow =
        found.get(position) ?? findFree((candidate) => suits(candidate, row, fingerprints[position]));
      if (!continuedRow) continue;
      continued.add(continuedRow.lineage);
      found.set(position, continuedRow);
    }
  }
  return rows.map((_, position) => found.get(position));
}

const documentOf = (row: IrmNames & Pick<Mapping, 'sbCumInvoiceNumber'>) =>
  JSON.stringify([irmIdentity(row), comparableText(row.sbCumInvoiceNumber)]);

function refusal(code: string, row: number | null, filingId: string, message: string): Finding {
  return { ...errorAt(row, row === null ? null : 'serialNo', code, message), filingId };
}

/** Marks rows of these lineages that wait for a correction as taken over by the filing. */
export async function takeOverRows(
  client: Queryable,
  { filingId, lineages }: { filingId: string; lineages: readonly string[] },
): Promise<void> {
  if (lineages.length === 0) return;
  const { rows } = await client.query<{ parent: string }>(
    `UPDATE filing_rows SET state = 'corrected', taken_over_by = $1
      WHERE lineage = ANY($2) AND filing_id <> $1 AND state = 'needs_correction' RETURNING filing_id AS parent`,
    [filingId, lineages],
  );
  for (const parent of new Set(rows.map((row) => row.parent))) await updateQuestionsOfEnded(client, parent);
}

/** Returns rows to the filings that they were taken over from, if no row of the correction is live. */
export async function giveRowsBack(client: Queryable, filingId: string): Promise<void> {
  const { rows } = await client.query<{ parent: string }>(
    `UPDATE filing_rows SET state = 'needs_correction', taken_over_by = NULL
      WHERE taken_over_by = $1 AND state = 'corrected' AND NOT EXISTS (SELECT FROM filing_rows WHERE filing_id = $1 AND live)
     RETURNING filing_id AS parent`,
    [filingId],
  );
  for (const parent of new Set(rows.map((row) => row.parent))) await updateQuestionsOfEnded(client, parent);
}

/**
 * Updates the questions of an ended filing that follow from its rows: a correction, while rows wait for one; unless it
 * was abandoned, also what became of rows that count as sent since, or that certificates contradict its final state.
 */
export async function updateQuestionsOfEnded(client: Queryable, filingId: string): Promise<void> {
  const { rows } = await client.query<{ waiting: number; changed: string | null; at: Date }>(
    `SELECT waiting, now() AS at, CASE
              WHEN state = 'abandoned' THEN NULL
              WHEN open > 0 THEN open || ' of its rows count as sent since it has ended, and have no outcome. Look at the portal, and '
                || 'say what became of them: ebrc resolve ' || filing_id
              WHEN (state = 'partly_certified' AND certified = rows) OR (state IN ('needs_correction', 'rejected') AND certified > 0)
                THEN 'It has ended as ' || state || ', but ' || certified || ' of its ' || rows || ' rows are certified since.' END AS changed
       FROM (SELECT filing_id, f.state, count(*) AS rows, count(*) FILTER (WHERE r.state = 'certified') AS certified,
                    count(*) FILTER (WHERE r.live AND r.state <> 'certified') AS open,
                    count(*) FILTER (WHERE r.state = 'needs_correction')::int AS waiting
               FROM filings f JOIN filing_rows r USING (filing_id) WHERE filing_id = $1 AND closed_at IS NOT NULL
              GROUP BY filing_id) AS ended`,
    [filingId],
  );
  const [ended] = rows;
  if (!ended) return;
  const { waiting, changed, at } = ended;
  const correction = { filingId, kind: 'needs_correction', at };
  if (waiting === 0) await closeQuestion(client, correction);
  else {
    const text = `${waiting} of its rows wait for a correction: ebrc correct ${filingId} FILE`;
    await askAbout(client, { ...correction, text, until: 'state' });
  }
  const outcome = { filingId, kind: 'changed_after_end', at };
  if (changed === null) await closeQuestion(client, outcome);
  else await askAbout(client, { ...outcome, text: changed, until: 'fact' });
}
