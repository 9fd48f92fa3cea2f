/**
 * Workflows that are open while a new version is deployed go on in it: what was recorded has to replay on the workflows
 * of now.
 */
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Worker, type ReplayWorkerOptions } from '@temporalio/worker';
import { workflowBundle } from '../support/workflow-bundle';
import { FILING_SCENARIOS } from './filing-scenarios';
import {
  readHistories,
  resultOf,
  textsOf,
  writeHistory,
  type RecordedEvent,
  type RecordedHistory,
} from './history-files';
import { historyFromJson } from './history-json';
import { ONBOARDING_SCENARIOS } from './onboarding-scenarios';
import { ONE_STEP_SCENARIOS } from './one-step-scenarios';
import { testFolder } from '../support/folder';

const SCENARIOS = [...FILING_SCENARIOS, ...ONBOARDING_SCENARIOS, ...ONE_STEP_SCENARIOS];
/** A scenario that needs more is a workflow that should have gone on in a new run, or a story that is told too long. */
const MOST_EVENTS = 500;

let histories: RecordedHistory[];

beforeAll(async () => {
  histories = await readHistories();
});

/** The errors of a replay on the workflows of now, by workflow id; null where it went through. */
async function replay(recorded: readonly Pick<RecordedHistory, 'workflowId' | 'events'>[]) {
  return replayOn({ workflowBundle: await workflowBundle() }, recorded);
}

async function replayOn(
  { workflowBundle: bundle }: Pick<ReplayWorkerOptions, 'workflowBundle'>,
  recorded: readonly Pick<RecordedHistory, 'workflowId' | 'events'>[],
) {
  const given = recorded.map(({ workflowId, events }) => ({ workflowId, history: historyFromJson({ events }) }));
  // No workflow stays in memory: every task of a history is replayed from its start, as after a restart.
  const options = { workflowBundle: bundle, maxCachedWorkflows: 0 };
  const errors: { workflowId: string; error: string | null }[] = [];
  for await (const { workflowId, error } of Worker.runReplayHistories(options, given)) {
    errors.push({ workflowId, error: error?.message ?? null });
  }
  return errors;
}

function recordingOf(scenario: string): RecordedHistory {
  const found = histories.find((history) => history.scenario === scenario);
  if (!found) throw new Error(`no recording of ${scenario}: npm run histories:record -- --scenario ${scenario}`);
  return found;
}

it('has a recording of every scenario, and of nothing else', () => {
  const recorded = new Set(histories.map(({ scenario }) => scenario));
  expect([...recorded].sort()).toEqual(SCENARIOS.map(({ name }) => name).sort());
});

it('replays every recorded history', async () => {
  expect(histories.length).toBeGreaterThanOrEqual(SCENARIOS.length);
  const replayed = await replay(histories);
  expect(replayed).toEqual(histories.map(({ workflowId }) => ({ workflowId, error: null })));
});

it('replays every recorded history on the workflows of a traced worker', async () => {
  const replayed = await replayOn({ workflowBundle: await workflowBundle({ traced: true }) }, histories);
  expect(replayed).toEqual(histories.map(({ workflowId }) => ({ workflowId, error: null })));
});

describe.each(SCENARIOS)('$name', ({ name, workflow, ends }) => {
  it('runs as its name describes, in few events', () => {
    const recording = recordingOf(name);
    const start = recording.events[0]?.workflowExecutionStartedEventAttributes;
    expect(start).toMatchObject({ workflowType: { name: workflow } });
    expect(resultOf(recording)).toMatchObject(ends);
    expect(recording.events.length).toBeLessThan(MOST_EVENTS);
  });

  it('keeps no secret and nothing of the machine that recorded it', () => {
    const texts = textsOf(recordingOf(name).events).join('\n');
    expect(texts).not.toMatch(/dev_sandbox_key|prod_sandbox_key|Right-Horse|Wrong-Battery|New-Donkey|At-The-Portal/u);
    expect(texts).not.toContain(hostname());
    expect(texts).not.toMatch(/node_modules|file:\/\/|\/(?:tmp|home|root|Users)\//u);
  });
});

describe('determinism that is broken is seen', () => {
  /** A history as another version would have made it: its first activity after the settings was another one. */
  function changed(events: readonly RecordedEvent[]): RecordedEvent[] {
    let seen = 0;
    return events.map((event) => {
      const scheduled = event.activityTaskScheduledEventAttributes as { activityType: { name: string } } | undefined;
      if (!scheduled || (seen += 1) !== 2) return event;
      const activityTaskScheduledEventAttributes = { ...scheduled, activityType: { name: 'somethingElse' } };
      return { ...event, activityTaskScheduledEventAttributes };
    });
  }

  it.each(['file-certified', 'onboard-ready', 'refresh-irms', 'credentials-renewed'])('in %s', async (scenario) => {
    const { workflowId, events } = recordingOf(scenario);
    const [replayed] = await replay([{ workflowId, events: changed(events) }]);
    expect(replayed?.error).toMatch(/TMPRL1100|[Nn]ondeterminism/u);
  });

  const WORKFLOW = '(0,_temporalio_workflow__WEBPACK_IMPORTED_MODULE_0__';
  const PROFILES = '(0,_activity_profiles__WEBPACK_IMPORTED_MODULE_0__';
  const swapped = (one: string, other: string) => (code: string) =>
    code.replace(new RegExp(`\\.(${one}|${other})\\(`, 'gu'), (_call, name) => `.${name === one ? other : one}(`);
  /** Changes of a build, each to one place of its workflows. */
  const changes: Record<string, (code: string) => string> = {
    'a step more': (code) =>
      code.replace('const submitted = await (', `await ${PROFILES}.calls)('ledger', 'more').readSettings({});$&`),
    'a step less': (code) => code.replace(/await [^;]*?\('poll', about\)\.pollStatus\(\{[^}]*\}\);/u, ''),
    'a local step more': (code) =>
      code.replace(/(return await )([^;]*?\(summary\)\.advanceFiling\(args\);)/u, 'await $2$1$2'),
    'a timer more': (code) => code.replace(/\(0,_show_filing\w*\.showFiling\)\(/u, `await ${WORKFLOW}.sleep)(1000);$&`),
    'a timer less': (code) => code.replace(/\)\(poked, Math\.min\([\s\S]*?\}\);/u, ')(poked);'),
    'another order': swapped('readCompany', 'pollStatus'),
    'another order of an onboarding': swapped('checkOnboardInput', 'createExporter'),
    'another step': (code) => code.replace(/\.exportersToRefresh\(/gu, '.exportersThatAreReady('),
    'no last step': (code) => code.replace(/\(await [^;]*?\.endReconciliation\(end\)\)\.counts/u, '{}'),
  };

  it.each([
    ['a step more', 'file-certified'],
    ['a step less', 'file-certified'],
    ['a local step more', 'file-certified'],
    ['a timer more', 'file-certified'],
    ['a timer less', 'file-approval'],
    ['a timer less', 'file-replaced'],
    ['another order', 'file-partly-certified'],
    ['another order', 'file-lost-answer-asked-resolved'],
    ['another order of an onboarding', 'onboard-ready'],
    ['another step', 'refresh-irms'],
    ['no last step', 'reconcile'],
  ])('in a build with %s: %s', async (change, scenario) => {
    const code = await readFile((await workflowBundle()).codePath, 'utf8');
    const changedCode = changes[change]?.(code) ?? code;
    expect(changedCode).not.toBe(code);
    const [replayed] = await replayOn({ workflowBundle: { code: changedCode } }, [recordingOf(scenario)]);
    expect(replayed?.error).not.toBeNull();
  });

  it('but not in the arguments of a step, or in how long a timer is', async () => {
    const code = await readFile((await workflowBundle()).codePath, 'utf8');
    const changedCode = code
      .replace(/(LOOK_AGAIN_MS = )15/u, '$19')
      .replace("filingId: filingId ?? ''", "filingId: 'another'");
    expect(changedCode).not.toBe(code);
    const [replayed] = await replayOn({ workflowBundle: { code: changedCode } }, [recordingOf('file-approval')]);
    expect(replayed?.error).toBeNull();
  });

  it('in a step that is left out', async () => {
    const { workflowId, events } = recordingOf('file-certified');
    const scheduled = events.filter((event) => event.activityTaskScheduledEventAttributes);
    const leftOut = scheduled[3]?.eventId;
    const [replayed] = await replay([{ workflowId, events: events.filter(({ eventId }) => eventId !== leftOut) }]);
    expect(replayed?.error).not.toBeNull();
  });
});

describe('recordings', () => {
  const folder = testFolder();

  const started = { events: [{ eventId: 1, workflowExecutionStartedEventAttributes: { identity: 'me@here' } }] };
  const recording = { version: '0.0.1', scenario: 'one', workflowId: 'w', history: started as never };

  it('are there, or the replay fails', async () => {
    await expect(readHistories(folder)).rejects.toThrow(/no recorded histories/u);
  });

  it('are not overwritten without --replace', async () => {
    await writeHistory(recording, { replace: false, folder });
    await expect(writeHistory(recording, { replace: false, folder })).rejects.toThrow(/0\.0\.1-one\.json exists/u);
    await writeHistory(recording, { replace: true, folder });
    const [read] = await readHistories(folder);
    expect(read).toMatchObject({ scenario: 'one', workflowId: 'w' });
    expect(JSON.stringify(read)).not.toContain('me@here');
  });
});
