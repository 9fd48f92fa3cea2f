import { warningAt } from '../../domain/rules/finding';
import { addEvent } from '../filings/filing-notes';
import type { Queryable } from '../pool';
import { askAbout } from '../questions/questions';

interface PartyMove {
  from: number;
  to: number;
  /** The client that moves; null: the whole party, which had no IEC. */
  exporterId: string | null;
  at: Date;
}

/**
 * Moves clients and their filings to another party, under both locks. A mapping that both hold takes the next ordinal,
 * and a certificate that both claim becomes disputed.
 */
export async function movePartyOf(client: Queryable, move: PartyMove): Promise<void> {
  const { from, to, exporterId } = move;
  await client.query('SELECT 1 FROM exporters WHERE party_id = ANY($1) ORDER BY exporter_id FOR NO KEY UPDATE', [
    [from, to],
  ]);
  const moved = `party_id = $1 AND ($3::text IS NULL OR exporter_id = $3)`;
  await client.query(`UPDATE exporters SET party_id = $2 WHERE ${moved}`, [from, to, exporterId]);
  // A list for another IEC does not tell which certificates of this one existed.
  await client.query(
    `UPDATE snapshots SET party_id = $2, listed = CASE WHEN $3::text IS NULL THEN listed END,
            certificates = CASE WHEN $3::text IS NULL THEN certificates END WHERE ${moved}`,
    [from, to, exporterId],
  );
  if (exporterId === null)
    await client.query('UPDATE listed_certificates SET party_id = $2 WHERE party_id = $1', [from, to]);
  await client.query(
    `UPDATE permits p SET fingerprint = $2::int || ':' || split_part(fingerprint, ':', 2) FROM filings f JOIN exporters e USING (exporter_id)
      WHERE f.filing_id = p.filing_id AND e.party_id = $2 AND split_part(fingerprint, ':', 1) = $1::text`,
    [from, to],
  );
  const collisions = await moveRows(client, move);
  await moveCertificates(client, move);
  await moveQuestions(client, move);
  for (const collision of collisions) await reportCollision(client, collision, move.at);
}

async function moveRows(client: Queryable, { from, to, exporterId }: PartyMove) {
  const values = [from, to, exporterId];
  await client.query(
    `SELECT 1 FROM filing_rows WHERE party_id = $1 AND ($2::text IS NULL OR exporter_id = $2)
      ORDER BY filing_id, position FOR UPDATE`,
    [from, exporterId],
  );
  const { rows } = await client.query<{
    filingId: string;
    row: number;
    holder: string | null;
    claimant: string | null;
  }>(
    `WITH moved AS (
       SELECT h.filing_id, h.position, h.fingerprint AS before, $2::int || ':' || split_part(h.fingerprint, ':', 2) AS fingerprint,
              h.ordinal, row_number() OVER (PARTITION BY h.fingerprint ORDER BY h.ordinal) AS nth
         FROM held_mappings h JOIN filing_rows r USING (filing_id, position)
        WHERE r.party_id = $1 AND ($3::text IS NULL OR r.exporter_id = $3)
     ), judged AS (
       SELECT m.*, h.top, h.holder
         FROM moved m LEFT JOIN LATERAL (SELECT max(o.ordinal) AS top, (array_agg(o.filing_id ORDER BY o.ordinal))[1] AS holder
           FROM held_mappings o WHERE o.fingerprint = m.fingerprint) h ON true
     ), held AS (
       UPDATE held_mappings h SET fingerprint = j.fingerprint,
              ordinal = CASE WHEN j.holder IS NULL THEN j.ordinal ELSE j.top + j.nth END,
              beside = CASE WHEN j.holder IS NULL THEN h.beside ELSE 'collided' END
         FROM judged j WHERE h.fingerprint = j.before AND h.ordinal = j.ordinal
     ), collided AS (
       SELECT filing_id, position, min(holder) AS holder FROM judged GROUP BY 1, 2
     ), changed AS (
       SELECT r.filing_id, r.position, c.holder, (SELECT o.filing_id FROM filing_rows o
                WHERE o.party_id = $2 AND o.ebrc_number = r.ebrc_number AND NOT o.disputed) AS claimant
         FROM filing_rows r LEFT JOIN collided c USING (filing_id, position)
        WHERE r.party_id = $1 AND ($3::text IS NULL OR r.exporter_id = $3)
     )
     UPDATE filing_rows r SET party_id = $2, fingerprint = $2::int || ':' || split_part(r.fingerprint, ':', 2),
            collided_with = coalesce(j.holder, r.collided_with),
            disputed = r.disputed OR j.claimant IS NOT NULL
       FROM changed j WHERE r.filing_id = j.filing_id AND r.position = j.position
     RETURNING r.filing_id AS "filingId", r.source_row AS row, j.holder, j.claimant`,
    values,
  );
  return rows.flatMap(({ filingId, row, holder, claimant }) => [
    ...(holder === null ? [] : [{ filingId, row, besides: holder, what: 'mapping' as const }]),
    ...(claimant === null ? [] : [{ filingId, row, besides: claimant, what: 'certificate' as const }]),
  ]);
}

/** A client whose IEC changes takes only the certificates of its own rows; others belong to the previous IEC. */
async function moveCertificates(client: Queryable, { from, to, exporterId }: PartyMove): Promise<void> {
  const values = [from, to, exporterId];
  const mine = `f.party_id = $1
    AND ($3::text IS NULL OR f.filing_id IN (SELECT filing_id FROM filings WHERE exporter_id = $3))`;
  await client.query(
    `UPDATE certificates t SET filing_id = coalesce(t.filing_id, f.filing_id),
            position = CASE WHEN t.filing_id IS NULL THEN f.position ELSE t.position END,
            ebrc_date = coalesce(t.ebrc_date, f.ebrc_date), detail = coalesce(t.detail, f.detail),
            first_seen_at = least(t.first_seen_at, f.first_seen_at), seen_at = greatest(t.seen_at, f.seen_at),
            issued_on = coalesce(t.issued_on, f.issued_on), match_key = coalesce(t.match_key, f.match_key),
            first_status = coalesce(f.first_status, t.first_status),
            pdf_document = coalesce(t.pdf_document, f.pdf_document), pdf_sha256 = coalesce(t.pdf_sha256, f.pdf_sha256),
            pdf_bytes = coalesce(t.pdf_bytes, f.pdf_bytes), archived_at = coalesce(t.archived_at, f.archived_at)
       FROM certificates f WHERE ${mine} AND t.party_id = $2 AND t.ebrc_number = f.ebrc_number`,
    values,
  );
  await client.query(
    `DELETE FROM certificates f USING certificates t WHERE ${mine} AND t.party_id = $2 AND t.ebrc_number = f.ebrc_number`,
    values,
  );
  await client.query(`UPDATE certificates f SET party_id = $2 WHERE ${mine}`, values);
}

/** Questions move with their filings and IRMs. Those left at a party without clients are closed: nobody else would. */
async function moveQuestions(client: Queryable, { from, to, exporterId, at }: PartyMove): Promise<void> {
  await client.query(
    `UPDATE questions q SET party_id = $2 WHERE q.party_id = $1
        AND ($3::text IS NULL OR (q.exporter_id = $3 AND (q.filing_id IS NOT NULL OR q.ebrc_number IS NULL)))
        AND NOT EXISTS (SELECT FROM questions o WHERE o.party_id = $2 AND o.key = q.key AND o.closed_at IS NULL)`,
    [from, to, exporterId],
  );
  await client.query(
    `UPDATE questions SET closed_at = $2 WHERE party_id = $1 AND closed_at IS NULL
        AND NOT EXISTS (SELECT FROM exporters WHERE party_id = $1)`,
    [from, at],
  );
}

const COLLISION_TEXTS = {
  mapping: {
    code: 'mapping_live_twice',
    does: 'hold the same mapping',
    then: 'Compare their certificates; a second one may have to be cancelled.',
  },
  certificate: {
    code: 'certificate_disputed',
    does: 'claim the same certificate',
    then: 'Find out which row it belongs to.',
  },
};

/** Records the collision as a warning, a question and an event of both filings. */
async function reportCollision(
  client: Queryable,
  { filingId, row, besides, what }: Awaited<ReturnType<typeof moveRows>>[number],
  at: Date,
): Promise<void> {
  const { code, does, then } = COLLISION_TEXTS[what];
  const text =
    `Filing ${filingId} (row ${row}) and filing ${besides} ${does}: their clients turned out to be one exporter ` +
    `(one IEC). ${then}`;
  const key = `${filingId}/${row}/${besides}`;
  const sides: [string, string, number | null][] = [
    [filingId, besides, row],
    [besides, filingId, null],
  ];
  for (const [mine, other, mineRow] of sides) {
    const finding = { ...warningAt(mineRow, null, code, text), filingId: other };
    await client.query(`UPDATE filings SET warnings = warnings || $2::jsonb WHERE filing_id = $1`, [
      mine,
      JSON.stringify([finding]),
    ]);
    await askAbout(client, { filingId: mine, kind: code, text, until: 'fact', key, at });
    const data = { filingId: other, what };
    await addEvent(client, { filingId: mine, at, kind: 'parties_are_one', text, data });
  }
}
