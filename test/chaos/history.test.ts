/**
 * What the ledger records of a filing is a behaviour of the protocol's model, or the check of a chaos run refuses it.
 */
import { closeNotSent, markSending, openAttempt, readAttempt, settleRows } from '../ledger/ledger-steps';
import { checkHistory, type HistoryCheck } from '../../chaos/history/check';
import { forgetChanges, readChanges, recordChanges } from '../../chaos/history/recorder';
import { knownSteps } from '../../chaos/history/model-steps';
import { attemptIdOf } from '../../src/domain/filing/attempt';
import { withTransaction } from '../../src/ledger/pool';
import { storeAnswer } from '../../src/ledger/submissions/answers';
import { EXPORTER, knowExporter, move, NOW, open, rowsOf } from '../ledger/filing-support';
import { useTestDatabase } from '../support/postgres';

const ledger = useTestDatabase();
let filings = 0;

beforeAll(async () => {
  await knowExporter(ledger);
  await recordChanges(ledger.pool);
});
beforeEach(() => forgetChanges(ledger.pool));

const check = async (): Promise<HistoryCheck> =>
  checkHistory(await readChanges(ledger.pool), knownSteps({ restored: false }));

/** A filing with an open attempt, and what can become of it. */
async function filing() {
  filings += 1;
  const { pool } = ledger;
  const rows = rowsOf({ sbCumInvoiceNumber: `30000${filings}`, mappedIRMAmountFCC: 1 });
  const filingId = await open(ledger, `HISTORY-${filings}`, rows);
  const attemptId = (number: number) => attemptIdOf(filingId, 1, number);
  const inTurn = <T>(work: Parameters<typeof withTransaction<T>>[1]) => withTransaction(pool, work);
  const openNext = () => inTurn((client) => openAttempt(client, { filingId, submission: 1, at: NOW }));
  await openNext();
  await move(ledger, filingId, 'submitting');
  return {
    filingId,
    openNext,
    mark: (number: number) =>
      inTurn((client) =>
        markSending(client, { attemptId: attemptId(number), sender: `sender-${number}`, payloadHash: 'hash', at: NOW }),
      ),
    accept: (number: number) =>
      inTurn((client) =>
        storeAnswer(client, {
          attemptId: attemptId(number),
          answer: { kind: 'accepted', status: 200, requestId: `R-${filings}-${number}` },
          at: NOW,
        }),
      ),
    refuse: (number: number, kind: string) =>
      inTurn((client) => {
        const close = { attemptId: attemptId(number), sender: `sender-${number}`, reason: 'not_sent', at: NOW };
        return closeNotSent(client, { ...close, answer: { kind } });
      }),
    read: (number: number) => inTurn((client) => readAttempt(client, { attemptId: attemptId(number), at: NOW })),
    certify: () =>
      inTurn((client) => {
        const number = { eBRCNumber: `EBRC${filings}`, eBRCDate: '10022026' };
        const verdict = { position: 0, outcome: 'certified' as const, ...number };
        return settleRows(client, { filingId, exporterId: EXPORTER, verdicts: [verdict], at: NOW });
      }),
    forge: (sql: string) => pool.query(sql, [filingId]),
  };
}

it('follows a filing from its first attempt to its certificate', async () => {
  const { filingId, mark, accept, certify } = await filing();
  await mark(1);
  await accept(1);
  await move(ledger, filingId, 'processing');
  await certify();
  await move(ledger, filingId, 'collecting', 'certified');
  const { steps, refused } = await check();
  expect({ steps: steps > 5, refused }).toEqual({ steps: true, refused: [] });
});

it('follows one that was refused twice before it was sent', async () => {
  const { filingId, mark, refuse, openNext, accept } = await filing();
  for (const number of [1, 2]) {
    await mark(number);
    await refuse(number, 'documents_unavailable');
    await openNext();
  }
  await mark(3);
  await accept(3);
  await move(ledger, filingId, 'processing');
  expect((await check()).refused).toEqual([]);
});

it('refuses the mark of an attempt that was closed', async () => {
  const { filingId, read, forge } = await filing();
  await read(1);
  await forge(
    `WITH attempt AS (UPDATE attempts SET verdict = 'marked', sender = 'late', reason = NULL WHERE filing_id = $1 RETURNING attempt_id),
          send AS (INSERT INTO sends SELECT 900, attempt_id, 'late' FROM attempt)
     UPDATE filing_rows SET state = 'submitted' WHERE filing_id = $1`,
  );
  expect((await check()).refused).toEqual([
    `${filingId}: the model has no step 5: submitting/planned/unsent/none > submitting/submitted/marked!/none: marked 1, sent 1`,
  ]);
});

it('refuses a second accepted send', async () => {
  const { filingId, mark, accept, forge } = await filing();
  await mark(1);
  await accept(1);
  await move(ledger, filingId, 'processing');
  await forge(
    `WITH attempt AS (INSERT INTO attempts (attempt_id, filing_id, submission, number, verdict, sender)
            VALUES ($1 || '-1-2', $1, 1, 2, 'marked', 'other') RETURNING attempt_id)
     INSERT INTO sends SELECT 901, attempt_id, 'other' FROM attempt`,
  );
  await accept(2);
  expect((await check()).refused).toEqual([
    expect.stringMatching(`${filingId}: the model has no step .*/accepted/marked!: marked 2, sent 2`),
  ]);
});

it.each([
  ['a mark without a send', `UPDATE attempts SET verdict = 'marked', sender = 'x' WHERE filing_id = $1`],
  [
    'rows that are freed while their attempt is open',
    `WITH release AS (INSERT INTO releases (filing_id, submission, ground, released_at)
            VALUES ($1, 1, 'unsent', now()) RETURNING release_id)
     UPDATE filing_rows SET release_id = release.release_id, state = 'withdrawn' FROM release WHERE filing_id = $1`,
  ],
  ['an end before anything was sent', `UPDATE filings SET state = 'certified' WHERE filing_id = $1`],
  [
    'a certificate of what was never sent',
    `UPDATE filing_rows SET state = 'certified', adoption = 'details', ebrc_number = 'EBRC-0' WHERE filing_id = $1`,
  ],
])('refuses %s', async (_what, sql) => {
  const { forge } = await filing();
  await forge(sql);
  expect((await check()).refused).toHaveLength(1);
});
