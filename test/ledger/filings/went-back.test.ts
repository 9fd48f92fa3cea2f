/** Runs whose ledger went back, or may have: what they were told to send, and what they make of it. */
import { advance, type Asking } from '../../../src/ledger/filings/advance';
import type { Told } from '../../../src/domain/filing/facts';
import { TEST_SETTINGS } from '../../support/settings';
import { useTestDatabase } from '../../support/postgres';
import { verdictsOf, wholeReading } from './in-doubt';
import { decide } from '../../../src/ledger/decisions/decide';
import { irm, knowExporter, made, newRows, readIrms } from './recording';

const database = useTestDatabase((ledger) => knowExporter(ledger));
beforeEach(async () => {
  await readIrms(database, [irm()]);
  await wholeReading(database);
});

let filings = 0;
/** A filing whose run `A` moved it last. */
async function filing() {
  filings += 1;
  const reference = `BACK-${filings}`;
  const filingId = await made(database, reference, newRows());
  const step = (run: string, more: Partial<Asking> = {}) =>
    advance(database.pool, {
      ...{ filingId, workflowId: `file/test/${reference}`, run, continues: null, told: null, shared: false },
      ...{ notBegun: false, called: null, failure: null, cancelled: false, settings: TEST_SETTINGS, ...more },
    });
  return { filingId, step, first: await step('A') };
}
const promoted = async () => {
  await database.pool.query(`UPDATE ledger SET branch = '/' || left(gen_random_uuid()::text, 8)`);
};
/** The comparison with Temporal found everything. */
const compared = () => database.pool.query('UPDATE ledger SET epoch = server_epoch()');
const lostBeats = () => database.pool.query('UPDATE ledger SET beat = beat - 1');
const told = (first: { told: Told | null }): Told => first.told ?? { n: 0, epoch: '', beat: 0 };

afterEach(compared);

describe('what a run was told to send and the ledger lacks', () => {
  it('was not begun where the ledger did not go back: it is told again', async () => {
    const { filingId, step, first } = await filing();
    expect(first.decided.next).toMatchObject({ do: 'submit', n: 1 });
    expect((await step('A', { told: told(first) })).decided.next).toMatchObject({ do: 'submit', n: 1 });
    expect(await verdictsOf(database, filingId)).toEqual([]);
  });

  it.each([
    ['another server', promoted],
    ['a lower beat', lostBeats],
  ])('is unknown where the ledger went back (%s), once', async (_, goBack) => {
    const { filingId, step, first } = await filing();
    await goBack();
    const second = await step('A', { told: told(first), called: 'submit' });
    expect(second.decided.state).toBe('outcome_unknown');
    await step('A', { told: second.told });
    await compared();
    await step('A', { told: second.told });
    expect(await verdictsOf(database, filingId)).toEqual(['unknown']);
  });

  it('is told again where the only sender says that it did not begin', async () => {
    const { filingId, step, first } = await filing();
    await promoted();
    const second = await step('A', { told: told(first), called: 'submit', notBegun: true });
    // It may have to wait before it is told again, while the ledger is compared or a call cannot be made.
    await step('A', { told: second.told, called: 'wait' });
    expect(await verdictsOf(database, filingId)).toEqual([]);
    await compared();
    await lostBeats();
    await step('A', { told: second.told, called: 'wait' });
    expect(await verdictsOf(database, filingId)).toEqual(['unknown']);
    await compared();
    // Another run may have been told to send too.
    const other = await filing();
    await promoted();
    await other.step('A', { told: told(other.first), called: 'submit', notBegun: true, shared: true });
    expect(await verdictsOf(database, other.filingId)).toEqual(['unknown']);
  });

  it('stays with the run until it could be inserted, also once the beat has caught up', async () => {
    const { filingId, step, first } = await filing();
    await database.pool.query(`UPDATE filings SET iec = NULL WHERE filing_id = $1`, [filingId]);
    await database.pool.query(`UPDATE exporters SET iec = NULL`);
    await lostBeats();
    const second = await step('A', { told: told(first) });
    expect(second.told).toMatchObject({ n: 1, lost: true });
    await database.pool.query('UPDATE ledger SET beat = beat + 10');
    await database.pool.query(`UPDATE exporters SET iec = 'AAGCM4521K'`);
    await database.pool.query(`UPDATE filings SET iec = 'AAGCM4521K' WHERE filing_id = $1`, [filingId]);
    expect((await step('A', { told: second.told })).decided.state).toBe('outcome_unknown');
    expect(await verdictsOf(database, filingId)).toEqual(['unknown']);
  });
});

it('nobody abandons it before its run has looked', async () => {
  const { filingId, step, first } = await filing();
  const abandon = () => decide(database.pool, { filingId, kind: 'abandon', by: { name: 'asha' } }, TEST_SETTINGS);
  await promoted();
  await compared();
  expect(await abandon()).toMatchObject({ outcome: 'refused', code: 'abandon_refused' });
  expect((await step('A', { told: told(first), called: 'submit' })).decided.state).toBe('outcome_unknown');
  const other = await filing();
  await promoted();
  await other.step('A');
  const abandoned = { filingId: other.filingId, kind: 'abandon', by: { name: 'asha' } } as const;
  expect(await decide(database.pool, abandoned, TEST_SETTINGS)).toMatchObject({ outcome: 'carried_out' });
});

describe('a run that was told nothing', () => {
  it('makes the next attempt unknown where another one moved the filing last, in another epoch', async () => {
    const { filingId, step } = await filing();
    await promoted();
    expect((await step('B')).decided.state).toBe('outcome_unknown');
    expect(await verdictsOf(database, filingId)).toEqual(['unknown']);
  });

  it('asks nobody where the ledger is the same, or its own chain moved it last, however often it continued', async () => {
    const same = await filing();
    await same.step('B');
    expect(await verdictsOf(database, same.filingId)).toEqual([]);
    const { filingId, step } = await filing();
    await promoted();
    await step('A');
    await step('A2', { continues: 'A' });
    await step('A3', { continues: 'A2' });
    await promoted();
    await step('A4', { continues: 'A3' });
    await step('A5', { continues: 'A4' });
    await compared();
    expect((await step('A5', { continues: 'A4' })).decided.next).toMatchObject({ do: 'submit', n: 1 });
    expect(await verdictsOf(database, filingId)).toEqual([]);
  });
});
