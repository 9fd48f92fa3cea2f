/**
 * Certificates that settle the last rows of a filing move it on in the same transaction, whoever looks for them: its
 * own run, or a reconciliation.
 */
import type { CertificateDetail } from '../../src/api/schemas/filings';
import type { FilingState } from '../../src/domain/filing/states';
import { saveSnapshot } from '../../src/ledger/certificates/snapshots';
import { readFacts } from '../../src/ledger/filings/filing-lock';
import { takeUpFiling } from '../../src/ledger/filings/open-filings';
import { needFiling } from '../../src/ledger/filings/filings';
import { certifyByPersons } from '../../src/ledger/gates/certify';
import { withTransaction } from '../../src/ledger/pool';
import { needSubmission } from '../../src/ledger/submissions/submissions';
import { ACCEPTED, attemptSteps, SENT_BY } from '../ledger/submissions/attempt-support';
import { EXPORTER, knowExporter, minutesLater, move, NOW, open, readBalance, rowsOf } from '../ledger/filing-support';
import { detailOf } from '../reports/ledger-of-a-month';
import { useTestDatabase } from '../support/postgres';
import { useDoor } from './door';

const ledger = useTestDatabase(knowExporter);
/** What fetch-details shows. */
const shown: CertificateDetail[] = [];
let documents = 9_500_000;
let filed = 0;
const { opened, mark } = attemptSteps(ledger);
const door = useDoor(ledger, { fetchDetails: () => Promise.resolve({ certificates: shown, unread: 0 }) });

/** A filing of one row that was sent, with the certificate that comes of it. */
async function sent(...states: FilingState[]) {
  documents += 1;
  const rows = rowsOf({ sbCumInvoiceNumber: String(documents), mappedIRMAmountFCC: 5 });
  const filingId = await open(ledger, `SETTLED-${documents}`, rows);
  await saveSnapshot(ledger.pool, { filingId, submission: 1, exporterId: EXPORTER, certificates: [], at: NOW });
  const attemptId = await opened(filingId);
  await mark(attemptId);
  await move(ledger, filingId, 'submitting', ...states);
  // More than these filings take: the steps run by the clock of today, long after this reading.
  filed += 1_000;
  await readBalance(ledger, 10_000 - filed, minutesLater(1));
  for (const { mapping } of rows) shown.push(detailOf(`EBRC-${documents}`, mapping, NOW) as CertificateDetail);
  return { filingId, attemptId, submission: 1, exporterId: EXPORTER };
}

/** An activity as each of its tries has it. */
const step = (activityId: string) => ({ activityId, workflowExecution: { workflowId: 'file/test/T', runId: 'run' } });

/** The transactions that last wrote the rows, the submission, the filing and its last move. */
const writers = (filingId: string) =>
  ledger.select(
    `SELECT xmin::text FROM filing_rows WHERE filing_id = $1
     UNION SELECT xmin::text FROM submissions WHERE filing_id = $1
     UNION SELECT xmin::text FROM filings WHERE filing_id = $1
     UNION SELECT e.xmin::text FROM filing_events e JOIN filings f USING (filing_id, seq) WHERE filing_id = $1`,
    filingId,
  );

it('is one transaction, for a submission of unknown outcome', async () => {
  const { filingId, ...of } = await sent('outcome_unknown');
  const { openRows, filing: moved } = await door.run('gatherEvidence', { filingId, ...of }, step('1'));
  const { seq, state } = await needFiling(ledger.pool, filingId);
  expect({ openRows, state, moved }).toMatchObject({
    openRows: 0,
    state: 'collecting',
    moved: { seq, counts: { certified: 1, open: 0 } },
  });
  expect(await needSubmission(ledger.pool, filingId, 1)).toMatchObject({ state: 'settled' });
  expect(await writers(filingId)).toHaveLength(1);
  // A try whose result was lost is made again; another look finds nothing to do.
  expect((await door.run('gatherEvidence', { filingId, ...of }, step('1'))).filing).toEqual(moved);
  const again = await door.run('gatherEvidence', { filingId, ...of }, step('2'));
  expect([again.filing, again.adopted]).toEqual([moved, []]);
  // What an earlier look proved stays in what is shown.
  expect(await needFiling(ledger.pool, filingId)).toMatchObject({ seq, evidence: { adopted: [{ position: 0 }] } });
});

it('is one transaction, for rows that the status of a request has left open', async () => {
  const { filingId, attemptId, submission, exporterId } = await sent();
  await door.run('adoptAnswer', { attemptId, answer: { ...ACCEPTED, requestId: `R${attemptId}` }, sentBy: SENT_BY });
  const fetched = { filingId, exporterId, submission };
  const { open: left, filing: moved } = await door.run('fetchCertificates', fetched, step('3'));
  const { seq, state } = await needFiling(ledger.pool, filingId);
  expect({ left, state, moved }).toMatchObject({ left: 0, state: 'collecting', moved: { seq } });
  expect(await needSubmission(ledger.pool, filingId, 1)).toMatchObject({ state: 'settled' });
  expect(await writers(filingId)).toHaveLength(1);
});

it('leaves a filing of which another submission has no outcome yet', async () => {
  const { filingId, ...of } = await sent('outcome_unknown');
  await ledger.pool.query(
    `WITH other AS (INSERT INTO submissions (filing_id, submission, mode, customer_id, row_count, state)
       SELECT filing_id, 2, mode, customer_id, 1, 'acknowledged' FROM submissions WHERE filing_id = $1 RETURNING *)
     INSERT INTO requests (filing_id, submission, request_id, mode, customer_id, source, since)
     SELECT filing_id, submission, 'R-OTHER', mode, customer_id, 'acknowledged', now() FROM other`,
    [filingId],
  );
  const filing = { state: 'outcome_unknown', submissions: [{ state: 'settled' }, { state: 'acknowledged' }] };
  expect(await door.run('gatherEvidence', { filingId, ...of })).toMatchObject({ openRows: 0, filing });
  expect(await needFiling(ledger.pool, filingId)).toMatchObject({ state: 'outcome_unknown' });
});

it('keeps what somebody should look at', async () => {
  const { filingId, attemptId, ...of } = await sent();
  const answer = { ...ACCEPTED, requestId: `R${attemptId}`, recordResCount: 9 };
  await door.run('adoptAnswer', { attemptId, answer, sentBy: SENT_BY });
  const { attention } = await needFiling(ledger.pool, filingId);
  expect(attention).toContain('9 records');
  await door.run('fetchCertificates', { filingId, ...of });
  const filing = await needFiling(ledger.pool, filingId);
  expect(filing).toMatchObject({ state: 'collecting', needsAttention: true, attention });
});

it('does not touch a filing that was given up', async () => {
  const { filingId, ...of } = await sent('abandoned');
  const { seq } = await needFiling(ledger.pool, filingId);
  expect(await door.run('gatherEvidence', { filingId, ...of })).toMatchObject({ filing: { state: 'abandoned', seq } });
  expect(await needFiling(ledger.pool, filingId)).toMatchObject({ state: 'abandoned', seq });
});

it('goes back to the request of an answer that comes while the certificates of its other rows are collected', async () => {
  const row = { mappedIRMAmountFCC: 5 };
  const rows = rowsOf({ ...row, sbCumInvoiceNumber: '9600001' }, { ...row, sbCumInvoiceNumber: '9600002' });
  const filingId = await open(ledger, 'ANSWERED-WHILE-COLLECTING', rows);
  const attemptId = await opened(filingId);
  await mark(attemptId);
  const of = { filingId, submission: 1, exporterId: EXPORTER, at: NOW };
  // By the certificate of the first row the submission was filed; the other row was freed.
  await ledger.pool.query(
    `WITH release AS (INSERT INTO releases (filing_id, submission, ground, attempt_id, released_at) VALUES ($1, 1, 'absent', $2, $3) RETURNING release_id)
     UPDATE filing_rows SET release_id = release.release_id, state = 'needs_correction' FROM release WHERE filing_id = $1 AND position = 1`,
    [filingId, attemptId, NOW],
  );
  const certificates = [{ position: 0, eBRCNumber: 'EBRC-9600001', eBRCDate: null }];
  await withTransaction(ledger.pool, (client) => certifyByPersons(client, { ...of, certificates }));
  await move(ledger, filingId, 'submitting', 'outcome_unknown', 'collecting');
  expect(await readFacts(ledger.pool, filingId)).toMatchObject({ settled: true, followed: false });

  const answer = { ...ACCEPTED, requestId: 'R-WHILE-COLLECTING' };
  await door.run('adoptAnswer', { attemptId, answer, sentBy: SENT_BY });
  expect(await readFacts(ledger.pool, filingId)).toMatchObject({ settled: false, followed: true });
  const { seq } = await needFiling(ledger.pool, filingId);
  expect(await door.run('endFiling', { filingId, seq }, step('end'))).toEqual({ filing: 'differs' });
  await withTransaction(ledger.pool, (client) => takeUpFiling(client, { filingId, step: 'taken-up', at: NOW }));
  expect(await needFiling(ledger.pool, filingId)).toMatchObject({ state: 'processing', closedAt: null });
});
