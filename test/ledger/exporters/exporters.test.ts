import { randomUUID } from 'node:crypto';
import {
  exportersAfter,
  findExporter,
  getExporter,
  listExporters,
  needExporter,
  noteIrmsRefreshed,
  saveExporter,
  type CustomerRecord,
} from '../../../src/ledger/exporters/exporters';
import { useTestDatabase } from '../../support/postgres';

const database = useTestDatabase();

const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 6, minute));

function customer(change: Partial<CustomerRecord> = {}): CustomerRecord {
  const id = change.id ?? randomUUID();
  return {
    id,
    name: 'Asha Exports',
    email: `${id}@example.test`,
    companyName: null,
    iec: ' aagcm4521k ',
    address: null,
    isActive: true,
    hasDgftCredentials: true,
    dgftApiStatus: { state: 'activation_pending', activatesAt: at(50).toISOString(), sharedCredentialsLikely: true },
    ...change,
  };
}

const save = (record: CustomerRecord, minute = 0, mode: 'test' | 'live' = 'test') =>
  saveExporter(database.pool, record, mode, at(minute));

it('keeps what the service returned', async () => {
  const record = customer();
  expect(await save(record)).toEqual({
    exporterId: record.id,
    partyId: expect.any(Number) as number,
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
