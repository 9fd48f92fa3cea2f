import {
  countRows,
  moveRows,
  openRowsOf,
  readRows,
  releaseUnsent,
  settleRows,
} from '../../../src/ledger/rows/filing-rows';
import type { RowVerdict } from '../../../src/domain/service/request-status';
import type { Queryable } from '../../../src/ledger/pool';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { EXPORTER, knowExporter, NOW, open, rowsOf } from '../filing-support';

let ledger: TestDatabase;
let documents = 7_000_000;

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
});
afterAll(() => ledger?.drop());

const filing = (reference: string, rows = 1) =>
  open(
    ledger,
    reference,
    rowsOf(...Array.from({ length: rows }, () => ({ sbCumInvoiceNumber: String((documents += 1)) }))),
  );
const settle = (filingId: string, ...verdicts: RowVerdict[]) =>
  settleRows(ledger.pool, { filingId, exporterId: EXPORTER, verdicts, at: NOW });
const certified = (position: number, eBRCNumber: string): RowVerdict => ({
  position,
  outcome: 'certified',
  eBRCNumber,
  eBRCDate: '10022026',
});
const errored = (position: number): RowVerdict => ({ position, outcome: 'errored', errors: ['ERR38'] });
const states = async (filingId: string) => (await readRows(ledger.pool, filingId)).map((row) => row.state);

describe('settling rows', () => {
  it('takes a handful of statements for a whole submission', async () => {
    const filingId = await filing('WHOLE', 999);
    const other = await filing('WHOLE-OTHER');
    await settle(other, certified(0, 'W-7'));
    let statements = 0;
    const counted: Queryable = {
      query: ((...args: Parameters<typeof ledger.pool.query>) => {
        statements += 1;
        return ledger.pool.query(...args);
      }) as Queryable['query'],
    };
    const verdicts = Array.from({ length: 999 }, (_, position) =>
      position % 3 === 2 ? errored(position) : certified(position, position === 1 ? 'W-0' : `W-${position}`),
    );
    await settleRows(counted, { filingId, exporterId: EXPORTER, verdicts, at: NOW });
    expect(statements).toBeLessThan(5);
    // Position 1 was given the certificate of position 0, position 7 that of another filing.
    expect(await countRows(ledger.pool, filingId)).toMatchObject({ rows: 999, certified: 664, errored: 333, open: 2 });
    const [first, second] = await readRows(ledger.pool, filingId);
    expect(first).toMatchObject({ state: 'certified', eBRCNumber: 'W-0', eBRCDate: '10022026' });
    expect(second).toMatchObject({ state: 'planned', eBRCNumber: null });
  });

  it('never changes a settled row, on a late or repeated write', async () => {
    const filingId = await filing('SETTLED', 2);
    await settle(filingId, certified(0, 'S-1'), errored(1));
    await settle(filingId, errored(0), certified(1, 'S-2'));
    await settle(filingId, certified(0, 'S-3'));
    await moveRows(ledger.pool, { filingId, submission: null, state: 'unknown' });
    expect(await states(filingId)).toEqual(['certified', 'needs_correction']);
    expect((await readRows(ledger.pool, filingId))[0]?.eBRCNumber).toBe('S-1');
  });

  it('leaves a row open rather than give it the certificate of another', async () => {
    const first = await filing('OWNER');
    const second = await filing('LATER');
    await settle(first, certified(0, 'OWNED'));
    await settle(second, certified(0, 'OWNED'));
    expect(await states(second)).toEqual(['planned']);
  });

  it('still takes a certificate for a row that was abandoned after the send', async () => {
    const filingId = await filing('LATE');
    await moveRows(ledger.pool, { filingId, submission: null, state: 'abandoned_after_send' });
    await settle(filingId, certified(0, 'LATE-1'));
    expect(await states(filingId)).toEqual(['certified']);
  });

  it('counts every row once', async () => {
    const filingId = await filing('COUNTED', 4);
    await settle(filingId, certified(0, 'C-1'), errored(1), { position: 2, outcome: 'open' });
    expect(await countRows(ledger.pool, filingId)).toEqual({ rows: 4, certified: 1, archived: 0, errored: 1, open: 2 });
  });
});

it('frees no row that was marked as submitted', async () => {
  const filingId = await filing('MARKED', 2);
  await ledger.pool.query('UPDATE filing_rows SET submitted_at = $2 WHERE filing_id = $1 AND position = 0', [
    filingId,
    NOW,
  ]);
  await releaseUnsent(ledger.pool, { filingId, state: 'withdrawn', at: NOW });
  expect(await states(filingId)).toEqual(['planned', 'withdrawn']);
});

it('lets the rows of other filings compete for a certificate once they are at the service', async () => {
  const mine = await filing('MINE');
  const other = await filing('OTHER');
  const seen = async () =>
    (await openRowsOf(ledger.pool, { filingId: mine, exporterId: EXPORTER }))
      .map((row) => row.filingId)
      .filter((id) => id === other);
  expect(await seen()).toEqual([]);
  await ledger.pool.query('UPDATE filing_rows SET submitted_at = $2 WHERE filing_id = $1', [other, NOW]);
  expect(await seen()).toEqual([other]);
});
