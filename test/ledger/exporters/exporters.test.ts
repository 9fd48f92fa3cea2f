import { randomUUID } from 'node:crypto';
import {
  exportersAfter,
  findExporter,
  getExporter,
  learnIec,
  listExporters,
  needExporter,
  noteIrmsRefreshed,
  saveExporter,
  type CustomerRecord,
} from '../../../src/ledger/exporters/exporters';
import { withTransaction } from '../../../src/ledger/pool';
import { customerRecord, irmRecord, readIrms, tell } from '../filed';
import { useTestDatabase } from '../../support/postgres';
import { countIrms, heldIrms, listIrms, type IrmRecord } from '../../../src/ledger/exporters/irms';

const database = useTestDatabase();

const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 6, minute));

function customer(change: Partial<CustomerRecord> = {}): CustomerRecord {
  const status = { state: 'activation_pending', activatesAt: at(50).toISOString(), sharedCredentialsLikely: true };
  const record = customerRecord(change.id ?? randomUUID());
  return { ...record, iec: ' aagcm4521k ', dgftApiStatus: status, ...change };
}

const save = (record: CustomerRecord, minute = 0, mode: 'test' | 'live' = 'test') =>
  saveExporter(database.pool, record, mode, at(minute));

it('keeps what the service returned', async () => {
  const record = customer();
  expect(await save(record)).toEqual({
    exporterId: record.id,
    mode: 'test',
    name: 'Asha Exports',
    email: record.email,
    companyName: null,
    iec: 'AAGCM4521K',
    iecSource: 'client',
    statedIec: 'AAGCM4521K',
    address: null,
    isActive: true,
    hasCredentials: true,
    apiState: 'activation_pending',
    activatesAt: at(50).toISOString(),
    sharedCredentialsLikely: true,
    requiresApproval: false,
    irmsRefreshedAt: null,
    readAt: at(0),
    state: 'activation_pending',
  });
});

it('keeps known values that an answer leaves out, as the list does with dgftApiStatus', async () => {
  const record = customer();
  await save(record);
  const listed = await save({ ...record, name: 'Asha Exports Ltd', dgftApiStatus: null, isActive: null }, 1);
  expect(listed).toMatchObject({ name: 'Asha Exports Ltd', apiState: 'activation_pending', isActive: true });
  const ready = { state: 'ready', activatesAt: null, sharedCredentialsLikely: null };
  const after = await save({ ...record, dgftApiStatus: ready }, 2);
  expect(after).toMatchObject({ apiState: 'ready', activatesAt: null, sharedCredentialsLikely: true });
});

it('is not overwritten by an earlier answer', async () => {
  const record = customer();
  await save({ ...record, isActive: true }, 5);
  expect(await save({ ...record, isActive: false }, 4)).toMatchObject({ isActive: true, readAt: at(5) });
});

it('accepts an unreadable time and an unknown word', async () => {
  const odd = { state: 'being_arranged', activatesAt: 'tomorrow', sharedCredentialsLikely: null };
  expect(await save(customer({ dgftApiStatus: odd }))).toMatchObject({ apiState: 'being_arranged', activatesAt: null });
});

it('finds an exporter by id or e-mail within its mode, the latest where an e-mail was used again', async () => {
  const first = customer({ email: 'Again@example.test' });
  await save(first, 1);
  const second = customer({ email: 'again@example.test' });
  await save(second, 2);
  await save(customer({ email: 'again@example.test' }), 9, 'live');
  const { pool } = database;
  expect(await findExporter(pool, 'test', ' AGAIN@example.test')).toMatchObject({ exporterId: second.id });
  expect(await findExporter(pool, 'test', first.id)).toMatchObject({ exporterId: first.id });
  expect(await findExporter(pool, 'live', first.id)).toBeNull();
});

it('lists a mode whole and page by page', async () => {
  const { pool } = database;
  const all = await listExporters(pool, 'test');
  const paged: string[] = [];
  for (let after = ''; ;) {
    const page = await exportersAfter(pool, { mode: 'test', after, limit: 2 });
    paged.push(...page.map(({ exporterId }) => exporterId));
    if (page.length < 2) break;
    after = page[1]?.exporterId ?? '';
  }
  expect(paged).toEqual(all.map(({ exporterId }) => exporterId).sort());
});

it('notes the latest refresh', async () => {
  const record = customer();
  await save(record);
  await noteIrmsRefreshed(database.pool, record.id, at(7));
  await noteIrmsRefreshed(database.pool, record.id, at(6));
  expect(await getExporter(database.pool, record.id)).toMatchObject({ irmsRefreshedAt: at(7) });
});

it('reports what to do about an unknown exporter', async () => {
  await expect(needExporter(database.pool, 'nobody')).rejects.toThrow(/nobody is not in this ledger.*DATABASE_URL/u);
});

const learn = (args: Parameters<typeof learnIec>[1]) =>
  withTransaction(database.pool, (client) => learnIec(client, args));

describe('the IEC of an exporter', () => {
  const [ENTERED, SHOWN] = ['AAGCM4521K', 'BBGCM4521K'];
  const iecOf = async (exporterId: string) => (await getExporter(database.pool, exporterId))?.iec;
  const differences = (exporterId: string) =>
    database.select(
      `SELECT ours->>'iec' AS ours, theirs->>'iec' AS theirs FROM findings WHERE kind = 'iec_differs' AND exporter_id = $1 AND closed_at IS NULL`,
      exporterId,
    );

  it('is that of its IRMs, whatever was entered for it before or is later', async () => {
    const { exporterId } = await save(customer());
    expect(await learn({ exporterId, iec: SHOWN, source: 'irms' })).toBe('learned');
    expect(await learn({ exporterId, iec: ` ${SHOWN.toLowerCase()} `, source: 'irms' })).toBe('known');
    await save({ ...customer({ id: exporterId }), iec: ENTERED }, 2);
    expect(await iecOf(exporterId)).toBe(SHOWN);
    expect(await differences(exporterId)).toEqual([{ ours: SHOWN, theirs: ENTERED }]);
    // Entered as it is, nothing differs any more.
    await save({ ...customer({ id: exporterId }), iec: SHOWN }, 3);
    expect(await differences(exporterId)).toEqual([]);
  });

  it('is not that of a status record where another one has shown another', async () => {
    const { exporterId } = await save({ ...customer(), iec: null });
    expect(await learn({ exporterId, iec: ENTERED, source: 'status' })).toBe('learned');
    expect(await learn({ exporterId, iec: SHOWN, source: 'status' })).toBe('differs');
    expect(await iecOf(exporterId)).toBe(ENTERED);
  });

  it('stays that of its held rows: another one is refused with a finding', async () => {
    const { exporterId } = await save(customer());
    const rows = [{ becomes: { certificate: 'EB-HELD' } }];
    await tell(database, { reference: 'HELD', madeAt: at(0), hours: 1, rows, exporterId, iec: ENTERED });
    expect(await learn({ exporterId, iec: SHOWN, source: 'irms' })).toBe('differs');
    expect([await iecOf(exporterId), await differences(exporterId)]).toEqual([
      ENTERED,
      [{ ours: ENTERED, theirs: SHOWN }],
    ]);
  });
});

describe('IRMs of an exporter', () => {
  let exporterId: string;
  /** Every exporter has its own: the IRMs of one IEC's clients are held together. */
  let iecCode: string;
  let exporters = 0;

  beforeEach(async () => {
    exporterId = randomUUID();
    iecCode = `AAGCM${String((exporters += 1)).padStart(4, '0')}K`;
    await saveExporter(database.pool, { ...customerRecord(exporterId), iec: null }, 'test', new Date());
  });

  const RECORD: IrmRecord = {
    ...{ ...irmRecord(250_000), irmNumber: 'HDFCIRM1', remittanceFCCAmount: 250_000, irmUtilizedAmt: 0 },
    ...{ ifscCode: 'HDFC0000060', remittanceAdCode: '0510060', purposeOfRemittance: 'P0103' },
    ...{ irmIssueDate: '12052026', remittanceDate: '11052026' },
  };

  const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 6, minute));
  const save = (records: Partial<IrmRecord>[], minute: number, whole = false) =>
    readIrms(
      database,
      records.map((record) => ({ ...RECORD, iecCode, ...record })),
      at(minute),
      { exporterId, whole },
    );
  const held = (irmKey = 'HDFCIRM1', of = exporterId) =>
    heldIrms(database.pool, { mode: 'test', iec: iecCode, exporterId: of }, [irmKey]);
  const history = () =>
    database.select(
      'SELECT what, available::text AS available, seen_at AS "seenAt" FROM irm_changes WHERE exporter_id = $1 ORDER BY change_id',
      exporterId,
    );

  it('keeps each remittance by its full key: the number alone recurs', async () => {
    const result = await save(
      [{}, { remittanceAdCode: '6390104' }, { ifscCode: 'ICIC0000104' }, { irmIssueDate: '13052026' }, {}],
      0,
    );
    expect(result).toEqual({ count: 4, changed: [] });
    expect(await countIrms(database.pool, [exporterId])).toEqual(new Map([[exporterId, 4]]));
    expect(await held()).toHaveLength(4);
  });

  it('reads ISO dates as the Indian day, so that both forms are one remittance', async () => {
    await save([{}], 0);
    await save([{ irmIssueDate: '2026-05-12T00:00:00.000Z', remittanceDate: '2026-05-10T18:30:00.000Z' }], 1);
    const rows = await listIrms(database.pool, exporterId);
    expect(rows).toMatchObject([{ issueDate: '12052026', remittanceDate: '11052026' }]);
  });

  it('keeps a record whose date nobody can read, and claims no date for it', async () => {
    await save([{ irmIssueDate: 'soon', remittanceDate: null }, { irmIssueDate: null }], 0);
    expect((await held()).map(({ issueDate }) => issueDate)).toEqual([null, null]);
  });

  it('keeps the history of balances, and writes nothing for a list that is the same', async () => {
    await save([{}], 0);
    expect(await save([{}], 1)).toEqual({ count: 1, changed: [] });
    const { changed } = await save([{ irmAvailableAmt: 241_999.9, irmUtilizedAmt: 8_000.1 }], 2);
    expect(changed).toEqual([{ irmNumber: 'HDFCIRM1', what: ['balance'] }]);
    expect(await history()).toEqual([
      { what: 'first_seen', available: '250000', seenAt: at(0) },
      { what: 'balance', available: '241999.9', seenAt: at(2) },
    ]);
  });

  it.each([
    ['amended', { remittanceFCCAmount: 200_000 }],
    ['amended', { purposeOfRemittance: 'P0102' }],
    ['amended', { remittanceFCC: 'EUR' }],
    ['cancelled', { irmStatus: 'Cancelled' }],
    ['cancelled', { irmStatus: 'C' }],
    ['status', { irmStatus: 'utilised' }],
  ])('notices an IRM that was %s (%j)', async (what, change) => {
    await save([{}], 0);
    const { changed } = await save([change], 1);
    expect(changed.map((each) => each.what)).toEqual([[what]]);
  });

  it('does not let an older reading overwrite a newer one', async () => {
    await save([{ irmAvailableAmt: 100 }], 5);
    expect(await save([{ irmAvailableAmt: 250_000 }], 4)).toEqual({ count: 1, changed: [] });
    expect((await held())[0]).toMatchObject({ available: '100', readAt: at(5).getTime() });
  });

  it('gives the balance rules exact amounts, and works out what the service left out', async () => {
    await save([{ remittanceFCCAmount: 84_300.55, irmAvailableAmt: null, irmUtilizedAmt: 300.05 }], 0);
    expect(await held()).toEqual([
      {
        irmNumber: 'HDFCIRM1',
        irmAdCode: '0510060',
        irmIfscCode: 'HDFC0000060',
        issueDate: '12052026',
        remittanceDate: '11052026',
        currency: 'USD',
        purpose: 'P0103',
        amount: '84300.55',
        available: '84000.5',
        status: 'fresh',
        readAt: at(0).getTime(),
        irmKey: 'HDFCIRM1',
        missing: false,
      },
    ]);
  });

  it('takes thousands at once, also when two readings come together', async () => {
    const many = Array.from({ length: 2_500 }, (_unused, index) => ({ irmNumber: `MANY${index}` }));
    await Promise.all([save(many, 0), save(many, 0)]);
    expect(await countIrms(database.pool, [exporterId])).toEqual(new Map([[exporterId, 2_500]]));
    expect(await history()).toHaveLength(2_500);
  });

  it('holds the IRMs of a company once, as the client that read them last has them', async () => {
    await learn({ exporterId, iec: iecCode, source: 'irms' });
    await save([{ irmAvailableAmt: 9_000 }], 1);
    const first = exporterId;
    const second = { ...customerRecord(randomUUID()), iec: iecCode };
    await saveExporter(database.pool, second, 'test', new Date());
    exporterId = second.id;
    await save([{ irmNumber: 'hdfc irm1', irmAvailableAmt: 8_000 }, { irmNumber: 'OTHER' }], 2);
    for (const each of [first, second.id]) {
      expect(await held('HDFCIRM1', each)).toMatchObject([{ available: '8000' }]);
    }
  });

  it('marks as missing what a whole list lacks, with its balance gone, and lists it again where it comes back', async () => {
    await save([{}, { irmNumber: 'STAYS' }], 0, true);
    const { changed } = await save([{ irmNumber: 'STAYS' }], 1, true);
    expect(changed).toEqual([{ irmNumber: 'HDFCIRM1', what: ['missing'] }]);
    expect(await held()).toMatchObject([{ missing: true, available: null }]);
    expect(await held('STAYS')).toMatchObject([{ missing: false }]);
    expect((await save([{ irmNumber: 'STAYS' }], 2, true)).changed).toEqual([]);
    await save([{}], 3);
    expect(await held()).toMatchObject([{ missing: false, available: '250000' }]);
    expect((await history()).map(({ what }) => what)).toEqual(['first_seen', 'first_seen', 'missing', 'balance']);
  });

  it('takes a number whose bank has merged for one IRM: its old record is missing, and only the new one counts', async () => {
    await save([{}], 0, true);
    await save([{ remittanceAdCode: '6390104', ifscCode: 'ICIC0000104' }], 1, true);
    expect(await held()).toMatchObject([{ irmAdCode: '6390104', missing: false }]);
  });

  it('does not take a missing remittance amount for 0', async () => {
    const unknown = { remittanceFCCAmount: null, irmAvailableAmt: null };
    await save([unknown, { ...unknown, irmIssueDate: '13052026', irmAvailableAmt: 500 }], 0);
    expect(await held()).toMatchObject([
      { amount: null, available: null },
      { amount: null, available: '500' },
    ]);
  });
});
