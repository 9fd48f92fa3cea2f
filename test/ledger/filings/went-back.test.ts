/** Runs whose ledger went back, or may have: what they were told to send, and what they make of it. */
import { advance, type Asking } from '../../../src/ledger/filings/advance';
import type { Told } from '../../../src/domain/filing/facts';
import { beginToSend } from '../../../src/ledger/attempts/send';
import { withTransaction } from '../../../src/ledger/pool';
import { createSeenTime, readLedgerTime } from '../../../src/ledger/time';
import { TEST_SETTINGS } from '../../support/settings';
import { useTestDatabase } from '../../support/postgres';
import { verdictsOf, wholeReading } from './in-doubt';
import { decide } from '../../../src/ledger/decisions/decide';
import { irm, knowExporter, listCertificate, made, newRows, readIrms } from './recording';

const database = useTestDatabase((ledger) => knowExporter(ledger));
beforeEach(async () => {
  await readIrms(database, [irm()]);
  await wholeReading(database);
});

let filings = 0;
/** A filing whose run `A` moved it last. */
async function filing({ isNew = false } = {}) {
  filings += 1;
  const reference = `BACK-${filings}`;
  const rows = newRows();
  const filingId = await made(database, reference, rows);
  const step = (run: string, more: Partial<Asking> = {}) =>
    advance(database.pool, {
      ...{ filingId, workflowId: `file/test/${reference}`, run, continues: null, told: null, shared: false },
      ...{ notBegun: false, called: null, failure: null, cancelled: false, settings: TEST_SETTINGS },
      ...{ seen: createSeenTime(), ...more },
    });
  return { filingId, rows, step, first: isNew ? { told: null, decided: null } : await step('A') };
}
/** What a worker saw before the ledger lost a beat. */
async function seenBefore() {
  const seen = createSeenTime();
  seen.note(await readLedgerTime(database.pool, 'test'));
  await lostBeats();
  return seen;
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
    expect(first.decided?.next).toMatchObject({ do: 'submit', n: 1 });
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

  it('is unknown where its beat was lost, also once its number is reached again', async () => {
    const { filingId, step, first } = await filing();
    const { beat, at = 0 } = told(first);
    // The copy was taken a beat before; the next one was raised five minutes later.
    await database.pool.query(
      `UPDATE ledger SET beat = $1, beat_at = to_timestamp(($2::float8 + 300000) / 1000), gaps = jsonb_build_array(jsonb_build_array($2::float8 - 60000, $2::float8 + 300000))`,
      [beat, at],
    );
    expect((await step('A', { told: told(first) })).decided.state).toBe('outcome_unknown');
    expect(await verdictsOf(database, filingId)).toEqual(['unknown']);
    // Its certificate may have been read since, and is not older than the attempt for that.
    const since = 'SELECT FROM attempts WHERE filing_id = $1 AND marked_at <= to_timestamp($2::float8 / 1000)';
    expect((await database.pool.query(since, [filingId, at])).rowCount).toBe(1);
    await database.pool.query(`UPDATE ledger SET beat_at = clock_timestamp(), gaps = '[]'`);
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

describe('a worker that saw a later beat', () => {
  it('makes the attempt unknown of a run that knows nothing of the loss', async () => {
    const { filingId, step } = await filing();
    const seen = await seenBefore();
    expect((await step('B', { seen })).decided.state).toBe('outcome_unknown');
    expect(await verdictsOf(database, filingId)).toEqual(['unknown']);
    expect(await readLedgerTime(database.pool, 'test')).toMatchObject({ whole: false });
  });

  it('sends nothing', async () => {
    const { filingId } = await filing();
    const seen = await seenBefore();
    const time = await readLedgerTime(database.pool, 'test');
    const sender = { sender: 's', payloadHash: 'x', document: null, settleMs: 14_400_000, timeoutMs: 30_000 };
    const refusal = await withTransaction(database.pool, (client) =>
      beginToSend(client, { filingId, n: 1, time, seen, ...sender }),
    );
    expect(refusal).toContain('went back');
    expect(await verdictsOf(database, filingId)).toEqual([]);
    expect(await readLedgerTime(database.pool, 'test')).toMatchObject({ whole: false });
  });

  it('does not check a filing against certificates that may be its own', async () => {
    const { step, rows } = await filing({ isNew: true });
    await listCertificate(database, 'E-OWN', rows[0]?.mapping);
    await wholeReading(database);
    const { decided } = await step('A', { seen: await seenBefore() });
    expect(decided).toMatchObject({ state: 'checking', next: { do: 'wait' } });
    expect(decided.attention).toContain('went back');
    await compared();
    expect((await step('A')).decided).toMatchObject({ state: 'needs_correction' });
  });
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
