import { listFindings } from '../../../src/ledger/reconciliation/findings';
import { eventually } from '../../support/processes';
import type { Filing, FilingStage } from './filing-stage';
import { operationsOf, QUICK_AUTHORITY, useFilingStage } from './use-filing-stage';

let stage: FilingStage;

useFilingStage((opened) => (stage = opened), QUICK_AUTHORITY);

/** Steps that open many rows end their worker here, from one call on; `bury` frees what is left of the tries. */
function deadlyStep(deaths = Number.POSITIVE_INFINITY) {
  const { deps } = stage.worker;
  const { queueing } = deps;
  const left: ((reason: Error) => void)[] = [];
  deps.queueing = () => (left.length < deaths ? new Promise((_, reject) => left.push(reject)) : queueing());
  return {
    tries: () => left.length,
    bury: () => {
      deps.queueing = queueing;
      for (const reject of left) reject(new Error('the process is gone'));
    },
  };
}

/** The next `times` tries of a step that opens many rows end with their worker: nobody hears of them again. */
async function loseWorkers(filing: Filing, times: number, tries: () => number): Promise<void> {
  for (let lost = 1; lost <= times; lost += 1) {
    await eventually(() => Promise.resolve(tries() >= lost));
    await stage.giveUpOn(filing, 'openFiling');
  }
}

const setAside = () => listFindings(stage.ledger.pool, { mode: 'test', kind: 'filing_set_aside', all: false });

it('sets a filing aside that ended two workers: it is refused, asked about, and given up or tried again by a person', async () => {
  const { tries, bury } = deadlyStep();
  const exporter = await stage.exporter({ irmAmount: 1_000_000 });
  const many = Array.from({ length: 101 }, () => stage.mapping(exporter, { irmRemitAmtFCC: 1_000_000 }));
  const deadly = await stage.file(exporter, many, { reference: 'DEADLY' });
  await loseWorkers(deadly, 2, tries);
  const refused = { state: 'refused', filingId: null, errors: [{ code: 'set_aside' }] };
  expect(await deadly.result()).toMatchObject(refused);
  expect(tries()).toBe(2);
  // The same again takes no further worker.
  const again = await stage.file(exporter, many, { reference: 'DEADLY' });
  expect(await again.result()).toMatchObject(refused);
  expect(tries()).toBe(2);
  expect(await setAside()).toMatchObject([
    {
      exporterId: exporter.exporterId,
      filingId: null,
      reason: expect.stringContaining('Two workers in a row') as string,
    },
  ]);

  bury();
  // Others are not held up by it.
  const small = await stage.file(exporter, [stage.mapping(exporter, { irmRemitAmtFCC: 1_000_000 })]);
  const outcome = await operationsOf(stage).abandon('DEADLY', { by: 'ravi', note: 'the file was broken' });
  expect(outcome).toMatchObject({
    filing: { state: 'refused' },
    notice: expect.stringContaining('given up') as string,
  });
  expect(await setAside()).toEqual([]);
  const once = await stage.file(exporter, many, { reference: 'DEADLY' });
  expect(await once.result()).toMatchObject({ state: 'certified' });
  expect(await small.result()).toMatchObject({ state: 'certified' });
});

it('tries a step again that lost one worker, and remembers nothing of it once it has ended', async () => {
  const { tries, bury } = deadlyStep(1);
  const exporter = await stage.exporter({ irmAmount: 1_000_000 });
  const many = Array.from({ length: 101 }, () => stage.mapping(exporter, { irmRemitAmtFCC: 1_000_000 }));
  const filing = await stage.file(exporter, many);
  await loseWorkers(filing, 1, tries);
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  const { rows } = await stage.ledger.pool.query('SELECT * FROM steps_under_way WHERE workflow_id = $1', [
    filing.workflowId,
  ]);
  expect(rows).toEqual([]);
  bury();
});
