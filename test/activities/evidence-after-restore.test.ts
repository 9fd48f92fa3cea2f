/** Evidence about a submission that ledger and documents, put back together, left in doubt. */
import { documentsRestored } from '../../src/ledger/sends/documents-restored';
import { withTransaction } from '../../src/ledger/pool';
import { clientOf, CUSTOMER_ID, envelope, json, startService, type Service } from '../api/support/service';
import { knowExporter, open, rowsOf } from '../ledger/filing-support';
import { detailOf } from '../reports/ledger-of-a-month';
import { createTestDatabase, type TestDatabase } from '../support/postgres';
import { openDoor, type ActivityDoor } from './door';
import { openAttempt } from '../ledger/ledger-steps';

const DAY_MS = 24 * 60 * 60_000;
const exporterId = CUSTOMER_ID;

let ledger: TestDatabase;
let service: Service;
let door: ActivityDoor;
let client: ReturnType<typeof clientOf>;

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger, exporterId);
  service = await startService((_request, response) => json(response, 200, envelope([])));
  client = clientOf(service.baseUrl);
  door = await openDoor(ledger, client.api);
});
afterAll(async () => {
  await door.close();
  await client.api.close();
  await service.close();
  await ledger.drop();
});

it('reads back to the copy, names the certificates that agree, and adopts none', async () => {
  const now = Date.now();
  const made = new Date(now - 30 * DAY_MS);
  const rows = rowsOf({ sbCumInvoiceNumber: '5000001', mappedIRMAmountFCC: 10 });
  const filingId = await open(ledger, 'LOST', rows, { exporterId, at: made });
  const restored = { at: new Date(now - 60_000), by: 'ravi', waitMs: 0 };
  await documentsRestored(ledger.pool, door.deps.documents, restored);
  const opened = await withTransaction(ledger.pool, (db) =>
    openAttempt(db, { filingId, submission: 1, at: new Date() }),
  );
  if (opened.outcome !== 'attempt') throw new Error(JSON.stringify(opened));
  const [row] = rows;
  if (!row) throw new Error('no row');
  const certificate = detailOf('EBLOST', row.mapping, new Date(now - 20 * DAY_MS));
  service.answer((_request, response) => json(response, 200, envelope([certificate])));

  const { attemptId } = opened;
  const evidence = await door.run('gatherEvidence', { filingId, submission: 1, exporterId, attemptId });

  expect(evidence).toMatchObject({ looked: true, adopted: [], openRows: 1, problem: expect.any(String) as string });
  expect(evidence.agreeing).toEqual(['EBLOST']);
  const asked = JSON.parse(service.received.at(-1)?.body.toString() ?? '{}') as { eBRCIssueFromDt: string };
  expect(asked.eBRCIssueFromDt).toBe(detailOf('', row.mapping, new Date(made.getTime() - DAY_MS)).eBRCDate);
  // It counts as the reading that filings wait for.
  const read = await ledger.pool.query(
    `SELECT p.certificates_read_at >= i.certificates_after AS read FROM ledger_identity i, exporters e JOIN parties p USING (party_id)
      WHERE e.exporter_id = $1`,
    [exporterId],
  );
  expect(read.rows).toMatchObject([{ read: true }]);
});
