/** What a poll concludes of a request: an outcome of its rows, a statement, a question, or that it is none of ours. */
import { ApiError } from '../../src/api/errors/api-error';
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
/** The requests that the service does not know. */
const unknown = new Set<string>();
/** What happens while the service answers. */
let meanwhile = (): Promise<unknown> => Promise.resolve();
const door = useDoor(ledger, {
  status: async ({ requestId }: { requestId: string }) => {
    await meanwhile();
    if (unknown.has(requestId))
      throw new ApiError({ kind: 'request_not_found', operation: 'status', message: 'Request not found' });
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

const PROCESSED = { processingStatus: 'Processed', eBRCDt: '10022026' };
const ERRORED = { processingStatus: 'Errored' };

/** A send, whose answer named a request; or that a person named one for. */
async function asked(by: 'us' | 'person', held?: string[]) {
  const of = await sent(held);
  const id = `R-${of.filingId}`;
  return { ...of, requestId: await (by === 'us' ? accept(of, id) : name(of.filingId, id)) };
}

/** A poll of a filing has this outcome, and leaves its row in a state; where a person is asked, it says so. */
async function expectPoll(filingId: string, outcome: string, state: string, question?: string) {
  expect(await poll(filingId)).toMatchObject({ outcome });
  expect(await attempts.rows(filingId)).toMatchObject([{ state, live: state !== 'needs_correction' }]);
  const text = question && (expect.stringContaining(question) as string);
  const notices = question === undefined ? [] : [{ kind: 'certificate_contradicted', text }];
  expect(await readLastingNotices(ledger.pool, filingId)).toEqual(notices);
}

/** fetch-details shows a certificate of a filing's row, with this amount. */
async function show(filingId: string, eBRCNumber: string, realisedValueFCC: number): Promise<void> {
  const { mapping } = (await readRows(ledger.pool, filingId))[0] as FilingRow;
  const details = [{ ...detailOf(eBRCNumber, mapping, NOW), realisedValueFCC }];
  await saveCertificates(ledger.pool, { exporterId: EXPORTER, details, at: NOW });
}

/** A row of another filing that has this certificate by the record of its request. */
async function certifiedAs(eBRCNumber: string) {
  const owner = await asked('us');
  await record(owner.requestId, owner.filingId, { ...PROCESSED, eBRCNumber });
  await poll(owner.filingId);
}

describe('the record of a request that we were answered with', () => {
  it('certifies a row, and the request has ended with it', async () => {
    const { filingId, requestId } = await asked('us');
    await record(requestId, filingId, { ...PROCESSED, eBRCNumber: `EB-${filingId}` });
    await expectPoll(filingId, 'settled', 'certified');
    expect(await requests(filingId)).toEqual([[requestId, 'ended', null]]);
  });

  it('frees a row that it reports Errored', async () => {
    const { filingId, requestId } = await asked('us');
    await record(requestId, filingId, ERRORED);
    await expectPoll(filingId, 'settled', 'needs_correction');
  });

  it('with Errored and nothing listed is a statement alone', async () => {
    const { filingId, requestId } = await asked('us');
    records.set(requestId, { ...ERRORED, recordResCount: null, recordProCount: null, recordFailCount: null });
    await expectPoll(filingId, 'not_yet', 'submitted');
    expect(await requests(filingId)).toEqual([[requestId, 'followed', 'errored']]);
  });

  it.each([
    ['Validated', 'not_yet'],
    ['Failed', 'statement'],
  ])('is missing after an acknowledgement as %s: at the second look that is %s', async (ackStatus, outcome) => {
    const { filingId, attemptId } = await sent();
    const requestId = `R-${filingId}`;
    await attempts.answer(attemptId, { ...ACCEPTED, requestId, ackStatus });
    unknown.add(requestId);
    await expectPoll(filingId, 'not_yet', 'submitted');
    await expectPoll(filingId, outcome, 'submitted');
    expect(await requests(filingId)).toEqual([[requestId, 'followed', 'unknown_request']]);
  });

  it('is missing all the while where the service fails in between: a failure is no answer', async () => {
    const { filingId, requestId } = await asked('us');
    unknown.add(requestId);
    await poll(filingId);
    const before = await readRequests(ledger.pool, filingId, 1);
    const failure = { kind: 'portal_unavailable', operation: 'status', message: 'the portal is away' } as const;
    meanwhile = () => Promise.reject(new ApiError(failure));
    await expect(poll(filingId)).rejects.toThrow(/the portal is away/u);
    meanwhile = () => Promise.resolve();
    expect(await readRequests(ledger.pool, filingId, 1)).toEqual(before);
    expect(before).toMatchObject([{ statement: 'unknown_request', statementSince: expect.any(Date) as Date }]);
  });

  it('asks a person about a number that existed before the send, and about one that another row has', async () => {
    await certifiedAs('EB-OWNED');
    for (const eBRCNumber of ['EB-OLD', 'EB-OWNED']) {
      const { filingId, requestId } = await asked('us', ['EB-OLD']);
      await record(requestId, filingId, { ...PROCESSED, eBRCNumber });
      await expectPoll(filingId, 'doubt', 'submitted', eBRCNumber);
    }
  });

  it('asks a person where it reports Errored what is certified', async () => {
    const { filingId, requestId } = await asked('us');
    const certificate = { position: 0, outcome: 'certified' as const, eBRCNumber: `EB-${filingId}`, eBRCDate: null };
    await withTransaction(ledger.pool, (client) =>
      settleRows(client, { filingId, exporterId: EXPORTER, verdicts: [certificate], at: NOW }),
    );
    await record(requestId, filingId, ERRORED);
    await expectPoll(filingId, 'settled', 'certified', 'as Errored');
  });

  it('is no record of a row that it does not name, although its counts include it', async () => {
    const { filingId, requestId } = await asked('us');
    const certificates = [{ position: 0, eBRCNumber: `EB-${filingId}`, eBRCDate: '10022026' }];
    await withTransaction(ledger.pool, async (client) => {
      await lockFiling(client, filingId);
      await certifyByPersons(client, { filingId, submission: 1, exporterId: EXPORTER, at: NOW, certificates });
    });
    records.set(requestId, { processingStatus: 'Processed', recordResCount: 1, recordProCount: 1, recordFailCount: 0 });
    await expectPoll(filingId, 'settled', 'certified');
    const adoption = 'SELECT adoption FROM filing_rows WHERE filing_id = $1';
    expect(await ledger.select(adoption, filingId)).toEqual([{ adoption: 'persons' }]);
  });

  it('frees no row by counts that fit only with a certificate that it does not list', async () => {
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

  it('of another filing’s rows alone may be wrong, and is no end', async () => {
    const { filingId, requestId } = await asked('us');
    await record(requestId, filingId, { ...PROCESSED, sbCumInvoiceNumber: '7654321', eBRCNumber: 'EB-STRANGE' });
    await expectPoll(filingId, 'not_yet', 'submitted');
    expect(await requests(filingId)).toEqual([[requestId, 'followed', 'incomplete']]);
  });

  it('tells the IEC of an exporter, from records of its own rows alone', async () => {
    // What somebody entered, which the portal's word replaces.
    await ledger.select("UPDATE exporters SET iec_source = 'client' WHERE exporter_id = $1", EXPORTER);
    const learntFrom = async (entry: object) => {
      const { filingId, requestId } = await asked('us');
      await record(requestId, filingId, { ...PROCESSED, eBRCNumber: `EB-${filingId}`, ...entry });
      await poll(filingId);
      return (await needExporter(ledger.pool, EXPORTER)).iec;
    };
    const before = (await needExporter(ledger.pool, EXPORTER)).iec;
    expect(await learntFrom({ iecNumber: 'ZZSTR1234Z', irmNumber: 'IRM-OF-ANOTHER' })).toBe(before);
    expect(await learntFrom({ iecNumber: 'ZZSTR1234Z', irmNumber: null, sbCumInvoiceNumber: null })).toBe(before);
    expect(await learntFrom({ iecNumber: 'AAOUR1234R' })).toBe('AAOUR1234R');
  });
});

describe('the record of a request that a person named', () => {
  it('counts for nothing where it does not say which row it is of', async () => {
    const { filingId, requestId } = await asked('person');
    for (const nameless of [{ sbCumInvoiceNumber: null }, { irmNumber: null }])
      for (const outcome of [{ ...PROCESSED, eBRCNumber: `EB-STRANGER-${filingId}` }, ERRORED]) {
        await record(requestId, filingId, { ...outcome, ...nameless });
        await expectPoll(filingId, 'not_yet', 'submitted');
      }
    expect(await requests(filingId)).toEqual([[requestId, 'followed', 'incomplete']]);
  });

  it('certifies a row once the details of its certificate are the row’s', async () => {
    const { filingId, requestId } = await asked('person');
    const eBRCNumber = `EB-LATE-${filingId}`;
    await record(requestId, filingId, { ...PROCESSED, eBRCNumber });
    await expectPoll(filingId, 'incomplete', 'submitted');
    await show(filingId, eBRCNumber, 1);
    await expectPoll(filingId, 'settled', 'certified');
  });

  // Otherwise the row is certified by the other one's certificate, and nothing agrees with the other one any more.
  it.each([
    ['filed another amount of the IRM and document', 2, 'of another document, date, amount or currency'],
    ['has a certificate that two persons said is another’s', 1, 'two persons said that it is another'],
  ])('is a question where it %s', async (_, amount, question) => {
    const { filingId, requestId } = await asked('person');
    const eBRCNumber = `EB-${filingId}`;
    await record(requestId, filingId, { ...PROCESSED, eBRCNumber });
    await show(filingId, eBRCNumber, amount);
    const release = { filingId, submission: 1, ground: 'absent' as const, notOurs: [eBRCNumber], at: NOW };
    if (amount === 1) await recordRelease(ledger.pool, release);
    await expectPoll(filingId, 'doubt', 'submitted', question);
  });

  it('counts for nothing where two persons close it as not ours while the service answers', async () => {
    const { filingId, requestId } = await asked('person');
    await record(requestId, filingId, { ...PROCESSED, eBRCNumber: `EB-${filingId}` });
    await show(filingId, `EB-${filingId}`, 1);
    const end = { state: 'not_ours' as const, processingStatus: null, errored: [], at: NOW };
    meanwhile = () => endRequest(ledger.pool, { filingId, submission: 1, requestId }, end);
    await expectPoll(filingId, 'doubt', 'submitted');
    meanwhile = () => Promise.resolve();
  });

  it('is judged anew where a late answer makes the request our own while the service answers', async () => {
    const { filingId, attemptId, requestId } = await asked('person');
    await record(requestId, filingId, { ...ERRORED, sbCumInvoiceNumber: '7654321' });
    meanwhile = () => accept({ attemptId }, requestId);
    await expectPoll(filingId, 'not_yet', 'submitted');
    meanwhile = () => Promise.resolve();
    expect(await requests(filingId)).toEqual([[requestId, 'followed', null]]);
    await record(requestId, filingId, { ...PROCESSED, eBRCNumber: `EB-OWN-${filingId}` });
    await expectPoll(filingId, 'settled', 'certified');
  });

  // A record names the number of an IRM, and neither it nor the details name its AD code.
  it('is a question where the number of the IRM is known under two AD codes', async () => {
    const { filingId, requestId } = await asked('person');
    const eBRCNumber = `EB-TWO-CODES-${filingId}`;
    await record(requestId, filingId, { ...PROCESSED, eBRCNumber });
    await show(filingId, eBRCNumber, 1);
    const { iec } = await needExporter(ledger.pool, EXPORTER);
    const other = { ...irmRecord(10_000, iec), remittanceAdCode: '6390005' };
    await saveIrms(ledger.pool, EXPORTER, [other], NOW);
    await expectPoll(filingId, 'doubt', 'submitted', 'another IRM of the same number');
    await ledger.select("DELETE FROM irms WHERE exporter_id = $1 AND ad_code = '6390005'", EXPORTER);
  });

  it('with Errored is a statement alone', async () => {
    const { filingId, requestId } = await asked('person');
    await record(requestId, filingId, ERRORED);
    await expectPoll(filingId, 'not_yet', 'submitted');
    expect(await requests(filingId)).toEqual([[requestId, 'followed', 'errored']]);
  });

  it('closes it as not ours once every record of it is another filing’s', async () => {
    const { filingId, requestId } = await asked('person');
    await record(requestId, filingId, { ...ERRORED, sbCumInvoiceNumber: '7654321' });
    await expectPoll(filingId, 'doubt', 'submitted');
    expect(await requests(filingId)).toEqual([[requestId, 'not_ours', null]]);
  });
});

describe('of several requests of a submission', () => {
  it('each is asked about, also while the certificate that a named one shows has no details: none hides another', async () => {
    const of = await asked('us');
    const named = await name(of.filingId, `R2-${of.filingId}`);
    await record(named, of.filingId, { ...PROCESSED, eBRCNumber: 'EB-NO-DETAILS' });
    const turns: (string | null)[] = [];
    for (let looks = 0; looks < 4; looks += 1) turns.push((await poll(of.filingId)).requestId);
    for (const each of [of.requestId, named]) expect(turns.filter((turn) => turn === each)).toHaveLength(2);
  });

  it('none frees a row that it rejects while a sister names a certificate for it that another row has', async () => {
    await certifiedAs('EB-SISTER');
    const { filingId, requestId } = await asked('us');
    await record(requestId, filingId, ERRORED);
    await record(await name(filingId, `R2-${filingId}`), filingId, { ...PROCESSED, eBRCNumber: 'EB-SISTER' });
    await expectPoll(filingId, 'not_yet', 'submitted');
    await expectPoll(filingId, 'doubt', 'submitted', 'EB-SISTER');
  });

  it('one that another filing has certifies and frees nothing where an answer names it', async () => {
    const [owner, other] = [await asked('us'), await sent()];
    const answer = { ...ACCEPTED, requestId: owner.requestId };
    const adopted = await door.run('adoptAnswer', { attemptId: other.attemptId, answer, sentBy: SENT_BY });
    expect(adopted).toMatchObject({ requestId: null });
    const text = expect.stringContaining(other.attemptId) as string;
    const questions = (await readQuestions(ledger.pool, [other.filingId])).get(other.filingId);
    expect(questions).toMatchObject([{ kind: 'request_taken', text }]);
    for (const outcome of [ERRORED, { ...PROCESSED, eBRCNumber: 'EB-T' }]) {
      await record(owner.requestId, other.filingId, outcome);
      expect(await poll(other.filingId)).toMatchObject({ outcome: 'doubt', requestId: null });
    }
    expect(await attempts.rows(other.filingId)).toMatchObject([{ state: 'submitted', live: true }]);
    expect(await requests(owner.filingId)).toMatchObject([[owner.requestId, 'followed', null]]);
  });
});

it('gives each ended filing its turn, however many there are that cannot be asked about', async () => {
  const waiting = [await asked('us'), await asked('us')].map(({ filingId }) => filingId);
  for (const filingId of waiting) await move(ledger, filingId, 'abandoned');
  const turns = new Set<string>();
  const before = new Date(NOW.getTime() + 3_600_000);
  for (let sweeps = 0; sweeps < 60; sweeps += 1)
    for (const { filingId } of await endedWithRequests(ledger.pool, { mode: 'test', before, limit: 1 }))
      turns.add(filingId);
  expect([...turns].sort()).toEqual(waiting.sort());
});
