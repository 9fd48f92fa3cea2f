/** Two connections at the beginning of a send: whoever is first is seen by the other. */
import type pg from 'pg';
import { decide } from '../../src/ledger/decisions/decide';
import type { fileRemittances } from '../../src/workflows/file-remittances';
import { filingQuery } from '../../src/workflows/messages';
import { principalOf } from '../support/principals';
import { replacing } from '../support/replacing';
import { findings, rowStates, settle, soon } from './acts';
import { HOUR_MS, type Filing, type TestExporter } from './stage';
import { freezer, useGatedStage } from './use-stage';

const { stage, way } = useGatedStage();

/** Waits until a transaction waits for a lock. */
const blocked = () =>
  soon(async () => {
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return (await stage.ledger.select(waiting)).length > 0;
  });

/** A pool whose transactions wait before their commit. */
function holding(pool: pg.Pool, freeze: () => Promise<void>): pg.Pool {
  return replacing(pool, 'connect', async () => {
    const client = await pool.connect();
    const query = client.query.bind(client) as unknown as (...args: unknown[]) => Promise<unknown>;
    return replacing(client, 'query', async (...args: unknown[]) => {
      if (args[0] === 'COMMIT') await freeze();
      return query(...args);
    });
  });
}

/** The next commit of a submit waits. */
function holdSubmit() {
  const held = freezer();
  way.atCommit = async ({ activity, when }) => {
    if (activity !== 'submitPush' || when !== 'before') return;
    way.atCommit = null;
    await held.freeze();
  };
  return held;
}

/** A filing that is about to be sent, as long as `go` was not called. */
async function aboutToSend(): Promise<{ exporter: TestExporter; filing: Filing; filingId: string; go: () => void }> {
  const exporter = await stage.exporter();
  const { freeze, reached, thaw } = freezer();
  // It is never told that it was given up.
  stage.aroundPush(exporter, async (send, context) => {
    await freeze();
    return send({ ...context, signal: undefined });
  });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await reached;
  const { filingId } = await filing.query(filingQuery);
  return { exporter, filing, filingId: filingId ?? '', go: thaw };
}

async function abandon(filingId: string, pool: pg.Pool = stage.ledger.pool) {
  const principal = await principalOf(stage.ledger.pool, 'ravi');
  const by = { name: 'ravi', principal };
  return decide(pool, { filingId, kind: 'abandon', by, note: 'a mistake' }, stage.worker.deps.settings);
}

describe('an abandon', () => {
  it('that is not committed yet is waited for: nothing is sent', async () => {
    const { exporter, filing, filingId, go } = await aboutToSend();
    const held = freezer();
    const abandoned = abandon(filingId, holding(stage.ledger.pool, held.freeze));
    await held.reached;
    go();
    await blocked();
    held.thaw();
    expect(await abandoned).toMatchObject({ outcome: 'carried_out' });
    expect(await filing.result()).toMatchObject({ state: 'abandoned' });
    expect(await stage.verdicts(filingId)).toEqual([]);
    expect(stage.pushes(exporter)).toBe(0);
  });

  it('that comes while the beginning is not committed yet is refused', async () => {
    const { exporter, filing, filingId, go } = await aboutToSend();
    const held = holdSubmit();
    go();
    await held.reached;
    const abandoned = abandon(filingId);
    await blocked();
    held.thaw();
    expect(await abandoned).toMatchObject({ outcome: 'refused', code: 'abandon_refused' });
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(1);
  });
});

it('an approval that is taken back and not committed yet is waited for: nothing is sent', async () => {
  const { exporter, filing, filingId, go } = await aboutToSend();
  const client = await stage.ledger.pool.connect();
  await client.query('BEGIN');
  await client.query(`UPDATE filings SET approval = 'maker', approved_at = NULL WHERE filing_id = $1`, [filingId]);
  go();
  await blocked();
  await client.query('COMMIT');
  client.release();
  await stage.until(filing, 'awaiting_approval', 'passing');
  expect(stage.pushes(exporter)).toBe(0);
  for (const by of ['ravi', 'meera']) await stage.decide(filing, 'approve', { by });
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  expect(stage.pushes(exporter)).toBe(1);
});

describe('a late acceptance', () => {
  /** Attempt 1 may be said not to be filed; the worker that has its answer is frozen before it stores it. */
  async function first(arrange: (exporter: TestExporter) => void) {
    const exporter = await stage.exporter();
    const held = freezer();
    arrange(exporter);
    stage.aroundPush(exporter, async (send, context) => {
      const answer = await send({ ...context, signal: undefined });
      await held.freeze();
      return answer;
    });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    await held.reached;
    await stage.giveUpOn(filing, 'submitPush');
    const { filingId } = await stage.until(filing, 'outcome_unknown', 'passing');
    await settle(stage, filing);
    return { exporter, filing, filingId, store: held.thaw };
  }

  /** It is said not to be filed; attempt 2 is about to be sent. */
  async function second() {
    const begun = await first(({ exporterId, username }) => {
      const data = { requestId: `LATE-${username}`, dgftAckId: 'A', ackStatus: 'Validated', recordResCount: 1 };
      const answer = { status: 200, body: { success: true, data, statusCode: 200, timestamp: '' } };
      stage.service.script({ operation: 'push-irm', about: exporterId, answer });
    });
    const next = freezer();
    stage.aroundPush(begun.exporter, async (send, context) => {
      await next.freeze();
      return send(context);
    });
    await stage.decide(begun.filing, 'not_filed');
    await next.reached;
    return { ...begun, send: next.thaw };
  }

  it('of a filing that had ended holds its rows again, and its worker starts a run that follows it', async () => {
    const hidden = { delayMs: 12 * HOUR_MS };
    const { exporter, filing, filingId, store } = await first((its) =>
      stage.fault(its, 'push-irm', 'accepted-but-invisible', hidden),
    );
    await stage.decide(filing, 'not_filed', { ends: true });
    expect(await filing.result()).toMatchObject({ state: 'needs_correction' });
    expect(await rowStates(stage, filingId)).toEqual(['released']);
    store();
    await soon(async () => (await stage.verdicts(filingId)).join() === 'accepted');
    expect(await rowStates(stage, filingId)).toEqual(['sent']);
    const again = stage.env.client.workflow.getHandle<typeof fileRemittances>(filing.workflowId);
    await soon(async () => (await again.describe()).status.name === 'RUNNING');
    const [requestId] = await stage.requestsOf(exporter);
    expect(await again.result()).toMatchObject({ state: 'certified', requestId });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('that is not committed yet is waited for: the second attempt is not sent', async () => {
    const { exporter, filing, filingId, store, send } = await second();
    const held = holdSubmit();
    store();
    await held.reached;
    send();
    await blocked();
    held.thaw();
    await soon(async () => (await stage.verdicts(filingId)).join() === 'accepted');
    await stage.until(filing, ({ state }) => state === 'processing');
    expect(await stage.verdicts(filingId)).toEqual(['accepted']);
    expect(stage.pushes(exporter)).toBe(0);
    // The service lists no such request: it would be asked for as long as the other scenes last.
    await stage.untilAsleep(filing);
    await filing.terminate();
  });

  it('that comes while the second attempt is not committed yet is a finding, and its request is known', async () => {
    const { exporter, filing, filingId, store, send } = await second();
    const held = holdSubmit();
    send();
    await held.reached;
    store();
    await blocked();
    held.thaw();
    await soon(async () => (await findings(stage, filingId)).includes('accepted_twice'));
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(await stage.verdicts(filingId)).toEqual(['not_filed', 'accepted']);
    expect(stage.pushes(exporter)).toBe(1);
  });
});

it('two runs of one filing that are told to send send once', async () => {
  const { exporter, filing, filingId, go } = await aboutToSend();
  const second = freezer();
  stage.aroundPush(exporter, async (send, context) => {
    await second.freeze();
    return send(context);
  });
  await stage.giveUpOn(filing, 'submitPush');
  await stage.pass(1 / 60);
  await second.reached;
  const held = holdSubmit();
  go();
  await held.reached;
  second.thaw();
  await blocked();
  held.thaw();
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  expect(await stage.verdicts(filingId)).toEqual(['accepted']);
  expect(stage.pushes(exporter)).toBe(1);
});
