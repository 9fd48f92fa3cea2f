import { TEST_CADENCE } from '../../support/settings';
import { withTransaction } from '../../../src/ledger/pool';
import { adoptAnswer, markSending } from '../ledger-steps';
import { addEvent, saveOfFiling } from '../../../src/ledger/filings/filing-notes';
import { readFilingView } from '../../../src/ledger/filings/filing-view';
import { useTestDatabase } from '../../support/postgres';
import { saveSnapshot } from '../../../src/ledger/certificates/snapshots';
import { readSent } from '../../../src/ledger/submissions/lost-time';
import { ACCEPTED, attemptSteps, SENDER, SETTLE_MS } from '../submissions/attempt-support';
import { EXPORTER, knowExporter, minutesLater, NOW, open, rowsOf } from '../filing-support';

const database = useTestDatabase(knowExporter);
const { opened, mark, answer: storeTheAnswer } = attemptSteps(database);

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
  await adoptAnswer(pool, { attemptId, answer, at: NOW });
  const view = await readFilingView(pool, filingId, TEST_CADENCE);
  expect(view?.attempt).toBe(attemptId);
  const warning = (code: string, message: string, of: object = {}) => ({
    ...{ severity: 'warning', code, row: null, field: null, message },
    ...of,
  });
  expect(view?.warnings).toEqual([
    warning('upload_mismatch', 'The service read 0 rows, 1 were sent.'),
    warning('observation', 'The service observed: The held amount differs.'),
    warning('observation', 'The service observed, in its own numbering of rows: Row 2: no held IRM record'),
    warning('observation', 'The service observed: irmFCC disagrees', { row: 1, field: 'irmFCC' }),
    warning('observation', 'The service observed: note: x'),
  ]);
});

test('of other filings on an IRM only those are named whose use the balance before the send did not contain', async () => {
  const { pool } = database;
  const sent = async (reference: string, bill: string, amount: number) => {
    const row = { sbCumInvoiceNumber: bill, billNo: `EXP/${bill}`, mappedIRMAmountFCC: amount };
    const filingId = await open(database, reference, rowsOf(row));
    const snapshot = { filingId, submission: 1, exporterId: EXPORTER, certificates: [], at: NOW };
    await saveSnapshot(pool, snapshot);
    const attemptId = await opened(filingId);
    const send = { attemptId, sender: SENDER, payloadHash: 'hash', settleMs: SETTLE_MS, at: NOW };
    await withTransaction(pool, (client) => markSending(client, send));
    return { filingId, attemptId };
  };
  const used = await sent('USED', '3000001', 400);
  await sent('MISSED', '3000002', 30);
  const followed = await sent('FOLLOWED', '3000003', 50);
  await adoptAnswer(pool, { attemptId: followed.attemptId, answer: { ...ACCEPTED, requestId: 'R3' }, at: NOW });
  const lost = await sent('LOST', '3000004', 10);
  const beside = async (before: number, minutes: number): Promise<string[]> => {
    const [irm] = (await readSent(pool, used.attemptId))?.balances ?? [];
    const readBefore = minutesLater(minutes).toISOString();
    const balances = [{ irmKey: irm?.irmKey, before: String(before), after: '1', readBefore, readAfter: null }];
    await saveOfFiling(pool, lost.filingId, { evidence: { balances } });
    const view = await readFilingView(pool, lost.filingId, TEST_CADENCE);
    const others = (view?.otherUses ?? []).filter((use) => use.reference !== 'JULY');
    return others.map(({ reference, amount }) => `${reference} ${amount}`).sort();
  };
  expect(await beside(10_000, -1)).toEqual(['FOLLOWED 50', 'MISSED 30', 'USED 400']);
  // Read after the sends: 20 less than before them, which is none of the two, and then all of it.
  expect(await beside(9_980, 1)).toEqual(['FOLLOWED 50', 'MISSED 30', 'USED 400']);
  expect(await beside(9_970, 1)).toEqual(['FOLLOWED 50', 'USED 400']);
  expect(await beside(9_570, 1)).toEqual(['FOLLOWED 50']);
  // What was filed shows by the end of the settle window.
  expect(await beside(10_000, 24 * 60)).toEqual(['FOLLOWED 50']);
});
