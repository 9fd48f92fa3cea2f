/** Time that goes wrong: a worker's clock that steps, and a ledger that goes back while an answer is on its way. */
import { readStanding, storeComparison } from '../../src/ledger/went-back';
import { filingQuery } from '../../src/workflows/messages';
import { bringBack, takeCopy } from '../support/ledger-copies';
import { certifyByHand, namesOf, passSettleTime, rowStates, settle, soon } from './acts';
import { HOUR_MS, type Filing } from './stage';
import { QUICK_AUTHORITY, useFilingStage } from './use-stage';

let skewMs = 0;
const stage = useFilingStage({
  ...QUICK_AUTHORITY,
  worker: {
    ...QUICK_AUTHORITY.worker,
    adjust: (deps) => ({ ...deps, clock: () => deps.clock() + skewMs }),
  },
});
afterEach(() => void (skewMs = 0));

it.each([
  ['ahead', 9 * HOUR_MS, 9 * HOUR_MS],
  ['behind', -9 * HOUR_MS, -9 * HOUR_MS],
  ['ahead at the moment of sending, and then right', 9 * HOUR_MS, 0],
])('a clock of a worker that is hours %s changes no decision', async (_, sending, later) => {
  const exporter = await stage.exporter();
  const row = stage.mapping(exporter);
  stage.fault(exporter, 'push-irm', 'drop-before-accept');
  skewMs = sending;
  const filing = await stage.file(exporter, [row]);
  await stage.until(filing, 'outcome_unknown');
  skewMs = later;
  await stage.pass(0.4);
  expect(await stage.decide(filing, 'not_filed')).toMatchObject({ code: 'resolve_refused' });
  expect(await stage.until(filing, 'outcome_unknown')).toMatchObject({ asked: false });
  // By hand, after the attempt: it is evidence, and not adopted.
  const number = await certifyByHand(stage, exporter, row, { realisedValueFCC: 7 });
  await settle(stage, filing);
  await soon(async () => (await namesOf(stage, filing)).join() === `certificate:${number}`);
  expect(stage.pushes(exporter)).toBe(1);
});

/** As a worker compares the ledger with Temporal; every run is found. */
async function compare(filing: Filing): Promise<boolean | null> {
  const { pool } = stage.ledger;
  const standing = await readStanding(pool, 'test');
  const whole = await storeComparison(pool, { mode: 'test', standing, missing: [], found: [] });
  await stage.poke(filing);
  return whole;
}

describe.each([
  ['a promotion that loses the newest second', true],
  ['a copy that is brought back unsaid', false],
])('%s, while an answer is on its way', (_, promoted) => {
  /** What was taken in, and is not in the ledger any more. */
  async function lostSecond(answer: 'lost' | 'stored') {
    const exporter = await stage.exporter();
    const row = stage.mapping(exporter);
    stage.aroundPush(exporter, async (send, context) => {
      await takeCopy(stage.ledger);
      const sent = await send(context);
      await bringBack(stage.ledger, promoted);
      if (!promoted) await stage.ledger.pool.query('UPDATE ledger SET beat = beat - 1');
      if (answer === 'lost') throw new Error('the process is gone');
      return sent;
    });
    const filing = await stage.file(exporter, [row]);
    const { filingId } = await stage.until(filing, 'outcome_unknown');
    expect(await stage.verdicts(filingId)).toEqual(['unknown']);
    return { exporter, filing, filingId };
  }

  it('sends nothing again, and two persons name the certificate', async () => {
    const { exporter, filing, filingId } = await lostSecond('lost');
    expect(await compare(filing)).toBe(true);
    await stage.pass(0.3);
    await passSettleTime(stage, filing);
    await stage.until(filing, ({ asked }) => asked);
    const [certificate] = (await stage.account(exporter)).certificates;
    const eBRCNumber = certificate?.eBRCNumber ?? '';
    await soon(async () => (await namesOf(stage, filing)).includes(`certificate:${eBRCNumber}`));
    expect(await stage.decide(filing, 'not_filed')).toMatchObject({ outcome: 'recorded' });
    for (const by of ['meera', 'lata'])
      await stage.decide(filing, 'filed', { by, certificates: [{ row: 1, eBRCNumber }] });
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(await rowStates(stage, filingId)).toEqual(['certified by persons']);
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('sends nothing at all before its answer, which it does not know, is there again', async () => {
    const { exporter, filing, filingId } = await lostSecond('stored');
    expect(await compare(filing)).toBe(false);
    const other = await stage.exporter();
    const waits = await stage.file(other, [stage.mapping(other)]);
    expect((await stage.until(waits, ({ attention }) => attention !== null)).attention).toContain('ebrc ledger status');
    const [requestId = ''] = await stage.requestsOf(exporter);
    expect(await stage.decide(filing, 'filed', { requestId })).toMatchObject({ outcome: 'carried_out' });
    expect(await compare(filing)).toBe(true);
    expect(await stage.results([filing, waits])).toMatchObject([{ state: 'certified' }, { state: 'certified' }]);
    expect((await filing.query(filingQuery)).filingId).toBe(filingId);
    expect(stage.pushes(exporter)).toBe(1);
  });
});

it('a restore to before it was recorded: it is recorded again as unknown, also after somebody took its mapping', async () => {
  const exporter = await stage.exporter();
  const row = stage.mapping(exporter);
  await takeCopy(stage.ledger);
  const filing = await stage.file(exporter, [row]);
  const { filingId } = await stage.until(filing, 'processing');
  await bringBack(stage.ledger, true);
  await stage.poke(filing);
  await stage.untilAsleep(filing);
  // The comparison with Temporal goes by what runs show.
  expect(await filing.query(filingQuery)).toMatchObject({ filingId, state: 'processing' });
  const other = await stage.file(exporter, [row]);
  await stage.until(other, ({ attention }) => attention !== null);
  await stage.pass(0.1);
  expect(await filing.query(filingQuery)).toMatchObject({ filingId, state: 'processing' });
  expect(await stage.decide(other, 'abandon')).toMatchObject({ outcome: 'carried_out' });
  expect(await stage.until(filing, 'outcome_unknown', 'passing')).toMatchObject({ filingId });
  expect(await stage.verdicts(filingId)).toEqual(['unknown']);
  expect(stage.pushes(exporter)).toBe(1);
  await stage.ledger.pool.query('UPDATE ledger SET epoch = server_epoch()');
});
