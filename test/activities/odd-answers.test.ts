import { TEST_CADENCE } from '../support/settings';
import { ApplicationFailure } from '@temporalio/common';
import { addCredentials, credentialVersion, currentCredentials, markValid } from '../../src/ledger/vault/credentials';
import { needFiling } from '../../src/ledger/filings/filings';
import { readRows } from '../../src/ledger/rows/filing-rows';
import { readFilingView } from '../../src/ledger/filings/filing-view';
import type { StoredAnswer } from '../../src/domain/filing/attempt';
import type { Finding } from '../../src/domain/rules/finding';
import { handIn } from '../../src/ledger/vault/vault';
import { acknowledgement, clientOf, CUSTOMER_ID, envelope, json, startService } from '../api/support/service';
import type { Service } from '../api/support/service';
import { knowExporter, open, rowsOf } from '../ledger/filing-support';
import { attemptSteps } from '../ledger/submissions/attempt-support';
import { closeAfterAll } from '../support/closing';
import { useTestDatabase } from '../support/postgres';
import { openDoor, type ActivityDoor } from './door';

/** Odd answers of the service, down to the ledger. */
const HOSTILE = 'odd \u0000\ud800\u001b[2J text';
const CUSTOMER = { id: CUSTOMER_ID, name: 'Asha', email: 'r&d@asha.example', isActive: false };

const ledger = useTestDatabase((database) => knowExporter(database, CUSTOMER_ID));
let service: Service;
let door: ActivityDoor;
let references = 0;
const { opened } = attemptSteps(ledger);

beforeAll(async () => {
  service = await startService((_request, response) => json(response, 200, {}));
  const { api } = clientOf(service.baseUrl, { httpTimeoutMs: 30_000 });
  door = await openDoor(ledger, api, (deps) => ({ ...deps, settings: { ...deps.settings, pollFirstMs: 1 } }));
});
closeAfterAll(async () => {
  await door.deps.api.close();
  await door.close();
  await service.close();
});

const answer = (status: number, body: unknown) =>
  service.answer((_request, response) => json(response, status, status < 300 ? envelope(body) : body));

/** A filing that is about to be sent. */
async function aboutToSend(rows = 1) {
  references += 1;
  const documents = Array.from({ length: rows }, (_, at) => ({
    sbCumInvoiceNumber: String(7_000 + 1_000 * references + at),
    mappedIRMAmountFCC: 1,
  }));
  const filingId = await open(ledger, `ODD-${references}`, rowsOf(...documents), { exporterId: CUSTOMER_ID });
  return { filingId, submission: 1, exporterId: CUSTOMER_ID, attemptId: await opened(filingId) };
}

const storedAnswer = async (attemptId: string) =>
  (await ledger.select('SELECT answer FROM attempts WHERE attempt_id = $1', attemptId))[0]?.['answer'] as
    StoredAnswer | undefined;
/** What was noted of the rows that an upload was read as. */
const mismatches = (filingId: string) =>
  ledger.select(`SELECT text FROM filing_events WHERE filing_id = $1 AND kind = 'upload_mismatch'`, filingId);

it('stores an acceptance with NUL, half a surrogate pair and a megabyte of text, and returns its ids', async () => {
  const args = await aboutToSend();
  const huge = `${HOSTILE}${'x'.repeat(1024 * 1024)}`;
  answer(200, {
    ...acknowledgement,
    errorDetails: [huge],
    observations: Array.from({ length: 999 }, () => huge.slice(0, 9_000)),
  });
  const sent = await door.run('submitPush', args);
  expect(sent.answer).toMatchObject({ kind: 'accepted', requestId: 'REQ1', ackStatus: 'Validated' });
  expect(JSON.stringify(sent).length).toBeLessThan(30_000);
  const stored = await storedAnswer(args.attemptId);
  expect(stored?.warnings).toHaveLength(200);
  expect(JSON.stringify(stored)).not.toMatch(/\\u0000|\\ud800/u);

  const reading = await door.run('readAttempt', { attemptId: args.attemptId, seq: 1 });
  expect(reading).toMatchObject({ verdict: 'accepted', answer: { requestId: 'REQ1' } });
  expect(JSON.stringify(reading).length).toBeLessThan(30_000);
  expect(sent.adopted).toMatchObject({ requestId: 'REQ1', filing: { standing: null } });
  const [stage] = sent.adopted?.filing.submissions ?? [];
  expect(Buffer.byteLength(stage?.ackErrors.join('') ?? '')).toBeLessThanOrEqual(500);
});

it('compares all the rows that an upload was read as, although only the counts travel', async () => {
  const args = await aboutToSend();
  const irms = [{ serialNo: 1, irmNumber: 'ANOTHER', irmDt: '01012026', irmAdCode: '1', irmIfscCode: 'X' }];
  answer(200, { ...acknowledgement, requestId: 'REQ2', parsedRowCount: 1, irms });
  const sent = await door.run('submitBulk', args);
  expect(sent.answer.irms).toBeUndefined();
  expect(sent.adopted?.filing?.standing).toContain('rows it read are not the ones');
});

describe('an upload whose rows were read differently', () => {
  type Read = Record<'serialNo', number> & Record<'irmNumber' | 'irmDt' | 'irmAdCode' | 'irmIfscCode', string>;
  it.each<[string, (irms: Read[]) => unknown[], RegExp | null]>([
    ['nothing', (irms) => irms, null],
    [
      'only the spelling',
      (irms) => irms.map((irm) => ({ ...irm, irmIfscCode: ` ${irm.irmIfscCode.toLowerCase()}` })),
      null,
    ],
    ['the date', ([first, ...rest]) => [{ ...first, irmDt: '02021999' }, ...rest], /another irmDt in serialNo 1\b/u],
    [
      'the IFSC',
      ([one, two, ...rest]) => [one, { ...two, irmIfscCode: 'ICIC0000001' }, ...rest],
      /irmIfscCode in serialNo 2/u,
    ],
    [
      'the serial number',
      (irms) => irms.map((irm) => ({ ...irm, serialNo: irm.serialNo + 1 })),
      /serialNo in serialNo 1, 2 and 3/u,
    ],
    ['the order', ([one, two, three]) => [two, one, three], /serialNo 1 and 2 in another order/u],
  ])('differs in %s', async (_what, change, text) => {
    const args = await aboutToSend(3);
    const rows = await readRows(ledger.pool, args.filingId, 1);
    const irms = rows.map(({ serialNo, mapping }) => ({ ...mapping, serialNo }));
    const requestId = `REQ-${args.filingId}`;
    answer(200, { ...acknowledgement, requestId, recordResCount: 3, parsedRowCount: 3, irms: change(irms) });
    await door.run('submitBulk', args);
    expect(await mismatches(args.filingId)).toEqual(text === null ? [] : [{ text: expect.stringMatching(text) }]);
  });
});

it('takes the count of an acknowledgement that failed for no other rows', async () => {
  const args = await aboutToSend();
  answer(200, { ackStatus: 'Failed', requestId: null, dgftAckId: null, recordResCount: 0, errorDetails: ['ERR09'] });
  await door.run('submitPush', args).catch(() => null);
  expect((await storedAnswer(args.attemptId))?.ackStatus).toBe('Failed');
  expect(await mismatches(args.filingId)).toEqual([]);
});

it('keeps what stands beside the data of an acceptance', async () => {
  const args = await aboutToSend();
  const observations = [{ serialNo: 1, message: 'no held record of this IRM' }];
  const body = { ...(envelope({ ...acknowledgement, requestId: 'REQ-BESIDE' }) as object), observations, empty: [] };
  service.answer((_request, response) => json(response, 200, body));
  await door.run('submitPush', args);
  expect((await storedAnswer(args.attemptId))?.warnings).toEqual(observations);
  expect(JSON.stringify((await readFilingView(ledger.pool, args.filingId, TEST_CADENCE))?.warnings)).toContain(
    'no held record',
  );
});

/** What the ledger says is wrong with a filing whose submission was refused. */
async function errorsAfterRefusal(args: Awaited<ReturnType<typeof aboutToSend>>, channel: 'Push' | 'Bulk') {
  await expect(door.run(`submit${channel}`, args)).rejects.toThrow();
  const reading = await door.run('readAttempt', { attemptId: args.attemptId, seq: 1 });
  expect(JSON.stringify(reading).length).toBeLessThan(30_000);
  const { filingId } = args;
  const { seq } = await needFiling(ledger.pool, filingId);
  const held = { filingId, seq, submission: 1, answer: reading.answer, errors: [] };
  const result = await door.run('refuseFiling', held);
  // With the first 200 rows: a history keeps it, and Temporal warns above 512 KB.
  expect(JSON.stringify(result).length).toBeLessThan(200_000);
  return (await needFiling(ledger.pool, filingId)).errors as Finding[];
}

it('keeps the refusal of every cell of the largest workbook', async () => {
  const args = await aboutToSend(999);
  const errors = Array.from({ length: 999 * 21 }, (_, at) => ({
    row: 2 + Math.floor(at / 21),
    field: `field${at % 21}`,
    message: `Invalid date value "x" in cell ${at}. Expected a date as DD/MM/YYYY, DD-MM-YYYY or a real date cell`,
  }));
  answer(400, { statusCode: 400, message: 'Excel validation failed', errors });
  const kept = await errorsAfterRefusal(args, 'Bulk');
  expect(kept).toHaveLength(errors.length);
  expect(kept.at(-1)).toMatchObject({ row: 999, field: 'field20', message: errors.at(-1)?.message });
}, 120_000);

it.each<[string, object, number | null]>([
  ['index', { index: 1, field: 'irmDt' }, 2],
  ['serialNo', { serialNo: 3, field: 'irmDt' }, 3],
  ['serialNo as text', { serialNo: '3', field: 'irmDt', index: 0 }, 3],
  ['index that is no place in the list', { index: 3, field: 'irmDt' }, null],
])('names the row of a push error with %s', async (_what, error, row) => {
  const args = await aboutToSend(3);
  answer(400, { message: 'Validation failed', errors: [{ ...error, message: 'bad date' }] });
  const kept = await errorsAfterRefusal(args, 'Push');
  expect(kept).toEqual([expect.objectContaining({ row, field: 'irmDt', message: 'bad date' })]);
});

it('fails small on a refusal of a megabyte', async () => {
  const args = await aboutToSend();
  const errors = Array.from({ length: 900 }, (_, index) => `field${index}: ${HOSTILE}${'y'.repeat(2_000)}`);
  answer(400, { message: 'z'.repeat(1024 * 1024), errors, causes: errors });
  const failure: unknown = await door.run('submitPush', args).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ApplicationFailure);
  const { type, message, details } = failure as ApplicationFailure;
  expect(type).toBe('validation_failed');
  expect(JSON.stringify({ message, details }).length).toBeLessThan(20_000);
});

it('frees no row by a status record of another request', async () => {
  const args = await aboutToSend();
  answer(200, { ...acknowledgement, requestId: 'REQ-MINE', dgftAckId: 'ACK-MINE' });
  await door.run('submitPush', args);
  const { filingId, submission, exporterId } = args;
  const poll = () => {
    const asked = { filingId, submission, exporterId, requestId: 'REQ-MINE', submittedAt: 0, failedAck: false };
    return door.run('pollStatus', { ...asked, ackErrors: [] });
  };
  const errored = { recordResCount: 1, recordProCount: 0, recordFailCount: 1, processingStatus: 'Errored' };
  answer(200, { ...errored, requestId: 'REQ-OTHER', dgftAckId: 'ACK-OTHER', ebrcBulkGenStatusLst: [] });
  await expect(poll()).rejects.toThrow('another request than REQ-MINE');
  const knows = () => door.run('knowsRequest', { exporterId: CUSTOMER_ID, requestId: 'REQ-MINE' });
  await expect(knows()).rejects.toThrow('does not know request REQ-MINE');
  // Under the authority's own id, with the acknowledgement that is ours, it counts.
  answer(200, { ...errored, requestId: 'REQ-OTHER', dgftAckId: 'ACK-MINE', ebrcBulkGenStatusLst: [] });
  await expect(poll()).resolves.toMatchObject({ outcome: 'settled', processingStatus: 'Errored' });
});

it('records the certificates from before a send when the service answers 404 because there are none', async () => {
  const args = await aboutToSend();
  answer(404, { errorCode: 'EBRC_NOT_FOUND', message: 'No eBRC found' });
  const behind = { seq: 99, after: 0 };
  expect(await door.run('takeSnapshot', { ...args, open: behind })).toEqual({ certificates: 0, opened: null });
});

describe('credentials', () => {
  const submitted = async () => {
    const secret = { mode: 'test' as const, workflowId: 'onboard/test', username: 'asha', password: 'Right-1!' };
    const secretRef = await handIn(ledger.pool, secret);
    return addCredentials(ledger.pool, door.deps.vault, { mode: 'test', exporterId: CUSTOMER_ID, secretRef });
  };
  const check = async (status: number, body: unknown) => {
    const version = await submitted();
    answer(status, body);
    const result = await door.run('checkCredentials', { exporterId: CUSTOMER_ID, version });
    return { result, known: await credentialVersion(ledger.pool, CUSTOMER_ID, version) };
  };

  it.each([
    [400, { message: 'The portal is being renewed' }],
    [409, { message: 'Another check is under way' }],
    [422, { message: 'Not now' }],
  ])('keeps the secret and asks where a check is refused with %i for an undocumented reason', async (status, body) => {
    const { result, known } = await check(status, body);
    expect(result).toMatchObject({ outcome: 'undecided' });
    expect('message' in result && result.message).toContain(body.message);
    expect(known).toMatchObject({ state: 'unverified' });
    expect(known?.secretRef).not.toBeNull();
  });

  it('asks for other credentials where the service wants a new password, under whatever code', async () => {
    const { result, known } = await check(409, { errorCode: 'NEW', requiresPasswordUpdate: true });
    expect(result).toMatchObject({ outcome: 'rejected' });
    expect(known).toMatchObject({ state: 'bad', secretRef: null });
  });

  it('looks again after DGFT_CREDENTIALS_MISSING, and not after a password that is dead', async () => {
    const version = await submitted();
    await markValid(ledger.pool, CUSTOMER_ID, version);
    const ask = () =>
      door.run('knowsRequest', { exporterId: CUSTOMER_ID, requestId: 'R' }).catch((error: ApplicationFailure) => error);
    answer(422, { errorCode: 'DGFT_CREDENTIALS_MISSING', requiresPasswordUpdate: true, message: 'none' });
    expect(await ask()).toMatchObject({ type: 'credentials_missing', details: [{ credentialsVersion: version }] });
    expect(await currentCredentials(ledger.pool, CUSTOMER_ID)).toMatchObject({ version, state: 'valid' });
    answer(200, { requestId: 'R' });
    expect(await ask()).toEqual({ known: true });

    answer(409, { errorCode: 'SOMETHING_NEW', requiresPasswordUpdate: 'true' });
    expect(await ask()).toMatchObject({ type: 'credentials_invalid' });
    answer(200, { requestId: 'R' });
    const asked = service.received.length;
    expect(await ask()).toMatchObject({ type: 'credentials_invalid' });
    expect(service.received).toHaveLength(asked);
  });
});

it.each([400, 409])('adopts the client whose e-mail is taken, said with %i and the address inside', async (status) => {
  const { email } = CUSTOMER;
  service.answer((request, response) => {
    if (request.method === 'POST')
      return json(response, status, { message: `User with email ${email} already exists` });
    if (request.url.includes(CUSTOMER_ID)) return json(response, 200, envelope(CUSTOMER));
    return json(response, 200, envelope({ data: [{ name: 'no id' }, null, CUSTOMER], meta: {} }));
  });
  const input = { mode: 'test' as const, name: 'Asha', email, startedBy: 'asha' };
  const adopted = { outcome: 'adopted', exporter: { exporterId: CUSTOMER_ID } };
  expect(await door.run('createExporter', { input })).toMatchObject(adopted);
});

it.each(['r&d@firm.in', 'a/b@x.in', 'straße@müller.example', "o'neil@x.co.in", '"', 'a@b', 'two@x.in,three@x.in'])(
  'leaves it to the service whether %s is an e-mail address, where it may be one',
  async (email) => {
    const asked = service.received.length;
    answer(400, { message: 'Validation failed', errors: ['email must be an email'] });
    const input = { mode: 'test' as const, name: 'Asha', email, startedBy: 'asha' };
    const checked = await door.run('checkOnboardInput', { input });
    const isOne = /^[^",]+@[^",]+\.[^",]+$/u.test(email);
    expect(checked.outcome).toBe(isOne ? 'ok' : 'refused');
    const result = await door.run('createExporter', { input });
    expect(result).toMatchObject({ outcome: 'refused', errors: [{ code: 'validation_failed' }] });
    expect(service.received.length - asked).toBe(isOne ? 1 : 0);
  },
);
