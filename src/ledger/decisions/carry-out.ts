/** What decisions do to a filing's rows and attempts. All require the filing's locks, and return why they cannot be. */
import type { Judgement, NamedCertificate, Said } from '../../domain/filing/decision';
import { NO_READING } from '../../domain/filing/evidence';
import type { RowState } from '../../domain/filing/states';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { writeVerdict } from '../attempts/attempts';
import { approvalFacts, readQuestion, standsInTheWay, type DecisionSettings } from './in-question';
import { UNREAD_APPROVED, type LockedFiling } from '../filings/lock';
import { moveFiling } from '../filings/move';
import { NOBODYS } from '../certificates/certificates';

type CarriedOut = Pick<Judgement, 'carriedOut' | 'shown'>;

/** Who decided, and the notes. */
export type By = readonly Pick<Said, 'name' | 'note'>[];

const namesOf = (by: By): string => [...new Set(by.map(({ name }) => name))].join(' and ');

const noteOf = (by: By): string => by.flatMap(({ note }) => (note === null ? [] : `: ${note}`)).join('');

/** Nobody is asked any more; the filing's run says what is next. */
const answered = (client: Queryable, filing: LockedFiling, kind: string, by: By, text: string) =>
  moveFiling(client, filing, {
    ...{ attention: null, asked: false },
    event: { kind, who: namesOf(by), text: `${text}${noteOf(by)}`, always: true },
  });

/** The conditions of the next attempt pass over what persons were shown; that nothing could be read, for an hour. */
async function passOver(client: Queryable, filing: LockedFiling, shown: readonly string[]): Promise<void> {
  const { rows } = await client.query<Pick<LockedFiling, 'approvedEvidence' | 'unreadApproved'>>(
    `UPDATE filings SET approved_evidence = $2,
        unread_until = CASE WHEN $3 = ANY ($2) THEN clock_timestamp() + interval '1 hour' ELSE unread_until END
      WHERE filing_id = $1 RETURNING approved_evidence AS "approvedEvidence", ${UNREAD_APPROVED}`,
    [filing.filingId, shown, NO_READING],
  );
  Object.assign(filing, rows[0]);
}

/** Approves a filing. What two persons were shown is passed over by the conditions of the next attempt. */
export async function letGo(client: Queryable, filing: LockedFiling, said: CarriedOut): Promise<null> {
  const { rows } = await client.query<{ approvedAt: number }>(
    `UPDATE filings SET approved_at = coalesce(approved_at, clock_timestamp()) WHERE filing_id = $1
     RETURNING ${MS('approved_at')} AS "approvedAt"`,
    [filing.filingId],
  );
  Object.assign(filing, rows[0]);
  await passOver(client, filing, [
    ...new Set([...filing.approvedEvidence.filter((name) => name !== NO_READING), ...said.shown]),
  ]);
  const beside = said.shown.length === 0 ? '' : `, beside ${said.shown.join(', ')}`;
  await answered(client, filing, 'approved', said.carriedOut, `approved by ${namesOf(said.carriedOut)}${beside}`);
  return null;
}

/**
 * The attempt was not filed. Its rows are planned again or, where the filing ends, released: if that was asked for,
 * after a refusal of the content, or where a row is certified. An accepted attempt with a certified row did arrive and
 * keeps its verdict.
 */
export async function noteNotFiled(
  client: Queryable,
  filing: LockedFiling,
  said: CarriedOut,
  settings: DecisionSettings,
): Promise<string | null> {
  const { filingId } = filing;
  const question = await readQuestion(client, filing, settings);
  if (question.refusal !== null) return question.refusal;
  const { rows: counted } = await client.query<{ certified: boolean }>(
    `SELECT EXISTS (SELECT FROM filing_rows WHERE filing_id = $1 AND state = 'certified') AS certified`,
    [filingId],
  );
  const certified = counted[0]?.certified ?? true;
  const ends = certified || question.refusedContent || said.carriedOut.some((each) => each.ends);
  const arrived = certified && question.accepted;
  if (!arrived)
    await writeVerdict(client, filingId, question.attempt, 'not_filed', `not filed, says ${namesOf(said.carriedOut)}`);
  await client.query(
    `UPDATE filing_rows SET state = $2, freed_at = clock_timestamp(), settled_at = CASE WHEN $2 = 'released' THEN clock_timestamp() END
      WHERE filing_id = $1 AND state IN ('sent', 'planned')`,
    [filingId, ends ? 'released' : 'planned'],
  );
  await client.query('UPDATE filings SET reserved_at = NULL WHERE filing_id = $1', [filingId]);
  filing.reservedAt = null;
  await passOver(client, filing, said.shown);
  const what = arrived ? 'the open rows were not filed' : `attempt ${question.attempt} was not filed`;
  const then = ends ? 'its rows are free' : 'it is sent again';
  await answered(
    client,
    filing,
    'not_filed',
    said.carriedOut,
    `${namesOf(said.carriedOut)} decided that ${what}; ${then}`,
  );
  return null;
}

/** Gives rows the certificates that two persons named. Other planned rows are released: a file is filed whole. */
export async function certify(
  client: Queryable,
  filing: LockedFiling,
  said: CarriedOut,
  settings: DecisionSettings,
): Promise<string | null> {
  const { filingId, mode, iec } = filing;
  const certificates = said.carriedOut[0]?.certificates ?? [];
  const judged = await judgeNamed(client, filing, certificates, settings);
  if (typeof judged === 'string') return judged;
  await client.query(
    `UPDATE filing_rows r SET state = 'certified', ebrc_number = c.ebrc_number, ebrc_date = c.ebrc_date, certified_by = 'persons',
        errors = '[]', settled_at = clock_timestamp()
       FROM unnest($2::int[], $3::text[]) AS named (position, number) JOIN certificates c ON c.mode = $4 AND c.iec = $5
        AND c.ebrc_number = named.number
      WHERE r.filing_id = $1 AND r.position = named.position`,
    [filingId, judged.map(({ position }) => position), judged.map(({ number }) => number), mode, iec],
  );
  await client.query(
    `UPDATE attempts SET verdict = 'accepted', reason = 'two persons named its certificate' WHERE filing_id = $1 AND verdict = 'unknown'`,
    [filingId],
  );
  await client.query(
    `UPDATE filing_rows SET state = 'released', freed_at = clock_timestamp(), settled_at = clock_timestamp()
      WHERE filing_id = $1 AND state = 'planned'`,
    [filingId],
  );
  await client.query(
    `UPDATE findings SET closed_at = clock_timestamp(), healed = 'two persons named the certificate'
      WHERE filing_id = $1 AND kind = 'record_contradicts' AND source_row = ANY($2) AND closed_at IS NULL`,
    [filingId, certificates.map(({ row }) => row)],
  );
  const named = certificates.map(({ row, eBRCNumber }) => `row ${row}: ${eBRCNumber}`).join(', ');
  await answered(
    client,
    filing,
    'filed',
    said.carriedOut,
    `${namesOf(said.carriedOut)} named the certificates (${named})`,
  );
  return null;
}

interface NamedRow {
  row: number;
  position: number | null;
  state: RowState | null;
  number: string | null;
  status: string | null;
  /** The certificate is of the row's document or bill, or the record of its own request names it. */
  agrees: boolean;
  free: boolean;
}

/** The rows and certificates that were named; or why they cannot be. */
export async function judgeNamed(
  client: Queryable,
  filing: LockedFiling,
  certificates: readonly NamedCertificate[],
  settings: DecisionSettings,
): Promise<{ position: number; number: string }[] | string> {
  const { filingId, mode, iec } = filing;
  const numbers = certificates.map(({ eBRCNumber }) => eBRCNumber.trim());
  if (new Set(numbers.map((number) => number.toLowerCase())).size < numbers.length)
    return 'a certificate is named for two rows';
  if (new Set(certificates.map(({ row }) => row)).size < numbers.length) return 'a row is named twice';
  const { rows } = await client.query<NamedRow & { named: string }>(
    `SELECT n.row, n.number AS named, r.position, r.state, c.ebrc_number AS number, c.status, ${NOBODYS} AS free,
            coalesce(c.document_key = r.document_key OR (c.bill_key <> '' AND c.bill_key = r.bill_key)
              OR lower(trim(r.record_number)) = lower(c.ebrc_number), false) AS agrees
       FROM unnest($2::int[], $3::text[]) AS n (row, number)
       LEFT JOIN filing_rows r ON r.filing_id = $1 AND r.source_row = n.row
       LEFT JOIN certificates c ON c.mode = $4 AND c.iec = $5 AND lower(c.ebrc_number) = lower(n.number) ORDER BY n.row`,
    [filingId, certificates.map(({ row }) => row), numbers, mode, iec],
  );
  const inTheWay =
    rows.some(({ state }) => state === 'planned') && standsInTheWay(await approvalFacts(client, filing, settings));
  const judged: { position: number; number: string }[] = [];
  for (const { row, named, position, state, number, status, agrees, free } of rows) {
    if (position === null) return `the filing has no row ${row}`;
    if (state === 'planned' && !inTheWay)
      return `row ${row} was not sent, and no certificate stands against sending it`;
    if (state !== 'planned' && state !== 'sent') return `row ${row} is ${state}`;
    if (number === null)
      return `certificate ${named} was not read from the authority yet; \`ebrc reconcile\` reads its certificates`;
    if (!free) return `certificate ${number} is another row's`;
    if (!agrees) return `certificate ${number} is of another document than row ${row}`;
    if (status !== null && status.trim().toLowerCase() !== 'issued') return `certificate ${number} is ${status}`;
    judged.push({ position, number });
  }
  return judged;
}

/** Names the request of an attempt of unknown outcome. It is asked for from then on; nothing else follows from it. */
export async function nameRequest(client: Queryable, filing: LockedFiling, by: By, requestId: string): Promise<void> {
  await client.query(
    `UPDATE attempts SET request_id = $2, request_from = 'person'
      WHERE filing_id = $1 AND verdict IN ('unknown', 'accepted') AND request_id IS NULL`,
    [filing.filingId, requestId],
  );
  await answered(
    client,
    filing,
    'request_named',
    by,
    `${namesOf(by)} named request ${requestId}, which is asked for from now on`,
  );
}

/** Ends a filing of which nothing may have arrived. */
export async function abandonFiling(client: Queryable, filing: LockedFiling, by: By): Promise<void> {
  await client.query(
    `UPDATE filing_rows SET state = 'released', freed_at = clock_timestamp(), settled_at = clock_timestamp()
      WHERE filing_id = $1 AND state = 'planned'`,
    [filing.filingId],
  );
  await moveFiling(client, filing, {
    ...{ state: 'abandoned', attention: null, asked: false, dueInMs: null },
    event: { kind: 'abandoned', who: namesOf(by), text: `abandoned by ${namesOf(by)}${noteOf(by)}` },
  });
}
