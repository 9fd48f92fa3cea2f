import { randomUUID } from 'node:crypto';
import type { SubmitContext } from '../../../src/api/http/call';
import { withTransaction } from '../../../src/ledger/pool';
import { listFindings } from '../../../src/ledger/reconciliation/findings';
import { noteStep } from '../../../src/ledger/set-aside';
import { markSending } from '../../../src/ledger/gates/send';
import { gate } from '../../support/gate';
import { eventually } from '../../support/processes';
import { HOUR_MS, type AroundPush, type Filing, type TestExporter } from './filing-stage';
import { operationsOf, QUICK_AUTHORITY, useFilingStage } from './use-filing-stage';

const stage = useFilingStage(QUICK_AUTHORITY);

/** A point at which a worker freezes, and whether it has come there. */
function freezer() {
  const [arrived, thawed] = [gate(), gate()];
  const freeze = () => {
    arrived.open();
    return thawed.passed;
  };
  return { freeze, reached: arrived.passed, thaw: thawed.open };
}

/** The worker that froze was never told that it was given up on. */
const untold = (context: SubmitContext): SubmitContext => ({ ...context, signal: undefined });

async function start(around: AroundPush): Promise<{ exporter: TestExporter; filing: Filing }> {
  const exporter = await stage.exporter();
  stage.aroundPush(exporter, around);
  return { exporter, filing: await stage.file(exporter, [stage.mapping(exporter)]) };
}

/** A filing whose worker freezes once it has the answer; thawed, it goes on with it. */
async function frozenAfterSend(then?: 'and is gone') {
  const { freeze, reached, thaw } = freezer();
  const started = await start(async (send, context) => {
    const answer = await send(untold(context));
    await freeze();
    if (then) throw new Error('the process is gone');
    return answer;
  });
  await reached;
  return { ...started, thaw };
}

const attempts = async (filing: Filing) => stage.verdicts((await stage.view(filing)).filingId);

describe('a worker that is lost', () => {
  it('before the mark has sent nothing: it is sent again, and the worker that wakes late finds the fence closed', async () => {
    const { freeze, reached, thaw } = freezer();
    let late: Promise<unknown> = Promise.resolve();
    const { exporter, filing } = await start((send, context) => {
      const pushed = freeze().then(() => send(untold(context)));
      late = pushed.then(
        () => 'sent',
        (error: unknown) => error,
      );
      return pushed;
    });
    await reached;
    await stage.giveUpOn(filing, 'submitPush');
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    thaw();
    expect(await late).toMatchObject({ kind: 'attempt_closed' });
    expect(stage.pushes(exporter)).toBe(1);
    expect(await attempts(filing)).toEqual(['unsent', 'accepted']);
  });

  it('after the mark may have sent it: the outcome is unknown, and nothing is sent without a person', async () => {
    const { freeze, reached, thaw } = freezer();
    const { exporter, filing } = await start(async (send, context) => {
      const beforeWrite = async () => {
        await context.beforeWrite();
        throw new Error('the process is gone');
      };
      await send({ ...untold(context), beforeWrite }).catch(() => undefined);
      await freeze();
      throw new Error('the process is gone');
    });
    await reached;
    await stage.giveUpOn(filing, 'submitPush');
    await stage.pass(0.1);
    await stage.until(filing, 'outcome_unknown');
    expect(await attempts(filing)).toEqual(['marked']);
    expect(stage.pushes(exporter)).toBe(0);
    thaw();
    await stage.settleWindowOver(filing);
    await stage.resolve(filing, 'not-filed');
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('after the mark, and wakes too late to write: its own word that nothing was sent lets it be sent again', async () => {
    const { freeze, reached, thaw } = freezer();
    const never = new Promise<void>(() => undefined);
    const { exporter, filing } = await start((send, context) => {
      // Marked, and stopped for longer than one HTTP time-out: what it holds may not be written any more.
      const beforeWrite = () => context.beforeWrite().then(() => never);
      return send({ ...untold(context), beforeWrite }).catch(async (error: unknown) => {
        await freeze();
        throw error;
      });
    });
    await reached;
    await stage.giveUpOn(filing, 'submitPush');
    await stage.pass(1 / 60);
    const { filingId } = await stage.until(filing, 'outcome_unknown');
    expect(await attempts(filing)).toEqual(['marked']);
    thaw();
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    const story = await stage.story(filingId);
    expect(story.indexOf('not_sent')).toBeGreaterThan(story.indexOf('outcome_unknown'));
    expect(story).not.toContain('resolved');
    expect(stage.pushes(exporter)).toBe(1);
    expect(await attempts(filing)).toEqual(['unsent', 'accepted']);
  });

  it('after the write, with a longer HTTP time-out than its run’s: nothing is concluded before that and the time of a late answer are over', async () => {
    const { exporter, filing, thaw } = await frozenAfterSend();
    const { filingId } = await stage.view(filing);
    const senders = `UPDATE attempts SET timeout_ms = $2 WHERE filing_id = $1 AND verdict = 'marked'`;
    expect((await stage.ledger.pool.query(senders, [filingId, HOUR_MS - 30_000])).rowCount).toBe(1);
    await stage.giveUpOn(filing, 'submitPush');
    // Past the time-out, and not past the half minute in which its answer may still reach the ledger.
    await stage.pass(0.993);
    const { state } = await stage.view(filing);
    thaw();
    expect(state).toBe('submitting');
    expect(await filing.result()).toMatchObject({
      state: 'certified',
      requestId: (await stage.requestsOf(exporter))[0],
    });
    expect(await stage.story(filingId)).not.toContain('outcome_unknown');
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('before the ledger write, and wakes: its answer is kept, and adopted at once, however late', async () => {
    const { exporter, filing, thaw } = await frozenAfterSend();
    await stage.giveUpOn(filing, 'submitPush');
    await stage.pass(1 / 60);
    await stage.until(filing, 'outcome_unknown');
    thaw();
    // Without the hours that pass on the server's clock while somebody waits for the result.
    await stage.until(filing, 'processing');
    const result = await filing.result();
    expect(result).toMatchObject({ state: 'certified', requestId: (await stage.requestsOf(exporter))[0] });
    expect(stage.pushes(exporter)).toBe(1);
  });
});

it('keeps the answer when PostgreSQL is away right then', async () => {
  const { exporter, filing } = await start(async (send, context) => {
    const answer = await send(context);
    stage.database.down = true;
    setTimeout(() => (stage.database.down = false), 1_500);
    return answer;
  });
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'certified', requestId: (await stage.requestsOf(exporter))[0] });
  expect(await attempts(filing)).toEqual(['accepted']);
});

it('sends nothing when the mark cannot be committed', async () => {
  const { exporter, filing } = await start((send, context) =>
    send({
      ...context,
      beforeWrite: async () => {
        stage.database.down = true;
        setTimeout(() => (stage.database.down = false), 1_000);
        await context.beforeWrite();
      },
    }),
  );
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  expect(stage.pushes(exporter)).toBe(1);
  expect(await attempts(filing)).toEqual(['unsent', 'accepted']);
});

it('sends what was marked and never counted, without asking anybody: its worker died before the first byte', async () => {
  const { freeze, reached, thaw } = freezer();
  const { exporter, filing } = await start(async (send, context) => {
    const beforeWrite = async () => {
      const { rows } = await stage.ledger.pool.query<{ id: string }>(
        `SELECT attempt_id AS id FROM attempts JOIN filings USING (filing_id) WHERE exporter_id = $1`,
        [exporter.exporterId],
      );
      const attemptId = rows[0]?.id ?? '';
      await withTransaction(stage.ledger.pool, (client) =>
        markSending(client, {
          attemptId,
          sender: 'died',
          payloadHash: 'x',
          settleMs: 1_000,
          timeoutMs: 1_000,
          at: new Date(),
        }),
      );
      await freeze();
      throw new Error('the process is gone');
    };
    return send({ ...untold(context), beforeWrite });
  });
  await reached;
  await stage.giveUpOn(filing, 'submitPush');
  const { filingId } = await filing.result();
  expect(await stage.story(filingId)).not.toContain('outcome_unknown');
  thaw();
  expect(await attempts(filing)).toEqual(['unsent', 'accepted']);
  expect(stage.pushes(exporter)).toBe(1);
});

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
  expect(await stage.ledger.select('SELECT * FROM steps_under_way WHERE workflow_id = $1', filing.workflowId)).toEqual(
    [],
  );
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
