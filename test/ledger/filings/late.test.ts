import { learnLate } from '../../../src/ledger/attempts/late';
import { withTransaction } from '../../../src/ledger/pool';
import { useTestDatabase } from '../../support/postgres';
import { findingsOf, rowsIn, sentFiling, verdictsOf, type Sent } from './in-doubt';
import { changed, ended, IEC, irm, knowExporter, listCertificate, newRows, readIrms, settled, made } from './recording';

const database = useTestDatabase(async (ledger) => {
  await knowExporter(ledger);
  await readIrms(ledger, [irm({ irmAvailableAmt: 10_000 })]);
});
const learn = () => withTransaction(database.pool, (client) => learnLate(client, { mode: 'test', iec: IEC }));

let filings = 0;
/** An ended filing whose rows were released after an attempt had carried them. */
async function released(count = 1, sent: Sent = {}) {
  filings += 1;
  const reference = `LATE-${filings}`;
  const rows = newRows(count);
  const filingId = await sentFiling(database, reference, rows, { verdict: 'not_filed', ...sent });
  for (let position = 0; position < count; position += 1) await settled(database, filingId, 'released', position);
  await ended(database, filingId, 'needs_correction');
  return { filingId, reference, rows, mappings: rows.map(({ mapping }) => mapping), number: `L${filings}` };
}
const stateOf = async (filingId: string) =>
  (
    await database.select(
      'SELECT state, asked, closed_at IS NULL AS open, due_at IS NOT NULL AS due FROM filings WHERE filing_id = $1',
      filingId,
    )
  )[0];

it('holds all rows again, at the next ordinal, and opens the filing', async () => {
  const { filingId, reference, mappings, number } = await released(2);
  expect(await learn()).toEqual({ reopened: [] });
  await listCertificate(database, number, mappings[1]);
  expect(await learn()).toEqual({ reopened: [{ filingId, workflowId: `file/test/${reference}` }] });
  expect(await rowsIn(database, filingId)).toEqual(['sent', 'sent']);
  expect(await verdictsOf(database, filingId)).toEqual(['accepted']);
  expect(await stateOf(filingId)).toEqual({ state: 'outcome_unknown', asked: true, open: true, due: true });
  expect(await findingsOf(database, filingId)).toEqual([
    expect.stringContaining(`late_certificate: Certificate ${number} came`),
  ]);
  expect(await learn()).toEqual({ reopened: [] });
});

it('holds them beside a correction that is planned, and says that this one waits', async () => {
  const { filingId, rows, mappings, number } = await released();
  const later = await made(
    database,
    `LATER-${filings}`,
    changed(rows, { mappedIRMAmountFCC: 90, sbCumInvoiceValueinFCC: 90 }),
  );
  await listCertificate(database, number, mappings[0]);
  expect((await learn()).reopened).toHaveLength(1);
  expect(
    await database.select(
      'SELECT filing_id = $1 AS own, held FROM filing_rows WHERE fingerprint = (SELECT fingerprint FROM filing_rows WHERE filing_id = $1) ORDER BY ordinal',
      filingId,
    ),
  ).toEqual([
    { own: false, held: true },
    { own: true, held: true },
  ]);
  expect((await findingsOf(database, filingId))[0]).toContain(later);
});

type Released = Awaited<ReturnType<typeof released>>;
const update = (statement: string, ...values: unknown[]) => database.pool.query(statement, values);

it.each<[string, { before?: (of: Released) => Promise<unknown>; after?: (of: Released) => Promise<unknown> }]>([
  [
    'is a row’s',
    {
      async before({ number }) {
        const own = await sentFiling(database, `OWN-${number}`, newRows());
        const certifies = `UPDATE filing_rows SET state = 'certified', ebrc_number = $2, certified_by = 'record' WHERE filing_id = $1`;
        await update(certifies, own, number);
      },
    },
  ],
  ['fits a row that is sent', { before: ({ number, rows }) => sentFiling(database, `SENT-${number}`, rows) }],
  [
    'was there before the first mark',
    {
      after: ({ number }) =>
        update(
          `UPDATE certificates SET first_seen_at = clock_timestamp() - interval '7 h' WHERE ebrc_number = $1`,
          number,
        ),
    },
  ],
  [
    'was shown to those who decided',
    {
      before: ({ filingId, number }) =>
        update(
          `INSERT INTO decisions (filing_id, kind, name, shown, outcome) VALUES ($1, 'not_filed', 'asha', $2, 'carried_out')`,
          filingId,
          [`certificate:${number}`],
        ),
    },
  ],
  [
    'was named by a row that was let in beside it',
    {
      before: ({ filingId, number }) =>
        update('UPDATE filing_rows SET beside = $2 WHERE filing_id = $1', filingId, [number]),
    },
  ],
  [
    'is of a row that no attempt carried',
    { before: ({ filingId }) => update(`UPDATE attempts SET verdict = 'not_sent' WHERE filing_id = $1`, filingId) },
  ],
  [
    'is of another document and bill',
    {
      after: ({ number }) =>
        update(`UPDATE certificates SET document_key = 'X', bill_key = 'X' WHERE ebrc_number = $1`, number),
    },
  ],
])('does nothing where the certificate %s', async (_, { before, after }) => {
  const of = await released();
  await before?.(of);
  await listCertificate(database, of.number, of.mappings[0]);
  await after?.(of);
  expect(await learn()).toEqual({ reopened: [] });
  expect(await rowsIn(database, of.filingId)).toEqual(['released']);
});

it('holds them again where a sent row of the document has another amount', async () => {
  const { filingId, rows, mappings, number } = await released();
  await sentFiling(database, `OTHER-${number}`, changed(rows, { mappedIRMAmountFCC: 90, sbCumInvoiceValueinFCC: 90 }));
  await listCertificate(database, number, mappings[0]);
  expect((await learn()).reopened.map((each) => each.filingId)).toEqual([filingId]);
});

it('also by the bill number alone, and of an attempt that the service had refused', async () => {
  const { filingId, mappings, number } = await released(1, { verdict: 'refused' });
  await listCertificate(database, number, { ...mappings[0], sbCumInvoiceNumber: '1' });
  expect((await learn()).reopened.map((each) => each.filingId)).toEqual([filingId]);
  expect(await verdictsOf(database, filingId)).toEqual(['accepted']);
});
