/**
 * Activities that call the service and record what follows for the filing in one transaction: a retried one returns
 * what the first try returned, and a late one, whose run has gone on without it, moves nothing.
 */
import type { FilingApi } from '../../src/api/client-types';
import type { Irm } from '../../src/api/schemas/irms';
import { needFiling } from '../../src/ledger/filings/filings';
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
