import type { FileInput } from '../../src/domain/contracts';
import { openInput } from '../../src/activities/filings/open';
import { saveInput } from '../../src/ledger/filings/inputs';
import { messageOf } from '../../dev/sample-mapping';
import { useTestDatabase } from '../support/postgres';
import { EXPORTER, knowExporter, newRows } from '../ledger/filings/recording';
import { principalOf } from '../support/principals';
import { TEST_SETTINGS } from '../support/settings';

const ledger = useTestDatabase(knowExporter);

let waiting = new Map<'push', number>();
const open = (input: Partial<FileInput>, workflowId = 'file/test/x') =>
  openInput(
    { mode: 'test', pool: ledger.pool, settings: TEST_SETTINGS, queueing: () => Promise.resolve(waiting) },
    { input: { mode: 'test', exporterId: EXPORTER, ...input }, workflowId, run: 'run-1' },
  );
const message = (count = 1, more = {}) => ({ ...messageOf(newRows(count).map(({ mapping }) => mapping)), ...more });
const codes = async (input: Partial<FileInput>) => {
  const opened = await open(input);
  return opened.outcome === 'refused' ? opened.findings.map(({ code }) => code) : opened.outcome;
};
const filing = async (opened: Awaited<ReturnType<typeof open>>) => {
  if (!('filingId' in opened)) throw new Error(JSON.stringify(opened));
  return (await ledger.select('SELECT * FROM filings WHERE filing_id = $1', opened.filingId))[0];
};

it('records a message once, by its content where it has no reference', async () => {
  const sent = message(2);
  const first = await open({ message: sent });
  expect(await filing(first)).toMatchObject({
    channel: 'push',
    declaration: 'Y',
    upload_type: 101,
    run: 'run-1',
    made_by: 'unknown',
  });
  expect(await open({ message: sent })).toEqual({ ...first, outcome: 'standing' });
  expect(await open({ message: sent, reference: 'NAMED' })).toMatchObject({ outcome: 'refused' });
});

it('records an input of the ledger, whose principal is its maker whatever the start claims', async () => {
  const principal = await principalOf(ledger.pool, 'Ravi');
  const rows = newRows();
  const maker = { principalId: principal.principalId, name: 'Ravi' };
  const inputRef = await saveInput(ledger.pool, { rows, sourceKind: 'json', maker });
  expect(await saveInput(ledger.pool, { rows, sourceKind: 'json' })).not.toBe(inputRef);
  const opened = await open({ inputRef, declaration: 'N', madeBy: 'somebody' });
  expect(await filing(opened)).toMatchObject({ made_by: 'Ravi', maker_id: principal.principalId, declaration: 'N' });
});

it('refuses what it cannot read, and says what stands under the reference', async () => {
  const first = await open({ message: message(), reference: 'STANDS' });
  if (!('filingId' in first)) throw new Error('not recorded');
  const refused = await open({ inputRef: 'none', declaration: 'Y', reference: 'STANDS' });
  expect(refused).toMatchObject({
    outcome: 'refused',
    recorded: first.filingId,
    findings: [{ code: 'input_unknown' }],
  });
  expect(await codes({ message: message(), mode: 'live' })).toEqual(['wrong_mode']);
  expect(await codes({ message: message(1, { platformCustomerId: '6f2c1f5e-3c54-4f1e-9b57-0d8e2f0b8f11' }) })).toEqual([
    'exporter_differs',
  ]);
  expect(await codes({ message: message(), declaration: 'N' })).toEqual(['declaration_differs']);
  expect(await codes({ inputRef: await saveInput(ledger.pool, { rows: newRows(), sourceKind: 'json' }) })).toEqual([
    'declaration_missing',
  ]);
  expect(await codes({ message: message(1, { recordResCount: 7 }) })).toEqual(['count_differs']);
  expect(await codes({ message: message(1_000) })).toEqual(['too_many_rows']);
  expect(await codes({})).not.toBe('recorded');
});

it('asks for an exporter that the ledger lacks, and goes on with a filing that is resumed', async () => {
  expect(await open({ message: message(), exporterId: 'nobody' })).toEqual({
    outcome: 'exporter_unknown',
    exporterId: 'nobody',
  });
  const first = await open({ message: message(), reference: 'RESUMED' });
  if (!('filingId' in first)) throw new Error('not recorded');
  expect(await open({ resume: first.filingId })).toEqual({ outcome: 'standing', filingId: first.filingId });
});

it('lets a message name its own duplicates', async () => {
  const sent = message();
  await open({ message: sent, reference: 'ONCE' });
  const allowDuplicate = [{ row: 1, reason: 'equal tranches' }];
  const opened = await open({ message: { ...sent, allowDuplicate }, reference: 'TWICE' });
  expect(await filing(opened)).toMatchObject({ approval: 'duplicate' });
});

it('chooses the channel by columns, rows and the queue', async () => {
  const channelOf = async (count: number, more: Partial<FileInput> = {}, extra = {}) => {
    const rows = newRows(count, { mappedIRMAmountFCC: 10 }).map((row) => ({ ...row, ...extra }));
    const inputRef = await saveInput(ledger.pool, { rows, sourceKind: 'json' });
    const { channel, warnings } = (await filing(await open({ inputRef, declaration: 'Y', ...more }))) ?? {};
    return [channel, ...(warnings as { code: string }[]).map(({ code }) => code)].join(' ');
  };
  expect([await channelOf(1), await channelOf(200), await channelOf(20)]).toEqual(['push', 'bulk', 'push']);
  waiting = new Map([['push', 3]]);
  expect([await channelOf(19), await channelOf(20), await channelOf(20, { channel: 'push' })]).toEqual([
    'push',
    'bulk',
    'push',
  ]);
  waiting = new Map();
  expect(await channelOf(1, { channel: 'push' }, { extra: { 'Sac Code 1': '998311' } })).toBe('bulk bulk_forced');
});
