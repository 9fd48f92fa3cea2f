/** What is learnt late: a certificate of a row that was freed, although an attempt had carried it. */
import { NOBODYS } from '../certificates/certificates';
import { agrees, type Certificate, contradiction, type RowFacts } from '../../domain/filing/certificate';
import { evidenceName } from '../../domain/filing/evidence';
import { filingName, type Mode } from '../../domain/names';
import { openFinding } from '../findings';
import type { Queryable } from '../pool';
import { holdAgain } from './attempts';
import { CERTIFICATE, ROW_FACTS } from './certify';
import { lockFiling, lockIrms } from '../filings/lock';
import { moveFiling } from '../filings/move';

export interface Reopened {
  filingId: string;
  workflowId: string;
}

/** A released row that a certificate agrees with, and that certificate. */
interface Late {
  filingId: string;
  row: RowFacts;
  certificate: Certificate;
}

/**
 * Holds the rows of filings again whose certificate came late, and opens these filings: a certificate that is nobody's,
 * agrees with a released row that an attempt carried, fits no sent row, and was not shown to those who freed the row.
 * Requires a transaction that holds no lock of a filing.
 */
export async function learnLate(
  client: Queryable,
  { mode, iec }: { mode: Mode; iec: string },
): Promise<{ reopened: Reopened[] }> {
  const found = await lateCertificates(client, mode, iec, null);
  if (found.length === 0) return { reopened: [] };
  const { rows: irms } = await client.query<{ key: string }>(
    'SELECT DISTINCT irm_key AS key FROM filing_rows WHERE filing_id = ANY ($1)',
    [filingsOf(found)],
  );
  await lockIrms(
    client,
    mode,
    irms.map(({ key }) => key),
  );
  const locked = new Map<string, Awaited<ReturnType<typeof lockFiling>>>();
  for (const filingId of filingsOf(found)) locked.set(filingId, await lockFiling(client, filingId));
  // Read again: others may have decided before the locks were had.
  const late = await lateCertificates(client, mode, iec, [...locked.keys()]);
  const reopened: Reopened[] = [];
  for (const [filingId, filing] of locked) {
    const certificates = late.filter((each) => each.filingId === filingId);
    const [first] = certificates;
    if (!first) continue;
    const numbers = [...new Set(certificates.map(({ certificate }) => certificate.number))];
    await holdAgain(client, filing);
    await client.query(
      `UPDATE attempts SET verdict = 'accepted', reason = $2 WHERE (filing_id, number) = (SELECT filing_id, max(number) FROM attempts
          WHERE filing_id = $1 AND verdict <> 'not_sent' GROUP BY filing_id)
         AND NOT EXISTS (SELECT FROM attempts o WHERE o.filing_id = $1 AND o.verdict IN ('sending', 'unknown', 'accepted'))`,
      [filingId, `certificate ${numbers.join(', ')} came late`],
    );
    // Its workbook is annotated once more when it ends again.
    await client.query('UPDATE filings SET annotated = NULL WHERE filing_id = $1', [filingId]);
    const attention = `Certificate ${numbers.join(', ')} agrees with a row that was freed: the attempt may have arrived after all, and its rows are held again. Look at the portal, and answer with \`ebrc resolve\`.`;
    const text = `certificate ${numbers.join(', ')} came late: its rows are held again`;
    await moveFiling(client, filing, {
      ...{ state: 'outcome_unknown', attention, asked: true, dueInMs: 0 },
      event: { kind: 'late_certificate', text, always: true },
    });
    for (const number of numbers) {
      await openFinding(client, {
        ...{ mode, iec, kind: 'late_certificate', subject: number, exporterId: filing.exporterId, filingId },
        ...{
          row: first.row.row,
          eBRCNumber: number,
          irmNumber: first.row.irmNumber,
          text: await textOf(client, filingId, number),
        },
      });
    }
    reopened.push({ filingId, workflowId: filing.workflowId });
  }
  return { reopened };
}

const filingsOf = (late: readonly Late[]): string[] => [...new Set(late.map(({ filingId }) => filingId))].sort();

/** The finding's text: what was filed, or is to be filed, in the place of the rows that were freed. */
async function textOf(client: Queryable, filingId: string, number: string): Promise<string> {
  const { rows } = await client.query<{ reference: string; n: number; filingId: string }>(
    `SELECT DISTINCT f.reference, f.n, f.filing_id AS "filingId" FROM filing_rows r
       JOIN filing_rows o ON o.fingerprint = r.fingerprint AND o.held AND o.filing_id <> r.filing_id
       JOIN filings f ON f.filing_id = o.filing_id WHERE r.filing_id = $1 ORDER BY 1, 2 LIMIT 5`,
    [filingId],
  );
  const others = rows.map((row) => `${filingName(row)} (${row.filingId})`).join(', ');
  const beside =
    others === '' ? '' : ` The same mapping is held by ${others}, which is not sent before this is decided.`;
  return `Certificate ${number} came for a row of ${filingId} that was freed: what was sent may have arrived.${beside}`;
}

/** Candidates of these filings (null: of all) whose certificate fits no sent row. */
async function lateCertificates(
  client: Queryable,
  mode: Mode,
  iec: string,
  filings: readonly string[] | null,
): Promise<Late[]> {
  const { rows } = await client.query<{ filingId: string; row: RowFacts; certificate: Certificate }>(
    `WITH freed AS (
         SELECT r.*, f.reference FROM filing_rows r JOIN filings f USING (filing_id)
          WHERE r.mode = $1 AND r.iec = $2 AND r.state = 'released' AND r.sent_at IS NOT NULL
            AND ($3::text[] IS NULL OR r.filing_id = ANY ($3))
            AND EXISTS (SELECT FROM attempts a WHERE a.filing_id = r.filing_id AND a.verdict <> 'not_sent'))
     SELECT r.filing_id AS "filingId", (SELECT to_jsonb(x) FROM (SELECT ${ROW_FACTS}) AS x) AS row,
            (SELECT to_jsonb(x) FROM (SELECT ${CERTIFICATE}) AS x) AS certificate
       FROM freed r CROSS JOIN LATERAL (
         SELECT d.* FROM certificates d WHERE d.mode = $1 AND d.iec = $2 AND d.document_key = r.document_key AND d.document_key <> ''
         UNION
         SELECT b.* FROM certificates b WHERE b.mode = $1 AND b.iec = $2 AND b.bill_key = r.bill_key AND b.bill_key <> '') AS c
      WHERE ${NOBODYS}
        AND c.first_seen_at >= (SELECT min(a.marked_at) FROM attempts a JOIN filings f USING (filing_id)
              WHERE f.mode = $1 AND f.reference = r.reference AND a.verdict <> 'not_sent')
        AND NOT EXISTS (SELECT FROM filing_rows o WHERE o.mode = $1 AND o.iec = $2 AND o.state = 'sent'
              AND upper(btrim(o.record_number)) = upper(c.ebrc_number))
        AND NOT EXISTS (SELECT FROM filings f WHERE f.mode = $1 AND f.reference = r.reference AND ($4 || c.ebrc_number = ANY (f.approved_evidence)
              OR EXISTS (SELECT FROM decisions d WHERE d.filing_id = f.filing_id AND d.outcome = 'carried_out' AND $4 || c.ebrc_number = ANY (d.shown))
              OR EXISTS (SELECT FROM filing_rows b WHERE b.filing_id = f.filing_id AND c.ebrc_number = ANY (b.beside))))
      ORDER BY r.filing_id, r.position, c.ebrc_number`,
    [mode, iec, filings, evidenceName('certificate', '')],
  );
  if (rows.length === 0) return [];
  const sent = await sentRows(client, mode, iec, rows);
  const fitsSent = (certificate: Certificate) =>
    sent.some((row) => agrees(row, certificate) && contradiction(row, certificate) === null);
  return rows.filter(({ certificate }) => !fitsSent(certificate));
}

async function sentRows(client: Queryable, mode: Mode, iec: string, late: readonly Late[]): Promise<RowFacts[]> {
  const { rows } = await client.query<RowFacts>(
    `SELECT ${ROW_FACTS} FROM filing_rows r WHERE r.mode = $1 AND r.iec = $2 AND r.state = 'sent'
        AND (r.document_key = ANY ($3) OR (r.bill_key <> '' AND r.bill_key = ANY ($4)))`,
    [
      mode,
      iec,
      late.map(({ certificate }) => certificate.documentKey),
      late.map(({ certificate }) => certificate.billKey),
    ],
  );
  return rows;
}
