import { TEST_CADENCE } from '../../support/settings';
import { adoptAnswer } from '../ledger-steps';
import { addEvent } from '../../../src/ledger/filings/filing-progress';
import { readFilingView } from '../../../src/ledger/filings/filing-view';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { attemptSteps } from '../submissions/attempt-support';
import { knowExporter, NOW, open, rowsOf } from '../filing-support';

let database: TestDatabase;
const { opened, mark, answer: storeTheAnswer } = attemptSteps(() => database);
beforeAll(async () => {
  database = await createTestDatabase();
  await knowExporter(database);
});
afterAll(() => database.drop());

test('rows that the service read otherwise, and its own observations, are warnings like all others, also at the end', async () => {
  const { pool } = database;
  const filingId = await open(database, 'JULY', rowsOf({}));
  await addEvent(pool, { filingId, at: NOW, kind: 'upload_mismatch', text: 'The service read 0 rows, 1 were sent.' });
  const answer = {
    kind: 'accepted' as const,
    status: 200,
    requestId: 'R1',
    warnings: [
      'The held amount differs.',
      'Row 2: no held IRM record',
      { serialNo: '1', field: 'irmFCC', message: 'irmFCC disagrees' },
      { note: 'x' },
    ],
  };
  const attemptId = await opened(filingId);
  await mark(attemptId);
  await storeTheAnswer(attemptId, answer);
  await adoptAnswer(pool, { filingId, submission: 1, attemptId, answer, at: NOW });
  expect((await readFilingView(pool, filingId, TEST_CADENCE))?.attempt).toBe(attemptId);
  expect((await readFilingView(pool, filingId, TEST_CADENCE))?.warnings).toEqual([
    {
      severity: 'warning',
      code: 'upload_mismatch',
      row: null,
      field: null,
      message: 'The service read 0 rows, 1 were sent.',
    },
    {
      severity: 'warning',
      code: 'observation',
      row: null,
      field: null,
      message: 'The service observed: The held amount differs.',
    },
    {
      severity: 'warning',
      code: 'observation',
      row: null,
      field: null,
      message: 'The service observed, in its own numbering of rows: Row 2: no held IRM record',
    },
    {
      severity: 'warning',
      code: 'observation',
      row: 1,
      field: 'irmFCC',
      message: 'The service observed: irmFCC disagrees',
    },
    { severity: 'warning', code: 'observation', row: null, field: null, message: 'The service observed: {"note":"x"}' },
  ]);
});
