/** What a poll concludes of a request: an outcome of its rows, a statement, a question, or that it is none of ours. */
import type { RequestStatus } from '../../src/api/schemas/filings';
import { needExporter } from '../../src/ledger/exporters/exporters';
import { saveIrms } from '../../src/ledger/exporters/irms';
import { lockFiling } from '../../src/ledger/filings/filing-lock';
import { certifyByPersons } from '../../src/ledger/gates/certify';
import { recordRelease } from '../../src/ledger/gates/held-rows';
import { withTransaction } from '../../src/ledger/pool';
import { readQuestions } from '../../src/ledger/questions/questions';
import { readLastingNotices } from '../../src/ledger/submissions/answers';
import { addRequest, endedWithRequests, endRequest, readRequests } from '../../src/ledger/submissions/requests';
import { saveCertificates } from '../../src/ledger/certificates/certificates';
import { saveSnapshot } from '../../src/ledger/certificates/snapshots';
import { type FilingRow, readRows } from '../../src/ledger/rows/filing-rows';
import { ACCEPTED, attemptSteps, SENT_BY } from '../ledger/submissions/attempt-support';
import { EXPORTER, irmRecord, knowExporter, move, NOW, open, rowsOf } from '../ledger/filing-support';
import { settleRows } from '../ledger/ledger-steps';
import { detailOf } from '../reports/ledger-of-a-month';
import { useTestDatabase } from '../support/postgres';
import { useDoor } from './door';

const ledger = useTestDatabase(knowExporter);
/** The record of each request, as the service has it. */
const records = new Map<string, Partial<RequestStatus>>();
const attempts = attemptSteps(ledger);
/** What happens while the service answers. */
let meanwhile = (): Promise<unknown> => Promise.resolve();
const door = useDoor(ledger, {
  status: async ({ requestId }: { requestId: string }) => {
    await meanwhile();
    const record = { dgftAckId: null, errorDetails: [], ebrcBulkGenStatusLst: [], ...records.get(requestId) };
    return { requestId, ...record };
  },
});

/** A filing that was sent, after a snapshot that held these numbers. */
async function sent(held: string[] = []) {
  const filingId = await attempts.filing();
  await saveSnapshot(ledger.pool, { filingId, submission: 1, exporterId: EXPORTER, certificates: held, at: NOW });
  const attemptId = await attempts.opened(filingId);
  await attempts.mark(attemptId);
  await move(ledger, filingId, 'submitting', 'processing');
  return { filingId, attemptId };
}
const accept = async ({ attemptId }: { attemptId: string }, requestId: string) => {
  await attempts.answer(attemptId, { ...ACCEPTED, requestId });
  return requestId;
};
const name = async (filingId: string, requestId: string) => {
  const request = { filingId, submission: 1, requestId, source: 'named' as const, attemptId: null, since: NOW };
  await withTransaction(ledger.pool, (client) => addRequest(client, request));
  return requestId;
};

async function documentOf(filingId: string): Promise<string> {
  const { rows } = await ledger.pool.query<{ document: string }>(
    `SELECT mapping ->> 'sbCumInvoiceNumber' AS document FROM filing_rows WHERE filing_id = $1`,
    [filingId],
  );
  return rows[0]?.document ?? '';
}
/** One record of a request about the row of a filing. */
async function record(requestId: string, filingId: string, more: object): Promise<void> {
  const entry = {
    serialNo: '1',
    irmNumber: 'IRM2026000001',
    irmDt: '05012026',
    sbCumInvoiceNumber: await documentOf(filingId),
    sbCumInvoiceDate: '03012026',
    errorDetails: [],
    ...more,
  };
  const errored = 'processingStatus' in more && more.processingStatus === 'Errored';
  records.set(requestId, {
    processingStatus: errored ? 'Errored' : 'Processed',
    recordResCount: 1,
    recordProCount: errored ? 0 : 1,
    recordFailCount: errored ? 1 : 0,
    ebrcBulkGenStatusLst: [entry],
  } as unknown as Partial<RequestStatus>);
}
const poll = (filingId: string) => door.run('pollStatus', { filingId, submission: 1, ackErrors: [], once: true });
const requests = async (filingId: string) =>
  (await readRequests(ledger.pool, filingId, 1)).map(({ requestId, state, statement }) => [
    requestId,
    state,
    statement,
  ]);

const processed = { processingStatus: 'Processed', eBRCDt: '10022026' };
const errored = { processingStatus: 'Errored' };

it('certifies by the record of a request, which has ended with it', async () => {
  const of = await sent();
  const requestId = await accept(of, `R-${of.filingId}`);
  await record(requestId, of.filingId, { ...processed, eBRCNumber: `EB-${of.filingId}` });
  expect(await poll(of.filingId)).toMatchObject({ outcome: 'settled', requestId });
  expect(await requests(of.filingId)).toEqual([[requestId, 'ended', null]]);
  expect(await attempts.rows(of.filingId)).toMatchObject([{ state: 'certified', live: true }]);
});

it('frees what one of our own requests reports Errored', async () => {
  const of = await sent();
  const requestId = await accept(of, `R-${of.filingId}`);
  await record(requestId, of.filingId, errored);
  expect(await poll(of.filingId)).toMatchObject({ outcome: 'settled', requestId });
  expect(await attempts.rows(of.filingId)).toMatchObject([{ state: 'needs_correction', live: false }]);
});

it('asks a person about a number that existed before the send, and about one that another row has', async () => {
  const owner = await sent();
  await record(await accept(owner, `R-${owner.filingId}`), owner.filingId, { ...processed, eBRCNumber: 'EB-OWNED' });
  await poll(owner.filingId);
  for (const eBRCNumber of ['EB-OLD', 'EB-OWNED']) {
    const of = await sent(['EB-OLD']);
    await record(await accept(of, `R-${of.filingId}`), of.filingId, { ...processed, eBRCNumber });
    expect(await poll(of.filingId)).toMatchObject({ outcome: 'doubt' });
    const notices = await readLastingNotices(ledger.pool, of.filingId);
    const text = expect.stringContaining(eBRCNumber) as string;
    expect(notices).toEqual([{ kind: 'certificate_contradicted', text }]);
    expect(await attempts.rows(of.filingId)).toMatchObject([{ state: 'submitted', live: true }]);
  }
});

it('asks a person where a record reports Errored what is certified', async () => {
  const of = await sent();
  const requestId = await accept(of, `R-${of.filingId}`);
  const { filingId } = of;
  const certified = { position: 0, outcome: 'certified' as const, eBRCNumber: `EB-${filingId}`, eBRCDate: '10022026' };
  await withTransaction(ledger.pool, (client) =>
    settleRows(client, { filingId, exporterId: EXPORTER, verdicts: [certified], at: NOW }),
  );
  await record(requestId, filingId, errored);
  await poll(filingId);
  expect(await attempts.rows(filingId)).toMatchObject([{ state: 'certified', live: true }]);
  const text = expect.stringContaining('as Errored') as string;
  expect(await readLastingNotices(ledger.pool, filingId)).toEqual([{ kind: 'certificate_contradicted', text }]);
});

it('takes from a request that a person named no record that does not say which row it is of', async () => {
  const { filingId } = await sent();
  const requestId = await name(filingId, `NAMELESS-${filingId}`);
  for (const nameless of [{ sbCumInvoiceNumber: null }, { irmNumber: null }]) {
    await record(requestId, filingId, { ...processed, ...nameless, eBRCNumber: `EB-STRANGER-${filingId}` });
    expect(await poll(filingId)).toMatchObject({ outcome: 'not_yet' });
    await record(requestId, filingId, { ...errored, ...nameless });
    expect(await poll(filingId)).toMatchObject({ outcome: 'not_yet' });
  }
  expect(await requests(filingId)).toEqual([[requestId, 'followed', 'incomplete']]);
  expect(await attempts.rows(filingId)).toMatchObject([{ state: 'submitted', live: true }]);
});

/** fetch-details shows a certificate of a filing's row, with this amount. */
async function show(filingId: string, eBRCNumber: string, realisedValueFCC: number): Promise<void> {
  const { mapping } = (await readRows(ledger.pool, filingId))[0] as FilingRow;
  const details = [{ ...detailOf(eBRCNumber, mapping, NOW), realisedValueFCC }];
  await saveCertificates(ledger.pool, { exporterId: EXPORTER, details, at: NOW });
}

it('takes a certificate from a request that a person named once its details are the row’s', async () => {
  const { filingId } = await sent();
  const requestId = await name(filingId, `R-LATE-${filingId}`);
  const eBRCNumber = `EB-LATE-${filingId}`;
  await record(requestId, filingId, { ...processed, eBRCNumber });
  expect(await poll(filingId)).toMatchObject({ outcome: 'incomplete' });
  expect(await attempts.rows(filingId)).toMatchObject([{ state: 'submitted' }]);
  await show(filingId, eBRCNumber, 1);
  expect(await poll(filingId)).toMatchObject({ outcome: 'settled' });
  expect(await attempts.rows(filingId)).toMatchObject([{ state: 'certified' }]);
});

it('takes nothing from a request that two persons close as not ours while the service answers', async () => {
  const { filingId } = await sent();
  const requestId = await name(filingId, `R-CLOSED-${filingId}`);
  const eBRCNumber = `EB-CLOSED-${filingId}`;
  await record(requestId, filingId, { ...processed, eBRCNumber });
  await show(filingId, eBRCNumber, 1);
  const end = { state: 'not_ours' as const, processingStatus: null, errored: [], at: NOW };
  meanwhile = () => endRequest(ledger.pool, { filingId, submission: 1, requestId }, end);
  expect(await poll(filingId)).toMatchObject({ outcome: 'doubt' });
  meanwhile = () => Promise.resolve();
  expect(await attempts.rows(filingId)).toMatchObject([{ state: 'submitted', live: true }]);
});

it('follows a request that a late answer makes our own while the service answers, whatever its record was taken for', async () => {
  const { filingId, attemptId } = await sent();
  const requestId = await name(filingId, `R-OWN-${filingId}`);
  await record(requestId, filingId, { ...errored, sbCumInvoiceNumber: '7654321' });
  meanwhile = () => accept({ attemptId }, requestId);
  expect(await poll(filingId)).toMatchObject({ outcome: 'not_yet' });
  meanwhile = () => Promise.resolve();
  expect(await requests(filingId)).toEqual([[requestId, 'followed', null]]);
  await record(requestId, filingId, { ...processed, eBRCNumber: `EB-OWN-${filingId}` });
  expect(await poll(filingId)).toMatchObject({ outcome: 'settled' });
});

it('asks about a request that a person named, and whose certificate two persons said is another’s', async () => {
  const { filingId } = await sent();
  const requestId = await name(filingId, `R-TWIN-${filingId}`);
  const eBRCNumber = `EB-TWIN-${filingId}`;
  await record(requestId, filingId, { ...processed, eBRCNumber });
  await show(filingId, eBRCNumber, 1);
  await recordRelease(ledger.pool, { filingId, submission: 1, ground: 'absent', notOurs: [eBRCNumber], at: NOW });
  expect(await poll(filingId)).toMatchObject({ outcome: 'doubt' });
  expect(await attempts.rows(filingId)).toMatchObject([{ state: 'submitted' }]);
  const text = expect.stringContaining('two persons said that it is another') as string;
  expect(await readLastingNotices(ledger.pool, filingId)).toEqual([{ kind: 'certificate_contradicted', text }]);
});

// Otherwise the row is certified by the other one's certificate, and nothing agrees with the other one any more.
it('asks about a request that a person named, and that filed another amount of the IRM and document', async () => {
  const { filingId } = await sent();
  const requestId = await name(filingId, `R-OTHER-${filingId}`);
  const eBRCNumber = `EB-OTHER-${filingId}`;
  await record(requestId, filingId, { ...processed, eBRCNumber });
  await show(filingId, eBRCNumber, 2);
  expect(await poll(filingId)).toMatchObject({ outcome: 'doubt' });
  expect(await attempts.rows(filingId)).toMatchObject([{ state: 'submitted' }]);
  const text = expect.stringContaining('of another document, date, amount or currency') as string;
  expect(await readLastingNotices(ledger.pool, filingId)).toEqual([{ kind: 'certificate_contradicted', text }]);
});

// A record names the number of an IRM, and neither it nor the details name its AD code.
it('asks about a request that a person named where the number of the IRM is known under two AD codes', async () => {
  const { filingId } = await sent();
  const requestId = await name(filingId, `R-TWO-CODES-${filingId}`);
  const eBRCNumber = `EB-TWO-CODES-${filingId}`;
  await record(requestId, filingId, { ...processed, eBRCNumber });
  await show(filingId, eBRCNumber, 1);
  await saveIrms(ledger.pool, EXPORTER, [{ ...irmRecord(10_000), remittanceAdCode: '6390005' }], NOW);
  expect(await poll(filingId)).toMatchObject({ outcome: 'doubt' });
  await ledger.pool.query("DELETE FROM irms WHERE exporter_id = $1 AND ad_code = '6390005'", [EXPORTER]);
  expect(await attempts.rows(filingId)).toMatchObject([{ state: 'submitted' }]);
  const text = expect.stringContaining('another IRM of the same number') as string;
  expect(await readLastingNotices(ledger.pool, filingId)).toEqual([{ kind: 'certificate_contradicted', text }]);
});

it('takes Errored of a request that a person named for a statement alone', async () => {
  const of = await sent();
  const requestId = await name(of.filingId, `R-${of.filingId}`);
  await record(requestId, of.filingId, errored);
  expect(await poll(of.filingId)).toMatchObject({ outcome: 'not_yet' });
  expect(await requests(of.filingId)).toEqual([[requestId, 'followed', 'errored']]);
  expect(await attempts.rows(of.filingId)).toMatchObject([{ state: 'submitted', live: true }]);
});

it('takes Errored with nothing listed for a statement alone', async () => {
  const of = await sent();
  const requestId = await accept(of, `R-${of.filingId}`);
  records.set(requestId, {
    processingStatus: 'Errored',
    recordResCount: null,
    recordProCount: null,
    recordFailCount: null,
  });
  expect(await poll(of.filingId)).toMatchObject({ outcome: 'not_yet' });
  expect(await requests(of.filingId)).toEqual([[requestId, 'followed', 'errored']]);
});

it('frees no row by counts that fit only with a certificate that its record does not list', async () => {
  const filingId = await open(
    ledger,
    'COUNTS',
    rowsOf({ sbCumInvoiceNumber: '3000001' }, { sbCumInvoiceNumber: '3000002' }),
  );
  const attemptId = await attempts.opened(filingId);
  await attempts.mark(attemptId);
  await move(ledger, filingId, 'submitting', 'processing');
  const requestId = await accept({ attemptId }, 'R-COUNTS');
  // Found by its details, and perhaps a twin that was filed by hand: then it is this row that failed.
  const certificates = [{ position: 0, eBRCNumber: 'EB-TWIN', eBRCDate: null }];
  await withTransaction(ledger.pool, (client) =>
    certifyByPersons(client, { filingId, submission: 1, exporterId: EXPORTER, at: NOW, certificates }),
  );
  records.set(requestId, { processingStatus: 'Processed', recordResCount: 2, recordProCount: 1, recordFailCount: 1 });
  expect(await poll(filingId)).toMatchObject({ outcome: 'not_yet' });
  expect(await requests(filingId)).toEqual([[requestId, 'followed', 'errored']]);
  expect((await attempts.rows(filingId)).map(({ state }) => state)).toEqual(['certified', 'submitted']);
});

it('asks about every request of a submission: one that is named never hides another', async () => {
  const of = await sent();
  const own = await accept(of, `R-${of.filingId}`);
  const named = await name(of.filingId, `R2-${of.filingId}`);
  const asked = new Set<string | null>();
  for (let looks = 0; looks < 2; looks += 1) asked.add((await poll(of.filingId)).requestId);
  expect([...asked].sort()).toEqual([named, own].sort());
});

it('keeps a row that one request rejects while a sister names a certificate for it that another row has', async () => {
  const owner = await sent();
  await record(await accept(owner, `R-${owner.filingId}`), owner.filingId, { ...processed, eBRCNumber: 'EB-SISTER' });
  await poll(owner.filingId);
  const of = await sent();
  await record(await accept(of, `R-${of.filingId}`), of.filingId, errored);
  await record(await name(of.filingId, `R2-${of.filingId}`), of.filingId, { ...processed, eBRCNumber: 'EB-SISTER' });
  expect(await poll(of.filingId)).toMatchObject({ outcome: 'not_yet' });
  expect(await poll(of.filingId)).toMatchObject({ outcome: 'doubt' });
  expect(await attempts.rows(of.filingId)).toMatchObject([{ state: 'submitted', live: true }]);
});

it('asks about the own request of a submission while the certificate that a named one shows has no details', async () => {
  const of = await sent();
  const own = await accept(of, `R1-${of.filingId}`);
  await record(await name(of.filingId, `R2-${of.filingId}`), of.filingId, {
    ...processed,
    eBRCNumber: 'EB-NO-DETAILS',
  });
  const asked: (string | null)[] = [];
  for (let looks = 0; looks < 4; looks += 1) asked.push((await poll(of.filingId)).requestId);
  expect(asked.filter((each) => each === own)).toHaveLength(2);
});

it('closes a request that a person named as not ours once every record of it is another filing’s', async () => {
  const of = await sent();
  const requestId = await name(of.filingId, `R-${of.filingId}`);
  await record(requestId, of.filingId, { ...errored, sbCumInvoiceNumber: '7654321' });
  expect(await poll(of.filingId)).toMatchObject({ outcome: 'doubt', requestId });
  expect(await requests(of.filingId)).toEqual([[requestId, 'not_ours', null]]);
  expect(await attempts.rows(of.filingId)).toMatchObject([{ state: 'submitted', live: true }]);
  // Of our own answer that is no end: the record may be wrong.
  const own = await sent();
  const answered = await accept(own, `R-${own.filingId}`);
  await record(answered, own.filingId, { ...processed, sbCumInvoiceNumber: '7654321', eBRCNumber: 'EB-STRANGE' });
  expect(await poll(own.filingId)).toMatchObject({ outcome: 'not_yet' });
  expect(await requests(own.filingId)).toEqual([[answered, 'followed', 'incomplete']]);
});

it('says “by record” of no row that the record does not name, although its counts include it', async () => {
  const of = await sent();
  const requestId = await accept(of, `R-${of.filingId}`);
  const { filingId } = of;
  const certificates = [{ position: 0, eBRCNumber: `EB-${filingId}`, eBRCDate: '10022026' }];
  await withTransaction(ledger.pool, async (client) => {
    await lockFiling(client, filingId);
    await certifyByPersons(client, { filingId, submission: 1, exporterId: EXPORTER, at: NOW, certificates });
  });
  records.set(requestId, { processingStatus: 'Processed', recordResCount: 1, recordProCount: 1, recordFailCount: 0 });
  expect(await poll(filingId)).toMatchObject({ outcome: 'settled', requestId });
  expect(await ledger.select('SELECT adoption FROM filing_rows WHERE filing_id = $1', filingId)).toEqual([
    { adoption: 'persons' },
  ]);
});

it('gives each ended filing its turn, however many there are that cannot be asked about', async () => {
  const waiting = [await sent(), await sent()];
  for (const of of waiting) await accept(of, `R-ENDED-${of.filingId}`);
  for (const { filingId } of waiting) await move(ledger, filingId, 'abandoned');
  const turns = new Set<string>();
  const before = new Date(NOW.getTime() + 3_600_000);
  for (let sweeps = 0; sweeps < 60; sweeps += 1) {
    const drawn = await endedWithRequests(ledger.pool, { mode: 'test', before, limit: 1 });
    for (const { filingId } of drawn) turns.add(filingId);
  }
  expect([...turns].sort()).toEqual(waiting.map(({ filingId }) => filingId).sort());
});

it('certifies and frees nothing where an answer names a request that another filing has', async () => {
  const [owner, other] = [await sent(), await sent()];
  const taken = await accept(owner, 'TAKEN-1');
  const answer = { ...ACCEPTED, requestId: taken };
  expect(await door.run('adoptAnswer', { attemptId: other.attemptId, answer, sentBy: SENT_BY })).toMatchObject({
    requestId: null,
  });
  expect((await readQuestions(ledger.pool, [other.filingId])).get(other.filingId)).toMatchObject([
    { kind: 'request_taken', text: expect.stringContaining(other.attemptId) as string },
  ]);
  for (const processingStatus of ['Errored', 'Processed']) {
    await record(taken, other.filingId, {
      processingStatus,
      eBRCNumber: processingStatus === 'Errored' ? null : 'EB-T',
    });
    expect(await poll(other.filingId)).toMatchObject({ outcome: 'doubt', requestId: null });
  }
  expect(await attempts.rows(other.filingId)).toMatchObject([{ state: 'submitted', live: true }]);
  expect(await requests(owner.filingId)).toMatchObject([[taken, 'followed', null]]);
});

it('learns the IEC of an exporter from records of its own rows alone', async () => {
  // What somebody entered, which the portal's word replaces.
  await ledger.pool.query("UPDATE exporters SET iec_source = 'client' WHERE exporter_id = $1", [EXPORTER]);
  const learntFrom = async (entry: object) => {
    const of = await sent();
    const requestId = await accept(of, `R-${of.filingId}`);
    await record(requestId, of.filingId, { ...processed, eBRCNumber: `EB-${of.filingId}`, ...entry });
    await poll(of.filingId);
    return (await needExporter(ledger.pool, EXPORTER)).iec;
  };
  const before = (await needExporter(ledger.pool, EXPORTER)).iec;
  expect(await learntFrom({ iecNumber: 'ZZSTR1234Z', irmNumber: 'IRM-OF-ANOTHER' })).toBe(before);
  expect(await learntFrom({ iecNumber: 'ZZSTR1234Z', irmNumber: null, sbCumInvoiceNumber: null })).toBe(before);
  expect(await learntFrom({ iecNumber: 'AAOUR1234R' })).toBe('AAOUR1234R');
});
