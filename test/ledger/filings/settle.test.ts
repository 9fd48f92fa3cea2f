import { applyReadings } from '../../../src/ledger/attempts/settle';
import { useTestDatabase } from '../../support/postgres';
import {
  addAttempt,
  answered,
  eventsOf,
  HOUR,
  namesOf,
  rowsIn,
  sentFiling,
  SETTLE,
  statusOf,
  verdictsOf,
  wholeReading,
  type Sent,
} from './in-doubt';
import { irm, knowExporter, listCertificate, locked, made, newRows, readIrms, settled } from './recording';

const database = useTestDatabase(async ({ pool }) => {
  await pool.query('UPDATE ledger SET beat = 100');
  await knowExporter({ pool });
});
const apply = (filingId: string, settleAfterMs = SETTLE) =>
  locked(database, filingId, (client, filing) => applyReadings(client, filing, { settleAfterMs }));

let filings = 0;
/** A filing of unknown outcome on an IRM of its own, which had 10,000 before. */
async function doubtful(count = 1, sent: Sent = {}) {
  filings += 1;
  const irmNumber = `IRM9${filings}`;
  await readIrms(database, [irm({ irmNumber })], 10 * HOUR);
  const rows = newRows(count, { irmNumber });
  const more = { balances: { [irmNumber]: '10000' }, ...sent };
  const filingId = await sentFiling(database, `DOUBT-${filings}`, rows, more);
  return { filingId, irmNumber, rows, mappings: rows.map(({ mapping }) => mapping), reference: `DOUBT-${filings}` };
}
const available = (irmNumber: string, irmAvailableAmt: number, more: object = {}) =>
  readIrms(database, [irm({ irmNumber, irmAvailableAmt, irmUtilizedAmt: 10_000 - irmAvailableAmt, ...more })]);
let numbers = 0;
const certificate = async (of: Parameters<typeof listCertificate>[2]) => {
  numbers += 1;
  await listCertificate(database, `S${numbers}`, of);
  await database.pool.query(`UPDATE certificates SET issued_on = current_date WHERE ebrc_number = $1`, [`S${numbers}`]);
  return `S${numbers}`;
};
/** What other tests left that is nobody's may be any filing's of the company. */
beforeEach(() =>
  database.pool.query(
    'DELETE FROM readings; DELETE FROM certificates c WHERE ebrc_number NOT IN (SELECT ebrc_number FROM filing_rows WHERE ebrc_number IS NOT NULL)',
  ),
);

it('adopts a certificate that is its row’s by content and balance, in a reading after the settle time', async () => {
  const { filingId, irmNumber, mappings } = await doubtful();
  const number = await certificate(mappings[0]);
  expect(await apply(filingId)).toEqual({ adopted: 0 });
  expect(await namesOf(database, filingId)).toEqual([
    `certificate:${number}`,
    `irm_unread:${irmNumber}`,
    'reading:none',
  ]);
  await wholeReading(database);
  await available(irmNumber, 9_900);
  expect(await apply(filingId)).toEqual({ adopted: 1 });
  expect(await rowsIn(database, filingId)).toEqual([`certified ${number} details`]);
  expect(await verdictsOf(database, filingId)).toEqual(['accepted']);
  expect(await eventsOf(database, filingId)).toEqual(
    expect.arrayContaining([expect.stringContaining('found that is its row')]),
  );
  expect(await apply(filingId)).toEqual({ adopted: 0 });
});

it.each<[string, number, { beat?: number; whole?: boolean }]>([
  ['began before the settle time was over', 3 * HOUR, {}],
  ['began before it was over by the beats', 0, { beat: 5 }],
  ['was not whole', 0, { whole: false }],
])('adopts nothing in a reading that %s', async (_, agoMs, more) => {
  const { filingId, irmNumber, mappings } = await doubtful();
  await certificate(mappings[0]);
  await wholeReading(database, agoMs, more);
  await available(irmNumber, 9_900);
  expect(await apply(filingId)).toEqual({ adopted: 0 });
  expect(await namesOf(database, filingId)).toContain('reading:none');
});

it('counts the longer settle time of the sender’s and its own', async () => {
  const { filingId, irmNumber, mappings } = await doubtful();
  await certificate(mappings[0]);
  await wholeReading(database);
  await available(irmNumber, 9_900);
  expect(await apply(filingId, 7 * HOUR)).toEqual({ adopted: 0 });
  expect(await apply(filingId)).toEqual({ adopted: 1 });
});

it('adopts nothing from a balance that is older than the reading, or fell by another amount', async () => {
  const { filingId, irmNumber, mappings } = await doubtful();
  const number = await certificate(mappings[0]);
  await available(irmNumber, 9_900);
  await wholeReading(database);
  expect(await apply(filingId)).toEqual({ adopted: 0 });
  expect(await namesOf(database, filingId)).toEqual([`certificate:${number}`, `irm_unread:${irmNumber}`]);
  await available(irmNumber, 9_899);
  expect(await apply(filingId)).toEqual({ adopted: 0 });
  expect(await namesOf(database, filingId)).toEqual([`certificate:${number}`, `irm_fell:${irmNumber}`]);
});

it('adopts nothing while another filing is on its way on the IRM, and judges it once that one is certified', async () => {
  const { filingId, irmNumber, mappings } = await doubtful();
  const number = await certificate(mappings[0]);
  const other = await sentFiling(database, `BESIDE-${filings}`, newRows(1, { irmNumber }), {
    verdict: 'accepted',
    state: 'processing',
    ageMs: 0,
  });
  await wholeReading(database);
  await available(irmNumber, 9_800);
  expect(await apply(filingId)).toEqual({ adopted: 0 });
  expect(await namesOf(database, filingId)).toEqual([`certificate:${number}`, `irm_unjudged:${irmNumber}`]);
  await settled(database, other, 'certified');
  // It was on its way when the balance was read.
  expect(await apply(filingId)).toEqual({ adopted: 0 });
  await available(irmNumber, 9_800);
  expect(await apply(filingId)).toEqual({ adopted: 1 });
});

it('has no evidence where nothing was found', async () => {
  const { filingId, irmNumber } = await doubtful();
  await wholeReading(database);
  await available(irmNumber, 10_000);
  await apply(filingId);
  expect(await namesOf(database, filingId)).toEqual([]);
  const [attempt] = await database.select(
    `SELECT evidence ->> 'readAt' AS at, judged_at IS NOT NULL AS judged FROM attempts WHERE filing_id = $1`,
    filingId,
  );
  expect(attempt).toEqual({ at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/), judged: true });
});

it('finds what happened to the IRM', async () => {
  const { filingId, irmNumber } = await doubtful();
  await wholeReading(database);
  await available(irmNumber, 9_000);
  await available(irmNumber, 10_000);
  await apply(filingId);
  expect(await namesOf(database, filingId)).toEqual([`irm_rose:${irmNumber}`]);
  await available(irmNumber, 10_000, { irmStatus: 'Cancelled', remittanceFCCAmount: 9_000 });
  await apply(filingId);
  expect(await namesOf(database, filingId)).toEqual([
    `irm_amended:${irmNumber}`,
    `irm_cancelled:${irmNumber}`,
    `irm_rose:${irmNumber}`,
  ]);
  await readIrms(database, []);
  await apply(filingId);
  expect(await namesOf(database, filingId)).toContain(`irm_unread:${irmNumber}`);
});

it('has no baseline where the ledger lacked the attempt', async () => {
  const { filingId, irmNumber } = await doubtful(1, { balances: {} });
  await wholeReading(database);
  await available(irmNumber, 10_000);
  await apply(filingId);
  expect(await namesOf(database, filingId)).toEqual([`irm_unread:${irmNumber}`]);
});

it('names certificates of the whole reference since its first mark, but not another row’s by its own record', async () => {
  const { filingId, irmNumber, mappings } = await doubtful(2);
  const [one, two] = mappings;
  const before = await certificate(one);
  await database.pool.query(
    `UPDATE certificates SET first_seen_at = clock_timestamp() - interval '7 h' WHERE ebrc_number = $1`,
    [before],
  );
  const cancelled = await certificate({ ...one, mappedIRMAmountFCC: 1, sbCumInvoiceDate: '01012026' });
  const sameBill = await certificate({ ...two, sbCumInvoiceNumber: '1' });
  const recorded = await certificate(two);
  await certificate({ sbCumInvoiceNumber: '2', billNo: 'NOBODY' });
  await database.pool.query(
    `UPDATE filing_rows SET record_status = 'processed', record_number = $2 WHERE filing_id = $1 AND position = 1`,
    [filingId, recorded],
  );
  await wholeReading(database);
  await available(irmNumber, 10_000);
  await apply(filingId);
  expect(await namesOf(database, filingId)).toEqual([`certificate:${cancelled}`, `certificate:${sameBill}`].sort());
});

it('names requests of the filing, and open ones of the exporter of about the same time', async () => {
  const { filingId, irmNumber, mappings } = await doubtful(1, { number: 2 });
  await addAttempt(database, filingId, { number: 1, verdict: 'not_filed', requestId: 'REQ-1' });
  await answered(database, filingId, [statusOf(mappings[0]!, { processingStatus: 'Errored' })]);
  const about = async (requestId: string, more: Sent) => {
    const rows = newRows();
    const id = await sentFiling(database, `OPEN-${requestId}`, rows, {
      verdict: 'accepted',
      requestId,
      state: 'processing',
      ...more,
    });
    return id;
  };
  await about('REQ-2', { ageMs: 9 * HOUR });
  await about('REQ-3', { ageMs: 11 * HOUR });
  const done = await about('REQ-4', { ageMs: 5 * HOUR });
  await database.pool.query('UPDATE attempts SET ended_at = clock_timestamp() WHERE filing_id = $1', [done]);
  await wholeReading(database);
  await available(irmNumber, 10_000);
  await apply(filingId);
  expect(await namesOf(database, filingId)).toEqual(['request:REQ-1', 'request_errored:REQ-1', 'request_open:REQ-2']);
});

it('judges an accepted attempt only where it asks, is denied, ended or overdue', async () => {
  const { filingId, irmNumber, mappings } = await doubtful(1, {
    verdict: 'accepted',
    requestId: 'REQ-9',
    state: 'processing',
  });
  await certificate(mappings[0]);
  await wholeReading(database);
  await available(irmNumber, 9_900);
  await database.pool.query(`UPDATE filings SET due_at = clock_timestamp() + interval '1 h' WHERE filing_id = $1`, [
    filingId,
  ]);
  expect(await apply(filingId)).toEqual({ adopted: 0 });
  expect(await namesOf(database, filingId)).toBeNull();
  await database.pool.query(`UPDATE filings SET due_at = clock_timestamp() WHERE filing_id = $1`, [filingId]);
  expect(await apply(filingId)).toEqual({ adopted: 1 });
});

it('judges nothing of a filing that was not sent', async () => {
  const filingId = await made(database, 'UNSENT', newRows());
  expect(await apply(filingId)).toEqual({ adopted: 0 });
});

it('judges a filing of 999 rows in a moment', async () => {
  const { filingId, irmNumber, mappings } = await doubtful(999, { balances: {} });
  for (const mapping of mappings.slice(0, 3)) await certificate(mapping);
  await database.pool.query(
    `INSERT INTO certificates (mode, iec, ebrc_number, exporter_id, status, document_key, bill_key, amount, currency, detail, asked_at)
     SELECT 'test', 'AAGCM4521K', 'T' || n, 'exporter-1', 'Issued', 'T' || n, '', 100, 'USD', '{}', clock_timestamp()
       FROM generate_series(1, 1000) AS n`,
  );
  await wholeReading(database);
  await available(irmNumber, 9_900);
  const began = performance.now();
  await apply(filingId);
  expect(performance.now() - began).toBeLessThan(5_000);
  const certificates = ((await namesOf(database, filingId)) as string[]).filter((name) =>
    name.startsWith('certificate'),
  );
  expect(certificates).toHaveLength(3);
});
