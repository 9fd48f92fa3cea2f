import { applyRecords } from '../../../src/ledger/attempts/follow';
import { useTestDatabase } from '../../support/postgres';
import { addAttempt, answered, eventsOf, findingsOf, rowsIn, sentFiling, statusOf, verdictsOf } from './in-doubt';
import { irm, knowExporter, listCertificate, locked, newRows, readIrms } from './recording';

const database = useTestDatabase(async (ledger) => {
  await ledger.pool.query('UPDATE ledger SET beat = 100');
  await knowExporter(ledger);
  await readIrms(ledger, [irm()]);
});
const apply = (filingId: string) => locked(database, filingId, applyRecords);
const accepted = { verdict: 'accepted', state: 'processing' } as const;
let filings = 0;
const follow = async (count = 1, more: Parameters<typeof sentFiling>[3] = {}) => {
  filings += 1;
  const rows = newRows(count);
  const requestId = `R${filings}`;
  const filingId = await sentFiling(database, `FOLLOW-${filings}`, rows, { ...accepted, requestId, ...more });
  return { filingId, requestId, mappings: rows.map(({ mapping }) => mapping) };
};
const list = (number: string, of: Parameters<typeof listCertificate>[2]) => listCertificate(database, number, of);

it('certifies a row once its certificate’s details were read; until then its record is noted', async () => {
  const { filingId, mappings } = await follow();
  const [mapping] = mappings;
  expect(await apply(filingId)).toEqual({ changed: false });
  await answered(database, filingId, [statusOf(mapping!, { eBRCNumber: 'F1' })]);
  expect(await apply(filingId)).toEqual({ changed: true });
  expect(await rowsIn(database, filingId)).toEqual(['sent processed']);
  expect(
    await database.select('SELECT ended_at IS NOT NULL AS ended FROM attempts WHERE filing_id = $1', filingId),
  ).toEqual([{ ended: true }]);
  expect(await apply(filingId)).toEqual({ changed: false });
  await list('F1', mapping);
  expect(await apply(filingId)).toEqual({ changed: true });
  expect(await rowsIn(database, filingId)).toEqual(['certified F1 record']);
  expect(await apply(filingId)).toEqual({ changed: false });
  expect(await eventsOf(database, filingId)).toEqual(expect.arrayContaining(['1 row certified']));
});

it('asks about a certificate whose details contradict its row, until they do not', async () => {
  const { filingId, mappings } = await follow();
  const [mapping] = mappings;
  await answered(database, filingId, [statusOf(mapping!, { eBRCNumber: 'F2' })]);
  await list('F2', { ...mapping, mappedIRMAmountFCC: 99 });
  await apply(filingId);
  expect(await rowsIn(database, filingId)).toEqual(['sent processed']);
  expect(await findingsOf(database, filingId)).toEqual([
    'record_contradicts: Request R2 reports certificate F2 for row 1: its amount is 99.',
  ]);
  expect(await apply(filingId)).toEqual({ changed: false });
  await list('F2', mapping);
  await apply(filingId);
  expect(await rowsIn(database, filingId)).toEqual(['certified F2 record']);
  expect(await findingsOf(database, filingId)).toEqual([]);
});

it('rejects what its own request reports as Errored once every row has its outcome', async () => {
  const { filingId, mappings } = await follow(2);
  const [one, two] = mappings;
  const errored = statusOf(two!, { processingStatus: 'Errored', errorDetails: ['ERR38: more than available'] });
  await answered(database, filingId, [errored]);
  await apply(filingId);
  expect(await rowsIn(database, filingId)).toEqual(['sent', 'sent errored']);
  await answered(database, filingId, [errored, statusOf(one!, { eBRCNumber: 'F3' })]);
  await apply(filingId);
  expect(await rowsIn(database, filingId)).toEqual(['sent processed', 'rejected errored']);
  expect(
    await database.select(
      'SELECT errors, held, freed_at IS NOT NULL AS freed FROM filing_rows WHERE filing_id = $1 AND position = 1',
      filingId,
    ),
  ).toEqual([{ errors: ['ERR38: more than available'], held: false, freed: true }]);
  expect(await eventsOf(database, filingId)).toEqual(expect.arrayContaining(['1 row rejected by the authority']));
});

it.each([
  ['words of a duplicate', { errorDetails: ['eBRC already exists'] }, false],
  ['another attempt that was not filed', { errorDetails: ['ERR38'] }, true],
])('rejects nothing with %s: a person is asked', async (_, entry, other) => {
  const { filingId, mappings } = await follow(1, { number: 2 });
  if (other) await addAttempt(database, filingId, { verdict: 'not_filed', number: 1 });
  await answered(database, filingId, [statusOf(mappings[0]!, { processingStatus: 'Errored', ...entry })], 2);
  await apply(filingId);
  expect(await rowsIn(database, filingId)).toEqual(['sent errored']);
  expect(
    await database.select(
      'SELECT ended_at IS NOT NULL AS ended FROM attempts WHERE filing_id = $1 AND number = 2',
      filingId,
    ),
  ).toEqual([{ ended: true }]);
});

it('counts a request that is Errored without a list as denied, until it has one', async () => {
  const { filingId, mappings } = await follow();
  const denied = async () =>
    (await database.select('SELECT denied_since = marked_at AS denied FROM attempts WHERE filing_id = $1', filingId))[0]
      ?.denied;
  await answered(database, filingId, [], 1, { processingStatus: 'Errored' });
  expect(await apply(filingId)).toEqual({ changed: true });
  expect(await denied()).toBe(true);
  expect(await apply(filingId)).toEqual({ changed: false });
  await answered(database, filingId, [statusOf(mappings[0]!, { eBRCNumber: 'F4' })]);
  await apply(filingId);
  expect(await denied()).toBeNull();
});

it('gives a row no certificate that another row has: a finding, never an exception', async () => {
  const first = await follow();
  await answered(database, first.filingId, [statusOf(first.mappings[0]!, { eBRCNumber: 'F5' })]);
  await list('F5', first.mappings[0]);
  await apply(first.filingId);
  const other = await follow();
  await answered(database, other.filingId, [statusOf(other.mappings[0]!, { eBRCNumber: 'F5' })]);
  await database.pool.query(
    `UPDATE certificates SET document_key = $1, bill_key = $2, document_on = NULL WHERE ebrc_number = 'F5'`,
    [other.mappings[0]?.sbCumInvoiceNumber, other.mappings[0]?.billNo],
  );
  await apply(other.filingId);
  expect(await rowsIn(database, other.filingId)).toEqual(['sent processed']);
  expect(await findingsOf(database, other.filingId)).toEqual([
    "record_contradicts: Certificate F5, which a request reports for row 1, is another row's.",
  ]);
});

it('finds entries that fit no row, and another IEC', async () => {
  const { filingId, mappings } = await follow();
  await answered(database, filingId, [statusOf(mappings[0]!, { eBRCNumber: 'F6', iecNumber: 'AAGCM4522K' })]);
  await apply(filingId);
  expect(await rowsIn(database, filingId)).toEqual(['sent']);
  expect((await findingsOf(database, filingId)).map((text) => text.split(':')[0])).toEqual([
    'iec_differs',
    'record_contradicts',
  ]);
});

it('takes certificates alone from a request that a person named, and the attempt is then accepted', async () => {
  const { filingId, mappings } = await follow(2, { verdict: 'unknown', requestFrom: 'person' });
  const [one, two] = mappings;
  await answered(database, filingId, [
    statusOf(one!, { eBRCNumber: 'F7' }),
    statusOf(two!, { processingStatus: 'Errored' }),
  ]);
  await apply(filingId);
  expect(await rowsIn(database, filingId)).toEqual(['sent', 'sent']);
  await list('F7', one);
  await apply(filingId);
  expect(await rowsIn(database, filingId)).toEqual(['certified F7 details', 'sent']);
  expect(await verdictsOf(database, filingId)).toEqual(['accepted']);
});

it('gives two filings that ask at once for one certificate to one of them', async () => {
  const [one, other] = [await follow(), await follow()];
  await list('F8', { ...one.mappings[0], sbCumInvoiceNumber: '', billNo: '' });
  for (const { filingId, mappings } of [one, other]) {
    await answered(database, filingId, [statusOf(mappings[0]!, { eBRCNumber: 'F8' })]);
  }
  await Promise.all([apply(one.filingId), apply(other.filingId)]);
  const states = [...(await rowsIn(database, one.filingId)), ...(await rowsIn(database, other.filingId))];
  expect(states.sort()).toEqual(['certified F8 record', 'sent processed']);
});

it('judges a filing of 999 rows in a moment, with one statement for all rows', async () => {
  const { filingId, mappings } = await follow(999, { ageMs: 0 });
  await answered(
    database,
    filingId,
    mappings.map((mapping, index) => statusOf(mapping, { eBRCNumber: `M${index}` })),
  );
  await database.pool.query(
    `INSERT INTO certificates (mode, iec, ebrc_number, exporter_id, status, document_key, bill_key, amount, currency, detail, asked_at)
     SELECT 'test', iec, 'M' || position, 'exporter-1', 'Issued', document_key, bill_key, amount, currency, '{}', clock_timestamp()
       FROM filing_rows WHERE filing_id = $1`,
    [filingId],
  );
  const began = performance.now();
  await apply(filingId);
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(new Set((await rowsIn(database, filingId)).map((row) => row.replace(/\d+/, 'n')))).toEqual(
    new Set(['certified Mn record']),
  );
});
