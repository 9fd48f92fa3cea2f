/**
 * Activities that call the service and record what follows for the filing in one transaction: a retried one returns
 * what the first try returned, and a late one, whose run has gone on without it, moves nothing.
 */
import { settleRows } from '../ledger/ledger-steps';
import { Readable } from 'node:stream';
import type { Irm } from '../../src/api/schemas/exporters';
import { needFiling } from '../../src/ledger/filings/filings';
import { withTransaction } from '../../src/ledger/pool';
import { voidRecord } from '../../src/ledger/sends/send-record';
import { createOrRead, readIdentity } from '../../src/ledger/sends/sends';
import { attemptSteps } from '../ledger/submissions/attempt-support';
import { EXPORTER, irmRecord, knowExporter, move, open, rowsOf } from '../ledger/filing-support';
import { useTestDatabase } from '../support/postgres';
import { pdfWith } from '../support/scripted-pdf';
import { useDoor } from './door';
import { heldOf, makeTwice } from './twice';

const ledger = useTestDatabase(knowExporter);
/** The balance of the exporter's one IRM, as the service has it. */
let available = 10_000;
const attempts = attemptSteps(ledger);

const service = {
  downloadPdf: ({ eBRCNumber }: { eBRCNumber: string }, put: (stream: Readable) => unknown) =>
    put(Readable.from([pdfWith(eBRCNumber)])),
  fetchDetails: () => Promise.resolve({ certificates: [], unread: 0 }),
  async *listIrms() {
    yield await Promise.resolve(irmRecord(available) as Irm);
  },
};
const door = useDoor(ledger, service);

async function moveTo(filingId: string, state: 'submitting' | 'awaiting_approval') {
  const { seq } = await needFiling(ledger.pool, filingId);
  return { filingId, seq: seq + 1, state, attention: null, event: { kind: state, text: state } };
}

async function seqOf(filingId: string): Promise<number> {
  return (await needFiling(ledger.pool, filingId)).seq;
}

describe('reading the balances', () => {
  beforeEach(() => (available = 10_000));

  /** The step that reads them for a filing, and moves it on. */
  async function reading(state: 'submitting' | 'awaiting_approval' = 'submitting') {
    const filingId = await attempts.filing();
    const reserve = { filingId, seq: await seqOf(filingId), move: await moveTo(filingId, state) };
    return { filingId, name: 'readIrms' as const, args: { exporterId: EXPORTER, reserve } };
  }

  it('reserves them, and moves the filing on', async () => {
    const { filingId, ...step } = await reading();
    const { returned, filing, story } = await makeTwice({ ledger, door }, filingId, step);
    expect(returned.reserved).toMatchObject({ errors: [], filing: { counts: { rows: 1 } } });
    expect(filing).toMatchObject({ state: 'submitting' });
    expect(story).toEqual(['made', 'submitting']);
  });

  it('records what they do not allow, and leaves the filing where it is', async () => {
    available = 0;
    await door.run('readIrms', { exporterId: EXPORTER });
    const { filingId, ...step } = await reading();
    const { returned, filing } = await makeTwice({ ledger, door }, filingId, step);
    expect(returned.reserved).toMatchObject({ filing: null, errors: [{ severity: 'error' }] });
    expect(filing).toMatchObject({ state: 'checking', errors: [{ severity: 'error' }] });
  });

  it.each([[10_000], [0]])('changes nothing of a filing that has moved meanwhile, with %s available', async (left) => {
    available = left;
    const { filingId, name, args } = await reading('awaiting_approval');
    await move(ledger, filingId, 'submitting');
    const before = await heldOf(ledger, filingId);
    const { reserved } = await door.run(name, args);
    expect(reserved).toMatchObject({ filing: 'differs' });
    expect(await heldOf(ledger, filingId)).toEqual(before);
  });
});

describe('archiving a PDF', () => {
  let documents = 9_500_000;

  /** A filing of two rows whose certificates are collected, or whatever else becomes of them. */
  async function collecting(outcomes: readonly ('certified' | 'errored')[] = ['certified', 'certified']) {
    const rows = rowsOf(
      ...outcomes.map(() => ({ sbCumInvoiceNumber: String((documents += 1)), mappedIRMAmountFCC: 1 })),
    );
    const filingId = await open(ledger, `ARCHIVED-${documents}`, rows);
    await attempts.mark(await attempts.opened(filingId));
    await move(ledger, filingId, 'submitting', 'processing', 'collecting');
    const numbers = outcomes.map((_, position) => `E${filingId}${position}`);
    const verdicts = outcomes.map((outcome, position) =>
      outcome === 'certified'
        ? { position, outcome, eBRCNumber: `E${filingId}${position}`, eBRCDate: '10022026' }
        : { position, outcome, errors: ['ERR38'] },
    );
    const settled = { filingId, exporterId: EXPORTER, verdicts, at: new Date() };
    await withTransaction(ledger.pool, (client) => settleRows(client, settled));
    const download = async (position: number) => {
      const end = { filingId, seq: await seqOf(filingId) };
      return {
        name: 'downloadCertificate' as const,
        args: { exporterId: EXPORTER, eBRCNumber: numbers[position] ?? '', end },
      };
    };
    const run = async (position: number) => {
      const { name, args } = await download(position);
      return door.run(name, args);
    };
    return { filingId, download, run };
  }
  const stateOf = async (filingId: string) => (await needFiling(ledger.pool, filingId)).state;

  it('ends the filing with the last one', async () => {
    const { filingId, run, download } = await collecting();
    expect(await run(0)).toMatchObject({ ended: null });
    expect(await stateOf(filingId)).toBe('collecting');
    const { returned, story } = await makeTwice({ ledger, door }, filingId, await download(1));
    const ended = { state: 'certified', counts: { archived: 2 }, seq: await seqOf(filingId) };
    expect(returned.ended).toMatchObject(ended);
    expect(story?.at(-1)).toBe('certified');
  });

  it('ends it as what all its rows have come to', async () => {
    const { run } = await collecting(['certified', 'errored']);
    expect(await run(0)).toMatchObject({ ended: { state: 'partly_certified' } });
  });

  it('ends it once where the last two are archived at once', async () => {
    const { filingId, run } = await collecting();
    const both = await Promise.all([run(0), run(1)]);
    expect(both.filter(({ ended }) => ended !== null)).toHaveLength(1);
    expect(await stateOf(filingId)).toBe('certified');
  });

  it('leaves another filing that has a certificate too where it is', async () => {
    const [one, other] = [await collecting(['certified']), await collecting()];
    const end = { filingId: other.filingId, seq: await seqOf(other.filingId) };
    const { name, args } = await one.download(0);
    expect(await door.run(name, { ...args, end })).toMatchObject({ sha256: expect.any(String) as string, ended: null });
    expect([await stateOf(one.filingId), await stateOf(other.filingId)]).toEqual(['collecting', 'collecting']);
  });

  it.each(['overdue', 'needs_access', 'abandoned'] as const)(
    'keeps the PDF of a filing that is %s meanwhile',
    async (state) => {
      const { filingId, download } = await collecting(['certified']);
      const { name, args } = await download(0);
      await move(ledger, filingId, state);
      expect(await door.run(name, args)).toMatchObject({ sha256: expect.any(String) as string, ended: null });
      expect(await stateOf(filingId)).toBe(state);
      const now = { ...args, end: { filingId, seq: await seqOf(filingId) } };
      const ended = state === 'overdue' ? { state: 'certified' } : null;
      expect(await door.run(name, now, { activityId: 'later' })).toMatchObject({ ended });
    },
  );
});

describe('taking a snapshot', () => {
  const taken = async (filingId: string, after = 0) => {
    const open = { seq: await seqOf(filingId), after };
    return { name: 'takeSnapshot' as const, args: { filingId, submission: 1, exporterId: EXPORTER, open } };
  };
  const attemptsOf = (filingId: string) =>
    ledger.select('SELECT number, verdict, snapshot_id AS snapshot FROM attempts WHERE filing_id = $1', filingId);

  it('opens the attempt that it was taken for', async () => {
    const filingId = await attempts.filing();
    const { returned } = await makeTwice({ ledger, door }, filingId, await taken(filingId));
    const attempt = { number: 1, verdict: 'open' };
    const opened = { outcome: 'attempt', attemptId: `${filingId}-1-1`, ...attempt };
    expect(returned).toEqual({ certificates: 0, opened });
    expect(await attemptsOf(filingId)).toEqual([{ ...attempt, snapshot: expect.any(String) as string }]);
  });

  it('opens the attempt after one that was not sent, and none after one that its run lacks', async () => {
    const filingId = await attempts.filing();
    const late = await taken(filingId);
    await attempts.close(await attempts.opened(filingId));
    expect(await door.run(late.name, late.args)).toEqual({ certificates: 0, opened: null });
    expect(await attemptsOf(filingId)).toHaveLength(1);
    const next = await taken(filingId, 1);
    expect(await door.run(next.name, next.args)).toMatchObject({ opened: { number: 2, verdict: 'open' } });
  });

  it('returns the attempt that is being sent already', async () => {
    const filingId = await attempts.filing();
    const { name, args } = await taken(filingId);
    await attempts.mark(await attempts.opened(filingId));
    expect(await door.run(name, args)).toMatchObject({ opened: { number: 1, verdict: 'marked' } });
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
    const send = voidRecord({ ledgerId, number: 1, sender: 'another', attemptId: null, at: new Date(0) });
    await createOrRead(door.deps.documents, { ...send, void: false });
    const { name, args } = await taken(filingId);
    expect(await door.run(name, args)).toEqual({ certificates: 0, opened: null });
    expect(await attemptsOf(filingId)).toEqual([]);
    const kept = await ledger.pool.query('SELECT 1 FROM snapshots WHERE filing_id = $1', [filingId]);
    expect(kept.rowCount).toBe(1);
  });
});
