import { adoptCertificates } from '../../../src/ledger/certificates/adoption';
import { saveCertificates } from '../../../src/ledger/certificates/certificates';
import { readFilingView } from '../../../src/ledger/filings/filing-view';
import { withTransaction } from '../../../src/ledger/pool';
import { saveSnapshot } from '../../../src/ledger/certificates/snapshots';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { attemptSteps } from '../submissions/attempt-support';
import { EXPORTER, knowExporter, minutesLater, NOW, open as file, rowsOf } from '../filing-support';

let ledger: TestDatabase;
const { opened, mark, close, read, rows } = attemptSteps(() => ledger);

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
});
afterAll(() => ledger?.drop());

let documents = 7_100_000;

/** A submission that was sent at NOW (10 February), after a snapshot that held these numbers; null: none was taken. */
async function sent(held: string[] | null, takenAt = NOW) {
  documents += 1;
  const document = String(documents);
  const filingId = await file(
    ledger,
    `ADOPT-${document}`,
    rowsOf({ sbCumInvoiceNumber: document, mappedIRMAmountFCC: 5 }),
  );
  if (held) {
    await saveSnapshot(ledger.pool, { filingId, submission: 1, exporterId: EXPORTER, certificates: held, at: takenAt });
  }
  const attemptId = await opened(filingId);
  await mark(attemptId);
  return { filingId, attemptId, document };
}

/** A certificate of the document, first seen by a worker whose clock says `at`. */
const show = (document: string, eBRCNumber: string, { date = '10022026', billNo = 'EXP/2026/001', at = NOW } = {}) =>
  saveCertificates(ledger.pool, {
    exporterId: EXPORTER,
    at,
    details: [
      {
        eBRCNumber,
        eBRCDate: date,
        eBRCStatus: 'Issued',
        sbCumInvoiceNumber: document,
        sbCumInvoiceDate: '03012026',
        realisedValueFCC: 5,
        currencyCode: 'USD',
        billNo,
      },
    ],
  });

const adopt = ({ filingId, attemptId }: { filingId: string; attemptId: string }) =>
  withTransaction(ledger.pool, (client) =>
    adoptCertificates(client, {
      filingId,
      submission: 1,
      exporterId: EXPORTER,
      attemptId,
      settles: true,
      at: minutesLater(5),
    }),
  );

it('takes a certificate that the snapshot did not hold, and settles the submission with it', async () => {
  const lost = await sent([]);
  await show(lost.document, 'NEW-1');
  expect(await adopt(lost)).toMatchObject({ adopted: [{ eBRCNumber: 'NEW-1' }], openRows: 0 });
  expect((await readFilingView(ledger.pool, lost.filingId))?.submissions).toMatchObject([{ state: 'settled' }]);
});

it('does not adopt one in the snapshot, whatever the clock of the worker that saw it first', async () => {
  const lost = await sent(['OLD-1']);
  await show(lost.document, 'OLD-1', { at: minutesLater(0.05) });
  expect(await adopt(lost)).toMatchObject({ adopted: [], openRows: 1 });
  const other = await sent([]);
  await show(other.document, 'NEW-2', { at: minutesLater(-0.05) });
  expect(await adopt(other)).toMatchObject({ adopted: [{ eBRCNumber: 'NEW-2' }] });
});

it('leaves one that an earlier snapshot of the party held, when the last one did not show it', async () => {
  const before = await sent(['HIDDEN-1'], minutesLater(-60));
  await close(before.attemptId);
  const lost = await sent([]);
  await show(lost.document, 'HIDDEN-1');
  expect(await adopt(lost)).toMatchObject({ adopted: [] });
});

it('uses a snapshot for the attempt that it was taken for, and for no later one', async () => {
  const lost = await sent([]);
  await close(lost.attemptId);
  await read(lost.attemptId);
  const again = await opened(lost.filingId);
  await mark(again);
  await show(lost.document, 'BETWEEN-1', { date: '09022026' });
  // No snapshot was taken before the second attempt: yesterday's certificate is none of its.
  expect(await adopt({ filingId: lost.filingId, attemptId: again })).toMatchObject({ adopted: [] });
});

it('takes one that is dated the day before the send, where the snapshot covers that day', async () => {
  const lost = await sent([]);
  await show(lost.document, 'MIDNIGHT-1', { date: '09022026' });
  await show(lost.document, 'TOO-OLD', { date: '08022026' });
  expect(await adopt(lost)).toMatchObject({ adopted: [{ eBRCNumber: 'MIDNIGHT-1' }] });
});

it('asks about one with another bill number', async () => {
  const lost = await sent([]);
  await show(lost.document, 'BILL-1', { billNo: 'EXP/2026/777' });
  expect(await adopt(lost)).toMatchObject({ adopted: [], ambiguous: [{ candidates: ['BILL-1'] }], openRows: 1 });
});

it('gives no certificate to a row that was not sent', async () => {
  documents += 1;
  const document = String(documents);
  const two = rowsOf(
    { sbCumInvoiceNumber: document, mappedIRMAmountFCC: 5 },
    { sbCumInvoiceNumber: document, mappedIRMAmountFCC: 5, irmNumber: 'IRM2026000002' },
  );
  const filingId = await file(ledger, 'HALF-SENT', two);
  await ledger.pool.query(
    `INSERT INTO submissions (filing_id, submission, mode, customer_id, row_count) VALUES ($1, 2, 'test', $2, 1)`,
    [filingId, EXPORTER],
  );
  await ledger.pool.query('UPDATE filing_rows SET submission = 2 WHERE filing_id = $1 AND position = 0', [filingId]);
  await saveSnapshot(ledger.pool, { filingId, submission: 2, exporterId: EXPORTER, certificates: [], at: NOW });
  const attemptId = await opened(filingId, 2);
  await mark(attemptId);
  await show(document, 'SENT-ONE');
  const args = { filingId, submission: 2, exporterId: EXPORTER, attemptId, settles: true, at: NOW };
  const { adopted } = await withTransaction(ledger.pool, (client) => adoptCertificates(client, args));
  expect(adopted).toEqual([{ position: 0, eBRCNumber: 'SENT-ONE' }]);
  expect(await rows(filingId)).toMatchObject([{ state: 'certified' }, { state: 'planned' }]);
});
