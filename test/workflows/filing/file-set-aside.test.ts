import { randomUUID } from 'node:crypto';
import { noteStep } from '../../../src/ledger/set-aside';
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

/** The tries `from` to `times` of a step that opens many rows end with their worker: nobody hears of them again. */
async function loseWorkers(filing: Filing, times: number, tries: () => number, from = 1): Promise<void> {
  for (let lost = from; lost <= times; lost += 1) {
    await eventually(() => Promise.resolve(tries() >= lost));
    await stage.giveUpOn(filing, 'openFiling');
  }
}

const setAside = () => listFindings(stage.ledger.pool, { mode: 'test', kind: 'filing_set_aside', all: false });

it('sets a filing aside that ended five workers: it is refused, asked about, and given up or tried again by a person', async () => {
  const { tries, bury } = deadlyStep();
  const exporter = await stage.exporter({ irmAmount: 1_000_000 });
  const many = Array.from({ length: 101 }, () => stage.mapping(exporter, { irmRemitAmtFCC: 1_000_000 }));
  const deadly = await stage.file(exporter, many, { reference: 'DEADLY' });
  await loseWorkers(deadly, 1, tries);
  // Three more processes ended during it.
  const earlier = 'UPDATE steps_under_way SET lost = lost + 3 WHERE workflow_id = $1 RETURNING lost';
  expect((await stage.ledger.pool.query(earlier, [deadly.workflowId])).rows).toEqual([{ lost: 3 }]);
  await loseWorkers(deadly, 2, tries, 2);
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
      reason: expect.stringContaining('Worker after worker ended') as string,
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

it('sets a step aside after two workers where its filing holds more than any ordinary one', async () => {
  const { pool } = stage.ledger;
  const inputs = { ordinary: 'x', large: 'x'.repeat(2_200_000) };
  for (const [inputRef, text] of Object.entries(inputs)) {
    await pool.query(
      `INSERT INTO filing_inputs (input_ref, rows, row_count, source_kind) VALUES ($1, $2, 1, 'workbook')`,
      [inputRef, JSON.stringify([text])],
    );
    const step = {
      workflowId: `file/test/${inputRef}`,
      step: 'open',
      what: 'openFiling',
      tryId: randomUUID(),
      inputRef,
    };
    const tried = [await noteStep(pool, step), await noteStep(pool, step), await noteStep(pool, step)];
    expect(tried.map(({ setAside }) => setAside)).toEqual([false, false, inputRef === 'large']);
  }
});
