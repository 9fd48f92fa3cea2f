/**
 * Activities that call the service and record what follows for the filing in one transaction: a retried one returns
 * what the first try returned, and a late one, whose run has gone on without it, moves nothing.
 */
import type { FilingApi } from '../../src/api/client-types';
import type { Irm } from '../../src/api/schemas/irms';
import { needFiling } from '../../src/ledger/filings/filings';
import { createOrRead, readIdentity } from '../../src/ledger/sends/sends';
import { attemptSteps } from '../ledger/submissions/attempt-support';
import { EXPORTER, irmRecord, knowExporter, move } from '../ledger/filing-support';
import { createTestDatabase, type TestDatabase } from '../support/postgres';
import { openDoor, type ActivityDoor } from './door';
import { heldOf, makeTwice } from './twice';

let ledger: TestDatabase;
let door: ActivityDoor;
/** The balance of the exporter's one IRM, as the service has it. */
let available = 10_000;
const attempts = attemptSteps(() => ledger);

const service = {
  fetchDetails: () => Promise.resolve([]),
  async *listIrms() {
    yield await Promise.resolve(irmRecord(available) as Irm);
  },
} as unknown as FilingApi;

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
  door = await openDoor(ledger, service);
});
afterAll(async () => {
  await door.close();
  await ledger.drop();
});

async function moveTo(filingId: string, state: 'submitting' | 'awaiting_approval') {
  const { seq } = await needFiling(ledger.pool, filingId);
  return { filingId, seq: seq + 1, state, attention: null, event: { kind: state, text: state } };
}

async function seqOf(filingId: string): Promise<number> {
  return (await needFiling(ledger.pool, filingId)).seq;
}

describe('reading the balances', () => {
  beforeEach(() => (available = 10_000));

  it('reserves them, and moves the filing on', async () => {
    const filingId = await attempts.filing();
    const reserve = { filingId, seq: await seqOf(filingId), move: await moveTo(filingId, 'submitting') };
    const args = { exporterId: EXPORTER, reserve };
    const { returned, filing, story } = await makeTwice({ ledger, door }, filingId, { name: 'readIrms', args });
    expect(returned.reserved).toMatchObject({ differs: false, errors: [], counts: { rows: 1 } });
    expect(filing).toMatchObject({ state: 'submitting' });
    expect(story).toEqual(['made', 'submitting']);
  });

  it('records what they do not allow, and leaves the filing where it is', async () => {
    available = 0;
    await door.run('readIrms', { exporterId: EXPORTER });
    const filingId = await attempts.filing();
    const reserve = { filingId, seq: await seqOf(filingId), move: await moveTo(filingId, 'submitting') };
    const args = { exporterId: EXPORTER, reserve };
    const { returned, filing } = await makeTwice({ ledger, door }, filingId, { name: 'readIrms', args });
    expect(returned.reserved).toMatchObject({ counts: null, errors: [{ severity: 'error' }] });
    expect(filing).toMatchObject({ state: 'checking', errors: [{ severity: 'error' }] });
  });

  it.each([[10_000], [0]])('changes nothing of a filing that has moved meanwhile, with %s available', async (left) => {
    available = left;
    const filingId = await attempts.filing();
    const reserve = { filingId, seq: await seqOf(filingId), move: await moveTo(filingId, 'awaiting_approval') };
    await move(ledger, filingId, 'submitting');
    const before = await heldOf(ledger, filingId);
    const { reserved } = await door.run('readIrms', { exporterId: EXPORTER, reserve });
    expect(reserved).toMatchObject({ differs: true });
    expect(await heldOf(ledger, filingId)).toEqual(before);
  });
});

describe('taking a snapshot', () => {
  const taken = async (filingId: string, after = 0) => {
    const open = { seq: await seqOf(filingId), after };
    return { name: 'takeSnapshot' as const, args: { filingId, submission: 1, exporterId: EXPORTER, open } };
  };
  const attemptsOf = async (filingId: string) =>
    (
      await ledger.pool.query('SELECT number, state, snapshot_id AS snapshot FROM attempts WHERE filing_id = $1', [
        filingId,
      ])
    ).rows as { number: number; state: string; snapshot: string | null }[];

  it('opens the attempt that it was taken for', async () => {
    const filingId = await attempts.filing();
    const { returned } = await makeTwice({ ledger, door }, filingId, await taken(filingId));
    const attemptId = `${filingId}-1-1`;
    expect(returned).toEqual({ certificates: 0, opened: { outcome: 'attempt', attemptId, number: 1, state: 'open' } });
    expect(await attemptsOf(filingId)).toEqual([{ number: 1, state: 'open', snapshot: expect.any(String) as string }]);
  });

  it('opens the attempt after one that was not sent, and none after one that its run does not know', async () => {
    const filingId = await attempts.filing();
    const late = await taken(filingId);
    await attempts.close(await attempts.opened(filingId));
    expect(await door.run(late.name, late.args)).toEqual({ certificates: 0, opened: null });
    expect(await attemptsOf(filingId)).toHaveLength(1);
    const next = await taken(filingId, 1);
    expect(await door.run(next.name, next.args)).toMatchObject({ opened: { number: 2, state: 'open' } });
  });

  it('returns the attempt that is being sent already', async () => {
    const filingId = await attempts.filing();
    const { name, args } = await taken(filingId);
    await attempts.mark(await attempts.opened(filingId));
    expect(await door.run(name, args)).toMatchObject({ opened: { number: 1, state: 'sending' } });
  });

  it.each([
    ['has moved meanwhile', (filingId: string) => move(ledger, filingId, 'submitting')],
    ['was given up meanwhile', (filingId: string) => move(ledger, filingId, 'abandoned')],
  ])('opens none for a filing that %s', async (_what, happens) => {
    const filingId = await attempts.filing();
    const { name, args } = await taken(filingId);
    await happens(filingId);
    expect(await door.run(name, args)).toEqual({ certificates: 0, opened: null });
    expect(await attemptsOf(filingId)).toEqual([]);
  });

  it('is kept without an attempt where the ledger was put back', async () => {
    const filingId = await attempts.filing();
    const { ledgerId } = await readIdentity(ledger.pool);
    const send = { version: 1 as const, ledgerId, number: 1, sender: 'another', void: false, attemptId: null };
    await createOrRead(door.deps.documents, { ...send, at: new Date(0).toISOString(), content: null });
    const { name, args } = await taken(filingId);
    expect(await door.run(name, args)).toEqual({ certificates: 0, opened: null });
    expect(await attemptsOf(filingId)).toEqual([]);
    const kept = await ledger.pool.query('SELECT 1 FROM snapshots WHERE filing_id = $1', [filingId]);
    expect(kept.rowCount).toBe(1);
  });
});
