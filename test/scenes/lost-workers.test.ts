/** Workers that freeze, die or lose PostgreSQL around each line of a send, and steps whose commit nobody heard of. */
import type { SubmitContext } from '../../src/api/http/call';
import { filingQuery } from '../../src/workflows/messages';
import { settle, soon } from './acts';
import { connectionLost } from './gated-pool';
import type { AroundPush, Filing, TestExporter } from './stage';
import { freezer, useGatedStage } from './use-stage';

const { stage, way } = useGatedStage();

/** The worker that froze was never told that it was given up on. */
const untold = (context: SubmitContext): SubmitContext => ({ ...context, signal: undefined });

async function start(around: AroundPush): Promise<{ exporter: TestExporter; filing: Filing }> {
  const exporter = await stage.exporter();
  stage.aroundPush(exporter, around);
  return { exporter, filing: await stage.file(exporter, [stage.mapping(exporter)]) };
}

const verdicts = async (filing: Filing) => stage.verdicts((await filing.query(filingQuery)).filingId);

describe('a worker that is lost', () => {
  it('before its beginning is recorded has sent nothing: it is sent by another, and the one that wakes late sends nothing', async () => {
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
    expect(await verdicts(filing)).toEqual(['accepted']);
  });

  it('before its beginning is recorded, while nobody sent it since, may send: the other one does not', async () => {
    const [first, second] = [freezer(), freezer()];
    const { exporter, filing } = await start((send, context) => first.freeze().then(() => send(untold(context))));
    await first.reached;
    stage.aroundPush(exporter, (send, context) => second.freeze().then(() => send(context)));
    await stage.giveUpOn(filing, 'submitPush');
    await stage.pass(1 / 60);
    await second.reached;
    first.thaw();
    await soon(async () => (await verdicts(filing)).join() === 'accepted');
    second.thaw();
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(1);
    expect(await verdicts(filing)).toEqual(['accepted']);
  });

  it('in a call that is given up while its beginning is committed has sent nothing: it is sent again', async () => {
    const { exporter, filing } = await start((send, context) => {
      const givenUp = new AbortController();
      const beforeWrite = () => {
        const committed = context.beforeWrite();
        givenUp.abort();
        return committed;
      };
      return send({ ...context, signal: givenUp.signal, beforeWrite });
    });
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(await verdicts(filing)).toEqual(['not_sent', 'accepted']);
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('after it may have sent it: the outcome is unknown, and nothing is sent without a person', async () => {
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
    await stage.until(filing, 'outcome_unknown', 'passing');
    expect(await verdicts(filing)).toEqual(['unknown']);
    expect(stage.pushes(exporter)).toBe(0);
    thaw();
    await settle(stage, filing);
    await stage.decide(filing, 'not_filed');
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('and wakes too late to write: its own word that nothing was sent lets it be sent again', async () => {
    const { freeze, reached, thaw } = freezer();
    const never = new Promise<void>(() => undefined);
    const { exporter, filing } = await start((send, context) => {
      // Begun, and stopped for longer than one HTTP time-out: what it holds may not be written any more.
      const beforeWrite = () => context.beforeWrite().then(() => never);
      return send({ ...untold(context), beforeWrite }).catch(async (error: unknown) => {
        await freeze();
        throw error;
      });
    });
    await reached;
    await stage.giveUpOn(filing, 'submitPush');
    await stage.until(filing, 'outcome_unknown', 'passing');
    thaw();
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(1);
    expect(await verdicts(filing)).toEqual(['not_sent', 'accepted']);
  });

  it('after the answer, and wakes: its answer counts however late', async () => {
    const { freeze, reached, thaw } = freezer();
    const { exporter, filing } = await start(async (send, context) => {
      const answer = await send(untold(context));
      await freeze();
      return answer;
    });
    await reached;
    await stage.giveUpOn(filing, 'submitPush');
    await stage.until(filing, 'outcome_unknown', 'passing');
    thaw();
    await stage.until(filing, 'processing');
    const result = await filing.result();
    expect(result).toMatchObject({ state: 'certified', requestId: (await stage.requestsOf(exporter))[0] });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('with a longer HTTP time-out than its run’s: nothing is concluded before its answer can come no more', async () => {
    const { freeze, reached, thaw } = freezer();
    const { exporter, filing } = await start(async (send, context) => {
      const answer = await send(untold(context));
      await freeze();
      return answer;
    });
    await reached;
    const { filingId } = await filing.query(filingQuery);
    await stage.ledger.pool.query('UPDATE attempts SET timeout_ms = 3570000 WHERE filing_id = $1', [filingId]);
    await stage.giveUpOn(filing, 'submitPush');
    await stage.pass(0.98);
    expect(await verdicts(filing)).toEqual(['sending']);
    thaw();
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(await stage.story(filingId)).not.toContain('outcome_unknown');
    expect(stage.pushes(exporter)).toBe(1);
  });
});

describe('PostgreSQL', () => {
  it('that is away when the answer came: the answer is kept, and stored when it is back', async () => {
    const { exporter, filing } = await start(async (send, context) => {
      const answer = await send(context);
      way.down = true;
      setTimeout(() => (way.down = false), 1_500);
      return answer;
    });
    const result = await filing.result();
    expect(result).toMatchObject({ state: 'certified', requestId: (await stage.requestsOf(exporter))[0] });
    expect(await verdicts(filing)).toEqual(['accepted']);
  });

  it('that is away when it is to be sent: nothing is written', async () => {
    const { exporter, filing } = await start((send, context) =>
      send({
        ...context,
        beforeWrite: async () => {
          way.down = true;
          setTimeout(() => (way.down = false), 1_000);
          await context.beforeWrite();
        },
      }),
    );
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(1);
    expect(await verdicts(filing)).toEqual(['accepted']);
  });

  it('whose commit of the beginning nobody heard of: nothing was written, and it is unknown', async () => {
    way.atCommit = ({ activity, when }) => {
      if (activity !== 'submitPush' || when === 'before') return;
      way.atCommit = null;
      throw connectionLost();
    };
    const exporter = await stage.exporter();
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    await soon(async () => (await verdicts(filing)).length === 1);
    await stage.until(filing, 'outcome_unknown', 'passing');
    expect(stage.pushes(exporter)).toBe(0);
    await settle(stage, filing);
    await stage.decide(filing, 'not_filed');
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('that is away for minutes while a request is followed: the filing goes on by itself', async () => {
    const { exporter, filing } = await stage.start();
    await stage.until(filing, 'processing');
    way.down = true;
    await stage.pass(0.25);
    way.down = false;
    expect(await filing.result()).toMatchObject({ state: 'certified', attention: null });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('that stores the outcome at the end of a request and is not heard: the next poll tells the run at once', async () => {
    const undisturbed = await stage.start();
    await undisturbed.filing.result();
    const exporter = await stage.exporter();
    way.atCommit = ({ activity, when }) => {
      if (activity === 'pollStatus' && when === 'after') throw connectionLost();
    };
    const result = await (await stage.file(exporter, [stage.mapping(exporter)])).result();
    expect(result).toMatchObject({ state: 'certified', attention: null });
    expect(stage.polls(exporter)).toBeLessThanOrEqual(stage.polls(undisturbed.exporter) + 1);
  });

  it.each(['before', 'after'] as const)(
    'loses the connection %s each commit of every step once: each takes effect once',
    async (when) => {
      const undisturbed = await (await stage.start()).filing.result();
      const exporter = await stage.exporter();
      let lost = 0;
      way.atCommit = (at) => {
        if (at.activity !== 'advanceFiling' || at.when !== when || at.attempt > 1) return;
        lost += 1;
        throw connectionLost();
      };
      const result = await (await stage.file(exporter, [stage.mapping(exporter)])).result();
      expect(result).toMatchObject({ state: 'certified', counts: { archived: 1 } });
      expect(lost).toBeGreaterThan(4);
      expect(stage.pushes(exporter)).toBe(1);
      expect(await stage.story(result.filingId)).toEqual(await stage.story(undisturbed.filingId));
    },
  );
});
