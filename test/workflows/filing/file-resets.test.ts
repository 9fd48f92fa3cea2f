/** An operator resets, terminates or cancels a run at points around its send: one certificate each, one push. */
import { follow } from '../../../src/temporal/follow';
import type { fileRemittances } from '../../../src/workflows/file-remittances';
import { filingQuery } from '../../../src/workflows/messages';
import { gate } from '../../support/gate';
import { eventually } from '../../support/processes';
import type { Filing, TestExporter } from './filing-stage';
import { resetBefore, resetToLast } from './resets';
import { operationsOf, useRealServerStage } from './use-filing-stage';

const stage = useRealServerStage({ settings: { settleAfterMs: 40_000 } });

const operations = () => operationsOf(stage);

interface Scene {
  name: string;
  exporter: TestExporter;
  filing: Filing;
  /** Lets the filing go on from the point that it stands still at. */
  go: () => void;
}

/** A filing that stands still at a point of its life. */
const POINTS: Record<
  string,
  (exporter: TestExporter) => { there: (filing: Filing) => Promise<unknown>; go: () => void }
> = {
  'before its send': (exporter) => {
    const [held, reached] = [gate(), gate()];
    stage.aroundPush(exporter, async (send, context) => {
      reached.open();
      await held.passed;
      return send(context);
    });
    return { there: () => reached.passed, go: held.open };
  },
  'after its send': (exporter) => {
    const [held, reached] = [gate(), gate()];
    stage.aroundPush(exporter, async (send, context) => {
      const answer = await send({ ...context, signal: undefined });
      reached.open();
      await held.passed;
      return answer;
    });
    const there = async () => {
      await reached.passed;
      // A run that finds the mark waits until no answer can come any more, which is real time here.
      await stage.ledger.pool.query(
        `UPDATE attempts SET marked_at = marked_at - interval '5 minutes' FROM filings f
            WHERE f.filing_id = attempts.filing_id AND f.exporter_id = $1`,
        [exporter.exporterId],
      );
    };
    return { there, go: held.open };
  },
  'after its answer': (exporter) => {
    stage.fault(exporter, 'status', 'stale-status', { every: 1 });
    return { there: (filing) => stage.until(filing, 'processing'), go: () => undefined };
  },
};

async function sceneAt([name, pointOf]: [string, (typeof POINTS)[string]]): Promise<Scene> {
  const exporter = await stage.exporter();
  const { there, go } = pointOf(exporter);
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await there(filing);
  return { name, exporter, filing, go };
}

/** Filings at each of the points, one after the other: what stands still takes no time. */
async function scenes(): Promise<Scene[]> {
  const made: Scene[] = [];
  for (const point of Object.entries(POINTS)) made.push(await sceneAt(point));
  return made;
}

/** Lets all go on, and reads how they end: the state, what the service took, and how often it was pushed. */
async function outcomes(made: Scene[]): Promise<Record<string, unknown>> {
  for (const { go } of made) go();
  stage.sandbox.clearFaults();
  const ends = await Promise.all(
    made.map(async ({ name, exporter, filing }) => {
      const { state, counts } = await stage.env.client.workflow
        .getHandle<typeof fileRemittances>(filing.workflowId)
        .result();
      const requests = await stage.requestsOf(exporter);
      return [name, { state, archived: counts.archived, requests: requests.length, pushes: stage.pushes(exporter) }];
    }),
  );
  return Object.fromEntries(ends) as Record<string, unknown>;
}

const ONCE = { state: 'certified', archived: 1, requests: 1, pushes: 1 };
const EACH_ONCE = { 'before its send': ONCE, 'after its send': ONCE, 'after its answer': ONCE };

it.each<[string, (filing: Filing) => Promise<unknown>]>([
  ['to its beginning', (filing) => resetToLast(stage, filing, 1_000)],
  ['to before its send', (filing) => resetBefore(stage, filing, (summary) => summary.startsWith('Push submission'))],
  ['to its last task', (filing) => resetToLast(stage, filing)],
])('is filed once by a run that is reset %s, wherever it was', async (_to, reset) => {
  const made = await scenes();
  const { env, worker } = stage;
  const options = { query: filingQuery, until: () => false };
  const followed = made.map(({ filing }) => follow({ temporal: env.client, ...worker }, filing.workflowId, options));
  await Promise.all(made.map(({ filing }) => reset(filing)));
  expect(await outcomes(made)).toEqual(EACH_ONCE);
  const ends = made.map(() => ({ notice: null, progress: expect.objectContaining({ state: 'certified' }) as unknown }));
  expect(await Promise.all(followed)).toEqual(ends);
});

it('is filed once by a run that is terminated and resumed, wherever it was', async () => {
  const made = await scenes();
  for (const { filing } of made) {
    const { filingId } = await stage.view(filing);
    await filing.terminate('an operator');
    await eventually(async () => (await operations().resume(filingId ?? '')).resumed);
  }
  expect(await outcomes(made)).toEqual(EACH_ONCE);
});

/** A request that is not the filing's, of which the authority says by its counts alone that all was Errored. */
async function forgedRequest({ exporterId }: TestExporter): Promise<string> {
  const { filings } = await stage.sandbox.state();
  const [own] = [...filings.values()].filter(({ customerId }) => customerId === exporterId);
  if (!own) throw new Error('nothing was sent yet');
  const requestId = `FORGED-${exporterId}`;
  const rows = own.rows.map((row) => ({ ...row, processingStatus: 'Errored' as const }));
  filings.set(requestId, { ...own, requestId, customerId: exporterId, processed: true, rows });
  stage.sandbox.addFault({
    operation: 'status',
    kind: 'processed-with-incomplete-list',
    match: { requestId },
    every: 1,
  });
  return requestId;
}

describe('is filed once where somebody completes by hand', () => {
  async function complete({ filing }: Scene, result: unknown): Promise<void> {
    let activityId = '';
    await eventually(async () => {
      const { pendingActivities } = (await filing.describe()).raw;
      const held = pendingActivities?.find(({ activityType }) =>
        /submitPush|pollStatus/.test(activityType?.name ?? ''),
      );
      return (activityId = held?.activityId ?? '') !== '';
    });
    await stage.env.client.activity.complete({ workflowId: filing.workflowId, activityId }, result);
  }

  it.each([null, {}])('its send, or its poll, with the result %j', async (result) => {
    const sent = Object.entries(POINTS).filter(([name]) => name !== 'before its send');
    const made = await Promise.all(sent.map(sceneAt));
    for (const scene of made) await complete(scene, result);
    expect(await outcomes(made)).toEqual({ 'after its send': ONCE, 'after its answer': ONCE });
  });

  it('any of its reading activities once, with an empty result', async () => {
    const { exporter, filing } = await stage.start([['*', 'slow', { every: 1, delayMs: 250 }]]);
    const { workflowId } = filing;
    const completed = new Set(['submitPush']);
    let ended = false;
    const result = filing.result().finally(() => (ended = true));
    while (!ended) {
      for (const { activityId, activityType } of (await filing.describe()).raw.pendingActivities ?? []) {
        const name = activityType?.name ?? '';
        if (completed.has(name) || !activityId) continue;
        // It may have ended by itself meanwhile.
        const complete = stage.env.client.activity.complete({ workflowId, activityId }, {});
        if (
          await complete.then(
            () => true,
            () => false,
          )
        )
          completed.add(name);
      }
    }
    expect(await result).toMatchObject({ state: 'certified', counts: { archived: 1 } });
    expect(stage.pushes(exporter)).toBe(1);
    // Of eight; on a busy machine one may end by itself first.
    expect(completed.size).toBeGreaterThan(4);
  });

  it('its send with the request of another one, as if it were the answer', async () => {
    const point = POINTS['after its send'] as (typeof POINTS)[string];
    const made = [await sceneAt(['not adopted', point]), await sceneAt(['adopted', point])];
    for (const scene of made) {
      const requestId = await forgedRequest(scene.exporter);
      const ids = { requestId, dgftAckId: null, ackStatus: 'Validated' };
      const adopted = { ...ids, submittedAt: Date.now(), errors: [], filing: null };
      const answer = { kind: 'accepted', status: 200, ...ids };
      const sentBy = 'somebody';
      await complete(scene, { answer, adopted: scene.name === 'adopted' ? adopted : null, sentBy });
      await stage.until(scene.filing, ({ state }) => /outcome_unknown|rejected|certified/.test(state));
    }
    const once = { ...ONCE, requests: 2 };
    expect(await outcomes(made)).toEqual({ 'not adopted': once, adopted: once });
  });
});

it('continues after a cancel if it is at the service, and is abandoned if nothing was sent', async () => {
  const made = await scenes();
  for (const { filing } of made) await filing.cancel();
  const nothing = { state: 'abandoned', archived: 0, requests: 0, pushes: 0 };
  const ends = await outcomes(made);
  expect(ends).toMatchObject({ 'after its send': ONCE, 'after its answer': ONCE });
  const { filingId } = await stage.view(made.at(-1)!.filing);
  expect(await stage.story(filingId)).toContain('cancel_refused');
  // The cancel and the send may meet: whichever was first decides.
  expect([ONCE, nothing]).toContainEqual(ends['before its send']);
});
