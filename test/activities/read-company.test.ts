/** Readings of a company: what they store, when they are whole, and what a failed call comes to. */
import { MockActivityEnvironment } from '@temporalio/testing';
import pino from 'pino';
import { ApiError } from '../../src/api/errors/api-error';
import { createActivities } from '../../src/activities/create-activities';
import type { Deps } from '../../src/activities/dependencies';
import type { CompanyRead, ReadCompanyArgs } from '../../src/activities/read-company';
import type { ErrorKind } from '../../src/domain/service/error-kinds';
import { DAY_MS } from '../../src/domain/dates';
import type { CertificateDetailRecord } from '../../src/ledger/certificates/certificates';
import { acknowledgeFinding, listFindings } from '../../src/ledger/findings';
import { saveExporter } from '../../src/ledger/exporters/exporters';
import type { IrmRecord } from '../../src/ledger/exporters/irms';
import { beginReading } from '../../src/ledger/readings';
import { markBad } from '../../src/ledger/vault/credentials';
import { customerRecord, detailOf, EXPORTER, HOUR_MS, IEC, irmRecord, rowsOf, tell } from '../ledger/filed';
import { gatedPool, type Gate } from '../scenes/gated-pool';
import { useTestDatabase } from '../support/postgres';
import { eventually } from '../support/processes';
import { TEST_SETTINGS } from '../support/settings';

const ledger = useTestDatabase();
const NOW = Date.now();
const TODAY = new Date(NOW + 19_800_000).toISOString().slice(0, 10);

/** What the service answers, and what it was asked. */
const service = {
  irms: [] as IrmRecord[],
  unreadIrms: 0,
  certificates: [] as CertificateDetailRecord[],
  unread: 0,
  noList: false,
  fails: {} as Partial<Record<'refreshIrms' | 'fetchDetails', ErrorKind>>,
  asked: [] as { from: string; to: string }[],
  during: () => Promise.resolve(),
};
let poked: string[];

async function fail(operation: 'refreshIrms' | 'fetchDetails') {
  await service.during();
  const kind = service.fails[operation];
  if (kind) throw new ApiError({ kind, operation, message: 'the service says no', cause: undefined });
}

const api = {
  refreshIrms: () => fail('refreshIrms'),
  async *listIrms() {
    yield* await Promise.resolve(service.irms);
    return service.unreadIrms;
  },
  async fetchDetails({ eBRCIssueFromDt: from, eBRCIssueToDt: to }: Record<string, string>) {
    await fail('fetchDetails');
    service.asked.push({ from: from ?? '', to: to ?? '' });
    return { certificates: service.certificates, unread: service.unread, noList: service.noList };
  },
};

let activities = 0;
const way: Gate = { down: false, atCommit: null };

function read(
  what: ReadCompanyArgs['what'] = 'both',
  { activityId = `read-${(activities += 1)}`, ...more }: Partial<ReadCompanyArgs> & { activityId?: string } = {},
) {
  const deps = {
    ...{ mode: 'test', pool: gatedPool(ledger.pool, way), api, clock: () => NOW, logger: pino({ level: 'silent' }) },
    ...{
      settings: TEST_SETTINGS,
      poke: (id: string) => Promise.resolve(void poked.push(id)),
      pokeOrStart: () => Promise.resolve(),
    },
  } as unknown as Deps;
  const { readCompany } = createActivities(deps);
  const args: ReadCompanyArgs = { exporterId: EXPORTER, what, ...more };
  return new MockActivityEnvironment({ activityId }).run<[], CompanyRead, () => Promise<CompanyRead>>(() =>
    readCompany(args),
  );
}

const readings = () =>
  ledger.select(
    `SELECT whole, irms_whole AS irms, problem, ended_at IS NOT NULL AS ended, iec FROM readings ORDER BY reading_id`,
  );
const findings = () => listFindings(ledger.pool, { mode: 'test' });
const MINE = rowsOf({})[0]!.mapping;
const certificate = (number: string, more: Partial<CertificateDetailRecord> = {}) => ({
  ...detailOf(number, MINE, new Date(NOW)),
  iec: IEC,
  ...more,
});

beforeEach(async () => {
  await ledger.pool.query(
    'TRUNCATE exporters, filings, findings, readings, certificates, irms, irm_changes, attempts CASCADE',
  );
  Object.assign(service, {
    irms: [irmRecord(10_000)],
    unreadIrms: 0,
    certificates: [],
    unread: 0,
    noList: false,
    fails: {},
    asked: [],
  });
  service.during = () => Promise.resolve();
  poked = [];
  await saveExporter(ledger.pool, customerRecord(EXPORTER), 'test', new Date(NOW));
});

it('reads the past at first, and afterwards from the day before the last whole reading', async () => {
  service.certificates = [certificate('EB1')];
  expect(await read()).toMatchObject({
    state: 'read',
    whole: true,
    irmsWhole: true,
    problem: null,
    failure: null,
    irmCount: 1,
  });
  expect(service.asked.length).toBe(Math.ceil((TEST_SETTINGS.historyMs / DAY_MS + 1) / 89));
  service.asked = [];
  expect(await read('certificates')).toMatchObject({ whole: true, irmsWhole: null, read: { to: TODAY } });
  const [only, ...more] = service.asked;
  expect(more).toEqual([]);
  const day = (text = '') => Date.UTC(Number(text.slice(4)), Number(text.slice(2, 4)) - 1, Number(text.slice(0, 2)));
  expect(day(only?.to) - day(only?.from)).toBe(DAY_MS);
  expect(await ledger.select('SELECT ebrc_number AS n, iec FROM certificates')).toEqual([{ n: 'EB1', iec: IEC }]);
});

it('learns the IEC from the IRMs, and reads its certificates at once', async () => {
  await ledger.pool.query('UPDATE exporters SET iec = NULL, iec_source = NULL');
  expect(await read()).toMatchObject({ state: 'read', whole: true });
  expect(await readings()).toMatchObject([
    { iec: `exporter:${EXPORTER}`, irms: true },
    { iec: IEC, whole: true },
  ]);
  expect(await ledger.select('SELECT iec, iec_source FROM exporters')).toEqual([{ iec: IEC, iec_source: 'irms' }]);
});

it('says so where no IEC is known', async () => {
  await ledger.pool.query('UPDATE exporters SET iec = NULL, iec_source = NULL');
  service.irms = [irmRecord(10_000, null)];
  expect(await read()).toMatchObject({
    state: 'read',
    whole: false,
    problem: expect.stringContaining('IEC') as string,
  });
});

describe('a failed call', () => {
  it('is recorded and answered, not thrown', async () => {
    service.fails = { fetchDetails: 'server_error' };
    const failure = { kind: 'server_error', message: 'the service says no' };
    expect(await read()).toMatchObject({ state: 'failed', whole: false, irmsWhole: true, failure });
    expect(await readings()).toMatchObject([
      { irms: true, problem: null },
      { whole: false, problem: 'server_error: the service says no' },
    ]);
    service.fails = {};
    expect(await read('certificates')).toMatchObject({ state: 'read', whole: true });
  });

  it('of the IRMs leaves the certificates to be read, unless the client can make no call', async () => {
    service.fails = { refreshIrms: 'portal_unavailable' };
    expect(await read()).toMatchObject({
      state: 'failed',
      whole: true,
      irmsWhole: false,
      failure: { kind: 'portal_unavailable' },
    });
    service.asked = [];
    service.fails = { refreshIrms: 'activation_pending' };
    expect(await read()).toMatchObject({ state: 'failed', whole: false, failure: { kind: 'activation_pending' } });
    expect(service.asked).toEqual([]);
  });

  it('with credentials that are known to be bad is none: nothing is sent', async () => {
    await markBad(ledger.pool, EXPORTER, 0, 'account_locked');
    service.during = () => Promise.reject(new Error('it was called'));
    expect(await read()).toMatchObject({ state: 'failed', failure: { kind: 'account_locked', credentialsVersion: 1 } });
  });

  it('that was cancelled is thrown, and the next reading begins at once', async () => {
    service.fails = { fetchDetails: 'cancelled' };
    await expect(read('certificates')).rejects.toThrow('the service says no');
    service.fails = {};
    expect(await read('certificates')).toMatchObject({ state: 'read', whole: true });
  });
});

describe('is whole', () => {
  const isNot = async (problem: RegExp) =>
    expect(await read('certificates')).toMatchObject({
      ...{ state: 'read', whole: false, read: { whole: false }, problem: expect.stringMatching(problem) as string },
    });

  it('without entries that cannot be read, name another IEC, or no document', async () => {
    service.unread = 1;
    await isNot(/of its entries cannot be read/u);
    service.unread = 0;
    service.certificates = [certificate('EB1', { iec: 'BBGCM4521K' })];
    await isNot(/name another IEC/u);
    service.certificates = [certificate('EB1', { sbCumInvoiceNumber: null, billNo: ' ' })];
    await isNot(/cannot be read/u);
    expect(await readings()).toMatchObject([{ whole: false }, { whole: false }, { whole: false }]);
  });

  it('with each certificate that was listed before, or whose absence somebody has acknowledged', async () => {
    service.certificates = [certificate('EB1'), certificate('EB2')];
    await read('certificates');
    service.certificates = [certificate('EB1')];
    await isNot(/lacks 1 certificate that it listed before: EB2/u);
    const [found] = await findings();
    expect(found).toMatchObject({ kind: 'ours_not_theirs', eBRCNumber: 'EB2' });
    await acknowledgeFinding(ledger.pool, { mode: 'test', id: found?.id ?? '', by: 'ravi', note: 'cancelled' });
    expect(await read('certificates')).toMatchObject({ whole: true, problem: null });
    service.certificates = [certificate('EB1'), certificate('EB2')];
    await read('certificates');
    expect(
      (await listFindings(ledger.pool, { mode: 'test', all: true })).every(({ closedAt }) => closedAt !== null),
    ).toBe(true);
  });

  it('by words for "nothing", or an empty body, only where nothing was listed before', async () => {
    service.noList = true;
    expect(await read('certificates')).toMatchObject({ whole: true });
    Object.assign(service, { noList: false, certificates: [certificate('EB1')] });
    await read('certificates');
    Object.assign(service, { noList: true, certificates: [] });
    await isNot(/lacks 1 certificate/u);
    const [found] = await findings();
    await acknowledgeFinding(ledger.pool, { mode: 'test', id: found?.id ?? '', by: 'ravi', note: 'cancelled' });
    await isNot(/gave no list/u);
  });

  it('up to today alone: days that somebody asks for are read, and are not it', async () => {
    const days = { from: '2024-01-01', to: '2024-02-01' };
    expect(await read('certificates', { days })).toMatchObject({
      state: 'read',
      whole: false,
      problem: null,
      read: days,
    });
    service.asked = [];
    await read('certificates');
    expect(service.asked.length).toBeGreaterThan(1);
  });
});

describe('one at a time', () => {
  it('is made of a company; who finds another under way is told', async () => {
    let second: CompanyRead | undefined;
    service.during = async () => {
      service.during = () => Promise.resolve();
      second = await read('certificates');
    };
    expect(await read('certificates')).toMatchObject({ state: 'read', whole: true });
    expect(second).toMatchObject({ state: 'under_way', whole: null });
  });

  it('is taken over ten minutes after it began, and then proves nothing', async () => {
    const company = { mode: 'test', iec: IEC, exporterId: EXPORTER } as const;
    service.during = async () => {
      service.during = () => Promise.resolve();
      await ledger.pool.query(`UPDATE readings SET began_at = clock_timestamp() - interval '10 min 1 s'`);
      expect(await beginReading(ledger.pool, company, 'another')).not.toBeNull();
    };
    expect(await read('certificates')).toMatchObject({ state: 'failed', whole: false });
    expect(await readings()).toMatchObject([{ whole: null, ended: true }, { ended: false }]);
  });

  it('is taken over by the next try of its activity at once: its worker was lost', async () => {
    let second: CompanyRead | undefined;
    service.during = async () => {
      service.during = () => Promise.resolve();
      second = await read('certificates', { activityId: 'lost' });
    };
    expect(await read('certificates', { activityId: 'lost' })).toMatchObject({ state: 'failed', whole: false });
    expect(second).toMatchObject({ state: 'read', whole: true });
  });
});

it('ends once the ledger is back, where it was away at its end', async () => {
  service.during = () => {
    way.down = true;
    return Promise.resolve();
  };
  await expect(read('irms')).rejects.toThrow('ECONNREFUSED');
  expect(await readings()).toMatchObject([{ ended: false }]);
  way.down = false;
  await eventually(async () => (await readings())[0]?.['ended'] === true);
  service.during = () => Promise.resolve();
  expect(await read('irms')).toMatchObject({ state: 'read', irmsWhole: true });
});

describe('what it changes', () => {
  const filed = () => {
    const rows = [{ mappedIRMAmountFCC: 8_000, becomes: { certificate: 'EB1' } }];
    return tell(ledger, { reference: 'R', madeAt: new Date(NOW - 3 * HOUR_MS), hours: 1, rows });
  };
  const found = async () => (await findings()).map(({ kind, amount, irmNumber }) => [kind, amount, irmNumber]);

  it('is acted on: an IRM with certificates on it that is missing, cancelled or cut is a finding until it is not', async () => {
    await read('irms');
    await filed();
    service.irms = [{ ...irmRecord(10_000), irmNumber: 'OTHER' }];
    await read('irms');
    expect(await found()).toEqual([['irm_missing', '8000', MINE.irmNumber]]);
    service.irms = [{ ...irmRecord(2_000), irmStatus: 'Cancelled' }];
    await read('irms');
    expect(await found()).toEqual([['irm_cancelled', '8000', MINE.irmNumber]]);
    service.irms = [{ ...irmRecord(0), remittanceFCCAmount: 7_999 }];
    await read('irms');
    expect(await found()).toEqual([['irm_reduced', '8000', MINE.irmNumber]]);
    service.irms = [irmRecord(2_000)];
    await read('irms');
    expect(await found()).toEqual([]);
  });

  it('is nothing where the list of IRMs is not whole, or empty although it was not', async () => {
    await read('irms');
    await filed();
    Object.assign(service, { irms: [{ ...irmRecord(10_000), irmNumber: 'OTHER' }], unreadIrms: 1 });
    expect(await read('irms')).toMatchObject({ state: 'read', irmsWhole: false });
    Object.assign(service, { irms: [], unreadIrms: 0 });
    expect(await read('irms')).toMatchObject({ irmsWhole: false });
    expect(await found()).toEqual([]);
  });

  it('is told to the other filings of the company that are in doubt', async () => {
    await tell(ledger, { reference: 'LOST', madeAt: new Date(NOW - HOUR_MS), rows: [{ sbCumInvoiceNumber: '1' }] });
    const own = await tell(ledger, {
      reference: 'OWN',
      madeAt: new Date(NOW - HOUR_MS),
      rows: [{ sbCumInvoiceNumber: '2' }],
    });
    await tell(ledger, {
      reference: 'WAITS',
      madeAt: new Date(NOW),
      rows: [{ sbCumInvoiceNumber: '3' }],
      unsent: true,
    });
    await ledger.pool.query(`UPDATE filings SET approval = 'policy' WHERE reference = 'WAITS'`);
    await read('both', { filingId: own });
    expect(poked).toEqual(['file/test/LOST']);
    // What waits for persons because of a certificate goes on once it is another row's; other approvals do not.
    poked = [];
    await ledger.pool.query(`UPDATE filings SET state = 'awaiting_approval' WHERE reference = 'LOST'`);
    await read('both', { filingId: own });
    expect(poked).toEqual(['file/test/LOST']);
  });
});
