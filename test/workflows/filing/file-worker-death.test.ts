import type { SubmitContext } from '../../../src/api/client-types';
import { withTransaction } from '../../../src/ledger/pool';
import { importSends } from '../../../src/ledger/sends/send-import';
import { markSending } from '../../../src/ledger/gates/send';
import { readIdentity } from '../../../src/ledger/sends/sends';
import { HOUR_MS, type AroundPush, type Filing, type FilingStage, type TestExporter } from './filing-stage';
import { recordLostSend } from './lost-send';
import { QUICK_AUTHORITY, useFilingStage } from './use-filing-stage';

let stage: FilingStage;

useFilingStage((opened) => (stage = opened), QUICK_AUTHORITY);

/** A point at which a worker freezes, and whether it has come there. */
function freezer() {
  let arrived = (): void => undefined;
  let thaw = (): void => undefined;
  const reached = new Promise<void>((resolve) => (arrived = resolve));
  const thawed = new Promise<void>((resolve) => (thaw = resolve));
  const freeze = () => {
    arrived();
    return thawed;
  };
  return { freeze, reached, thaw: () => thaw() };
}

/** The worker that froze was never told that it was given up on. */
const untold = (context: SubmitContext): SubmitContext => ({ ...context, signal: undefined });

async function start(around: AroundPush): Promise<{ exporter: TestExporter; filing: Filing }> {
  const exporter = await stage.exporter();
  stage.aroundPush(exporter, around);
  return { exporter, filing: await stage.file(exporter, [stage.mapping(exporter)]) };
}

const attempts = async (filing: Filing) => {
  const { filingId } = await stage.view(filing);
  const { rows } = await stage.ledger.pool.query<{ verdict: string }>(
    'SELECT verdict FROM attempts WHERE filing_id = $1 ORDER BY number',
    [filingId],
  );
  return rows.map((row) => row.verdict);
};

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

  it('after the answer is settled by its certificates', async () => {
    const { freeze, reached, thaw } = freezer();
    const { exporter, filing } = await start(async (send, context) => {
      await send(untold(context));
      await freeze();
      throw new Error('the process is gone');
    });
    await reached;
    await stage.giveUpOn(filing, 'submitPush');
    expect(await filing.result()).toMatchObject({ state: 'certified', requestId: null });
    expect(await stage.story((await stage.view(filing)).filingId)).toContain('outcome_unknown');
    thaw();
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('after the write, with a longer HTTP time-out than its run’s: nothing is concluded before that is over', async () => {
    const { freeze, reached, thaw } = freezer();
    const { exporter, filing } = await start(async (send, context) => {
      const answer = await send(untold(context));
      await freeze();
      return answer;
    });
    await reached;
    const { filingId } = await stage.view(filing);
    const senders = `UPDATE attempts SET timeout_ms = $2 WHERE filing_id = $1 AND verdict = 'marked'`;
    expect((await stage.ledger.pool.query(senders, [filingId, HOUR_MS])).rowCount).toBe(1);
    await stage.giveUpOn(filing, 'submitPush');
    await stage.pass(0.9);
    expect(await stage.view(filing)).toMatchObject({ state: 'submitting' });
    thaw();
    expect(await filing.result()).toMatchObject({
      state: 'certified',
      requestId: (await stage.requestsOf(exporter))[0],
    });
    expect(await stage.story(filingId)).not.toContain('outcome_unknown');
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('before the ledger write, and wakes: its answer is kept, and adopted at once, however late', async () => {
    const { freeze, reached, thaw } = freezer();
    const { exporter, filing } = await start(async (send, context) => {
      const answer = await send(untold(context));
      await freeze();
      return answer;
    });
    await reached;
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

it('waits with attention while the document store has sends that the ledger lacks, and continues once they are imported', async () => {
  const { documents } = stage.worker.deps;
  const { pool } = stage.ledger;
  const exporter = await stage.exporter();
  const at = new Date((await stage.env.currentTimeMs()) - HOUR_MS);
  const number = await recordLostSend(stage, { above: 2, at });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  const waiting = await stage.until(filing, ({ attention }) => attention?.includes('put back') ?? false);
  expect(waiting.attention).toContain('ebrc ledger restored');
  expect((await stage.view(filing)).needsAttention).toBe(true);
  expect(stage.pushes(exporter)).toBe(0);
  await importSends(pool, documents, { at: new Date(), by: 'ravi' });
  expect(await filing.result()).toMatchObject({ state: 'certified', attention: null });
  expect(stage.pushes(exporter)).toBe(1);
  expect((await readIdentity(pool)).sendNumber).toBeGreaterThan(number);
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

it('takes a filing up again whose workflow was lost in the middle of an unknown outcome', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'push-irm', 'accept-then-drop');
  const rows = [stage.mapping(exporter)];
  const filing = await stage.file(exporter, rows, { reference: 'LOST-RUN' });
  const { filingId } = await stage.until(filing, 'outcome_unknown');
  await stage.untilAsleep(filing);
  await filing.terminate('lost');
  const again = await stage.file(exporter, rows, { reference: 'LOST-RUN' });
  expect(await again.result()).toMatchObject({ filingId, state: 'certified' });
  expect(stage.pushes(exporter)).toBe(1);
});
