/** Activities as Temporal meets them: real PostgreSQL, the sandbox over HTTP, the interceptor of a worker. */
import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  DefaultFailureConverter,
  defaultPayloadConverter,
  TimeoutFailure,
} from '@temporalio/common';
import type { FaultInput, FaultedOperation } from '../../sandbox/faults/fault-schema';
import type { Activities } from '../../src/activities/create-activities';
import { saveExporter } from '../../src/ledger/exporters/exporters';
import { addCredentials, currentCredentials, markValid } from '../../src/ledger/vault/credentials';
import { clientOf } from '../api/support/service';
import { closeAfterAll } from '../support/closing';
import { useTestDatabase } from '../support/postgres';
import { useSandbox } from '../support/sandbox';
import { eventually } from '../support/processes';
import { openActivities, type ActivityStage } from './stage';
import { handIn } from '../../src/ledger/vault/vault';
import { readFailure } from '../../src/workflows/failures';

const SECOND = 1_000;
const ACCOUNT = { dgftUsername: 'meridian.exports', dgftPassword: 'Meridian#2026' };
const IEC = 'AAGCM4521K';

const ledger = useTestDatabase();
const sandbox = useSandbox({
  rateLimits: false,
  activationDelayMs: 0,
  seed: { keys: [{ key: 'dev_key_that_nobody_may_see' }] },
});
let client: ReturnType<typeof clientOf>;
let stage: ActivityStage;
let exporterId: string;

beforeAll(async () => {
  client = clientOf(sandbox.url, { httpTimeoutMs: 2_000 });
  stage = await openActivities(ledger, client.api);
  const customer = await client.api.createCustomer({ name: 'Meridian', email: 'm@example.test', iec: IEC });
  exporterId = customer.id;
  await saveExporter(ledger.pool, await client.api.checkCredentials(exporterId, ACCOUNT), 'test', new Date());
  await ledger.pool.query(
    `INSERT INTO certificates (mode, iec, ebrc_number, exporter_id, detail, asked_at)
     VALUES ('test', $1, 'EB1', $2, '{}', clock_timestamp()), ('test', $1, 'EBSTAGE1', $2, '{}', clock_timestamp())`,
    [IEC, exporterId],
  );
});
afterEach(() => sandbox.clearFaults());
closeAfterAll(async () => {
  await client?.api.close();
  await stage?.close();
});

const account = async () => {
  const found = (await sandbox.state()).accounts.find(({ username }) => username === ACCOUNT.dgftUsername);
  if (!found) throw new Error('no account');
  return found;
};
/** Credentials with this password, as somebody hands them in. @returns their version */
const handedIn = async (password: string) => {
  const secret = { mode: 'test' as const, workflowId: 'w', username: ACCOUNT.dgftUsername, password };
  const secretRef = await handIn(ledger.pool, secret);
  return addCredentials(ledger.pool, stage.deps.vault, { mode: 'test', exporterId, secretRef });
};
const strike = (operation: FaultedOperation, kind: FaultInput['kind'], more: Partial<FaultInput> = {}) =>
  sandbox.addFault({ operation, kind, ...more });
const callsOf = (operation: FaultedOperation) => sandbox.calls({ operation }).length;

type Call = [name: keyof Activities, operation: FaultedOperation, args: () => never];
/** Every read that goes to the service, with what it is called with. */
const READS: Call[] = [
  ['readExporter', 'get-customer', () => ({ exporterId }) as never],
  ['downloadCertificate', 'download-pdf', () => ({ exporterId, eBRCNumber: 'EB1' }) as never],
];

describe.each(READS)('%s', (name, operation, args) => {
  it.each<[FaultInput['kind'], string, number]>([
    ['502-with-code', 'portal_unavailable', 30 * SECOND],
    ['500', 'server_error', 30 * SECOND],
    ['reset-before-accept', 'connection_lost', 5 * SECOND],
  ])('is repeated after %s, as %s', async (fault, type, nextRetryDelay) => {
    strike(operation, fault, { process: false });
    expect(await stage.failure(name, args())).toMatchObject({ type, nonRetryable: false, nextRetryDelay });
  });

  it('waits for a window of the budget after a 429, without counting as a failure', async () => {
    strike(operation, 'status-429');
    const failure = await stage.failure(name, args());
    expect(failure).toMatchObject({ type: 'rate_limited', nextRetryDelay: 45 * SECOND, category: 'BENIGN' });
  });
});

it('waits longer from try to try', async () => {
  const delays: unknown[] = [];
  for (const attempt of [1, 2, 3, 20]) {
    strike('get-customer', '502-with-code');
    delays.push(
      ((await stage.failure('readExporter', { exporterId }, { attempt })) as ApplicationFailure).nextRetryDelay,
    );
  }
  expect(delays).toEqual([30 * SECOND, 60 * SECOND, 120 * SECOND, 900 * SECOND]);
});

it('does not repeat what the service refuses', async () => {
  const nobody = '00000000-0000-4000-8000-000000000000';
  expect(await stage.failure('readExporter', { exporterId: nobody })).toMatchObject({
    type: 'customer_not_found',
    nonRetryable: true,
  });
});

it('heartbeats while the service takes its time', async () => {
  strike('get-customer', 'slow', { delayMs: 900 });
  const { outcome, heartbeats } = stage.begin('readExporter', { exporterId });
  await outcome;
  expect(heartbeats.length).toBeGreaterThanOrEqual(2);
});

describe('a call that is cancelled', () => {
  it('ends at once, as cancelled and not as a failure of the service', async () => {
    strike('get-customer', 'hang');
    const before = callsOf('get-customer');
    const call = stage.begin('readExporter', { exporterId });
    const ended = call.outcome.catch((error: unknown) => error);
    await eventually(() => callsOf('get-customer') > before);
    call.cancel();
    const failure = await ended;
    expect(failure).toBeInstanceOf(CancelledFailure);
    expect(failure).toMatchObject({ cause: { kind: 'cancelled' } });
  });
});

describe('credentials that the portal rejects', () => {
  let version: number;

  beforeEach(async () => {
    version = await handedIn('Old-Secret-1!');
    await markValid(ledger.pool, exporterId, version);
  });
  // The next test begins with credentials that hold.
  afterEach(() => ledger.pool.query(`DELETE FROM credential_versions WHERE exporter_id = $1`, [exporterId]));

  it('fail for good, with the version that was tried; none of the calls behind it logs in again', async () => {
    strike('download-pdf', 'password-expired', { newPassword: 'Changed-2!' });
    const failure = await stage.failure('downloadCertificate', { exporterId, eBRCNumber: 'EB1' });
    expect(failure).toMatchObject({
      type: 'credentials_invalid',
      nonRetryable: true,
      details: [{ kind: 'credentials_invalid', credentialsVersion: version }],
    });
    expect(await currentCredentials(ledger.pool, exporterId)).toMatchObject({ version, state: 'bad' });
    const before = callsOf('download-pdf');
    expect(await stage.failure('downloadCertificate', { exporterId, eBRCNumber: 'EB1' })).toMatchObject({
      type: 'credentials_invalid',
      nonRetryable: true,
    });
    expect(callsOf('download-pdf')).toBe(before);
    Object.assign(await account(), { password: ACCOUNT.dgftPassword });
    await client.api.checkCredentials(exporterId, ACCOUNT);
  });
});

it('lets no secret into a failure or a log: not the key, not a password', async () => {
  const password = 'Wr0ng "secret" & more';
  const version = await handedIn(password);
  strike('check-dgft-credentials', '500');
  const failure = await stage.failure('checkCredentials', { exporterId, version });
  expect(failure).toMatchObject({ type: 'credential_check_failed', nonRetryable: false });
  const result = await stage.run('checkCredentials', { exporterId, version });
  expect(result).toMatchObject({ outcome: 'rejected' });
  const crossing = new DefaultFailureConverter().errorToFailure(failure, defaultPayloadConverter);
  const said = [JSON.stringify(crossing), JSON.stringify(result), ...stage.logs].join('\n');
  expect(said).toContain('credential_check_failed');
  for (const hidden of [password, JSON.stringify(password).slice(1, -1), 'dev_key_that_nobody_may_see']) {
    expect(said).not.toContain(hidden);
  }
  await ledger.pool.query(`DELETE FROM credential_versions WHERE exporter_id = $1`, [exporterId]);
});

describe('a repeat', () => {
  it('of a create whose answer was lost adopts the client that was made', async () => {
    const input = { mode: 'test' as const, name: 'Twice', email: 'twice@example.test', startedBy: 'asha' };
    strike('create-customer', 'accept-then-drop');
    expect(await stage.failure('createExporter', { input })).toMatchObject({
      type: 'connection_lost',
      nonRetryable: false,
    });
    const again = await stage.run('createExporter', { input }, { attempt: 2 });
    expect(again).toMatchObject({ outcome: 'adopted' });
    expect(await stage.run('createExporter', { input })).toEqual(again);
    const made = [...(await sandbox.state()).customers.values()].filter(({ email }) => email === input.email);
    expect(made).toHaveLength(1);
  });

  it('of a download asks the service once', async () => {
    (await account()).certificates.push({
      ...{ eBRCNumber: 'EBSTAGE1', eBRCDate: '10022026', eBRCStatus: 'Issued', brcUtilStatus: '', iec: IEC },
      ...{ irmNumber: '', billNo: '', sbCumInvoiceNumber: '1234567', sbCumInvoiceDate: '03012026' },
      ...{ realisedValueFCC: 10, currencyCode: 'USD', realizationDt: '03012026', requestId: null, serialNo: null },
      ...{ isGstAvailed: 'N', gstInvoiceNo: '', gstInvoiceDate: '', detailsFrom: 0, pdfFrom: 0 },
    });
    const before = callsOf('download-pdf');
    const first = await stage.run('downloadCertificate', { exporterId, eBRCNumber: 'EBSTAGE1' });
    expect(first.sha256).toMatch(/^[0-9a-f]{64}$/u);
    // As after a crash between the file and the ledger.
    await ledger.pool.query(`UPDATE certificates SET archived_at = NULL WHERE ebrc_number = 'EBSTAGE1'`);
    expect(await stage.run('downloadCertificate', { exporterId, eBRCNumber: 'EBSTAGE1' })).toEqual(first);
    expect(await stage.run('downloadCertificate', { exporterId, eBRCNumber: 'EBSTAGE1' })).toEqual(first);
    expect(callsOf('download-pdf') - before).toBe(1);
  });
});

it('distinguishes a defect from a failure of the service: it is logged, and passed on unchanged', async () => {
  const failure = await stage.failure('downloadCertificate', null as never);
  expect(failure).toBeInstanceOf(TypeError);
  expect(failure).not.toBeInstanceOf(ApplicationFailure);
  expect(stage.logs.join('\n')).toContain('activity failed unexpectedly');
});

it('says of a worker that was lost what it means, not what Temporal calls it', () => {
  const lost = new TimeoutFailure('activity Heartbeat timeout', undefined, 'HEARTBEAT');
  const failure = new ActivityFailure('Activity task failed', 'submitPush', '1', 'TIMEOUT', 'worker', lost);
  expect(readFailure(failure)).toMatchObject({ kind: null, message: 'the worker ended or stopped responding' });
  const slow = new TimeoutFailure('activity StartToClose timeout', undefined, 'START_TO_CLOSE');
  expect(readFailure(slow).message).toBe('it did not end in time');
});
