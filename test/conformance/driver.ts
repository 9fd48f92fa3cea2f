/** Drives a trace of the model step by step through the ledger's functions, on a real PostgreSQL and a real folder. */
import { randomUUID } from 'node:crypto';
import { checkHistory } from '../../chaos/history/check';
import { knownSteps } from '../../chaos/history/model-steps';
import { countChanges, forgetChanges, readChanges } from '../../chaos/history/recorder';
import { attemptIdOf } from '../../src/domain/filing/attempt';
import type { PoolClient } from 'pg';
import { withTransaction } from '../../src/ledger/pool';
import { importSends } from '../../src/ledger/sends/send-import';
import { assertWhole, LedgerPutBack, voidUnsent } from '../../src/ledger/sends/sends';
import { markSending } from '../../src/ledger/submissions/sending-mark';
import { closeNotSent } from '../../src/ledger/submissions/attempts';
import { newStore, remember } from '../ledger/sends/put-back';
import { record, rowsOf } from '../ledger/filing-support';
import type { TestDatabase } from '../support/postgres';
import { abstractionOf, comparable, type Names } from './abstraction';
import { gateSend, type GatedSend } from './gated-send';
import { stepsOf, type Step, type Trace } from './model-trace';
import { createRunSteps } from './run-steps';

type Store = Awaited<ReturnType<typeof newStore>>;

/** One trace's ledger, with what the model calls its parts by number. */
export interface World {
  ledger: TestDatabase;
  store: Store;
  trace: Trace;
  filingIds: (string | null)[];
  executions: Map<number, { attempt: number; sender: string; send: GatedSend | null }>;
  /** Of the step that is being driven; every step has its own minute. */
  now: Date;
  attemptId: (attempt: number) => string;
  requestId: (execution: number) => string;
  transaction: <T>(work: (client: PoolClient) => Promise<T>) => Promise<T>;
}

export interface Drive {
  /** Steps that the code followed. */
  followed: number;
  /** The first step that led elsewhere than in the model; null: none did. */
  stopped: { at: number; step: string; model: unknown; code: unknown } | null;
  /** Steps in the ledger's history that the model does not have: what a chaos run is checked for. */
  unknownSteps: string[];
}

const KNOWN = knownSteps({ restored: true });

const MINUTE = 60_000;
const BEGIN = Date.parse('2026-02-10T06:00:00Z');
let drives = 0;

/** @returns how far the code followed the trace */
export async function drive(ledger: TestDatabase, trace: Trace): Promise<Drive> {
  drives += 1;
  const world = newWorld(ledger, await newStore(), trace, drives);
  const steps = stepsOf(trace);
  const take = createSteps(world);
  await forgetChanges(ledger.pool, 0);
  const ended = async (end: Omit<Drive, 'unknownSteps'>): Promise<Drive> => {
    const { refused } = checkHistory(await readChanges(ledger.pool), KNOWN);
    return { ...end, unknownSteps: refused };
  };
  const names: Names = {
    filingIds: world.filingIds,
    executionOf: (sender) => [...world.executions].find(([, each]) => each.sender === sender)?.[0] ?? null,
  };
  try {
    for (const [at, step] of steps.entries()) {
      world.now = new Date(BEGIN + at * MINUTE);
      const refused = await take(step, steps[at - 1] ?? null).then(() => null, refusalOf);
      if (refused !== null) {
        const stopped = { at, step: `${step.actor}: ${step.action}`, model: 'goes on', code: refused };
        return await ended({ followed: at, stopped });
      }
      const code = comparable(await abstractionOf(ledger.pool, world.store, names, trace.executions), step);
      const model = comparable(step.state, step);
      if (JSON.stringify(code) !== JSON.stringify(model)) {
        return await ended({ followed: at, stopped: { at, step: `${step.actor}: ${step.action}`, model, code } });
      }
    }
    return await ended({ followed: steps.length, stopped: null });
  } finally {
    for (const { send } of world.executions.values()) await send?.finish();
  }
}

/** The code holds the ledger against the files and does not go on where the model does. */
class NotWritten extends Error {}

function refusalOf(error: unknown): string {
  if (error instanceof NotWritten || error instanceof LedgerPutBack) return error.message;
  throw error;
}

function newWorld(ledger: TestDatabase, store: Store, trace: Trace, drive: number): World {
  const world: World = {
    ledger,
    store,
    trace,
    filingIds: [null, null],
    executions: new Map(),
    now: new Date(BEGIN),
    attemptId: (attempt) => attemptIdOf(world.filingIds[Math.floor(attempt / 2)] ?? 'F-NONE', 1, (attempt % 2) + 1),
    requestId: (execution) => `R${drive}-${execution}`,
    transaction: (work) => withTransaction(ledger.pool, work),
  };
  return world;
}

const ENDS: ReadonlySet<string> = new Set(['certified', 'rejected', 'needs_correction', 'abandoned']);

type Take = (numbers: number[], step: Step, before: Step | null) => Promise<void>;

/** The model's actions by their text, and what the code does there. */
function createSteps(world: World): (step: Step, before: Step | null) => Promise<void> {
  const { ledger, store, executions, transaction } = world;
  const run = createRunSteps(world);
  let putBack: (() => Promise<void>) | null = null;
  const nothing: Take = () => Promise.resolve();

  const mark = async (execution: number, acknowledged: boolean): Promise<void> => {
    const { attempt, sender } = at(execution);
    const attemptId = world.attemptId(attempt);
    const set = await transaction((client) =>
      markSending(client, { attemptId, sender, payloadHash: 'hash', at: world.now }),
    );
    if (!set.marked || !acknowledged) return;
    const send = await gateSend(ledger.pool, store, { number: set.sendNumber, attemptId, sender, at: world.now });
    executions.set(execution, { attempt, sender, send });
  };
  const at = (execution: number) => {
    const found = executions.get(execution);
    if (!found) throw new Error(`Execution ${execution} was not scheduled.`);
    return found;
  };
  const closeOwn = async (execution: number, answer?: { kind: string; status: number }): Promise<void> => {
    const { attempt, sender } = at(execution);
    const close = { attemptId: world.attemptId(attempt), sender, reason: 'not_sent', at: world.now };
    await transaction((client) => closeNotSent(client, answer ? { ...close, answer } : close));
    // The run makes the move when it reads the attempt; in the model it is one with what it follows.
    if (!answer) await run.goOn(world.filingIds[Math.floor(attempt / 2)] ?? 'F-NONE');
  };

  const actions: [RegExp, Take][] = [
    [
      /^run \d: open filing/,
      async ([f = 0], _, before) => {
        // A filing that has ended and holds nothing is made anew as another revision, which is another filing to the
        // model.
        if (!ENDS.has(before?.state.filings[f]?.state ?? 'none')) await openFiling(world, f);
      },
    ],
    [/open the next attempt of filing (\d)/, ([f = 0]) => run.openNext(f)],
    [
      /schedule submit of attempt (\d) as execution (\d)/,
      ([attempt = 0, e = 0]) => Promise.resolve(void executions.set(e, { attempt, sender: randomUUID(), send: null })),
    ],
    [/^exec (\d): mark attempt \d as sending, number \d; the commit/, ([e = 0]) => mark(e, false)],
    [/^exec (\d): mark attempt/, ([e = 0]) => mark(e, true)],
    [/^exec (\d): mark of attempt \d refused/, ([e = 0]) => mark(e, false)],
    [/mark of attempt \d aborted/, nothing],
    [/^exec (\d): (?:create file|file \d exists)/, async ([e = 0]) => void (await at(e).send?.createFile())],
    [/^exec (\d): list the files/, ([e = 0]) => at(e).send?.list() ?? Promise.resolve()],
    [
      /^exec (\d): the ledger holds the listing/,
      async ([e = 0]) => {
        if (!(await at(e).send?.finish())) throw new NotWritten('nothing may be written');
      },
    ],
    [
      /^exec (\d): the ledger has gone back/,
      async ([e = 0]) => {
        if (await at(e).send?.finish()) throw new NotWritten('the code would write');
      },
    ],
    [/^exec (\d): store the acceptance/, ([e = 0]) => run.takeOver(world.attemptId(at(e).attempt), run.acceptance(e))],
    [/^exec (\d): store the refusal/, ([e = 0]) => closeOwn(e, { kind: 'validation', status: 400 })],
    [/^exec (\d): (?:close own attempt|attempt \d is not its)/, ([e = 0]) => closeOwn(e)],
    [
      /^run \d: submit returned an acceptance of attempt (\d)/,
      ([attempt = 0], _, before) => run.adopt(attempt, before),
    ],
    [
      /void file \d for attempt (\d)/,
      ([attempt = 0]) =>
        transaction(async (client) => {
          const { seen } = await assertWhole(client, store);
          await voidUnsent(client, store, { attemptId: world.attemptId(attempt), at: world.now, seen });
        }),
    ],
    [/^(?:run \d|repeat): read attempt (\d)/, ([attempt = 0]) => run.read(attempt)],
    [/^(?:run \d|repeat): settle attempt (\d)/, ([attempt = 0], _, before) => run.settle(attempt, before)],
    [/abandon filing (\d)/, ([f = 0]) => run.abandon(f)],
    [/^operator: attempt (\d) was not filed/, ([attempt = 0], step, before) => run.notFiled(attempt, step, before)],
    [/^repeat: attempt (\d) was not filed/, ([attempt = 0]) => run.notFiledLate(attempt)],
    [/^operator: attempt (\d) was filed/, ([attempt = 0], _, before) => run.filed(attempt, before)],
    [
      /copy of the ledger$/,
      async () => {
        const restore = await remember(ledger);
        const recorded = await countChanges(ledger.pool);
        putBack = async () => {
          await restore();
          await forgetChanges(ledger.pool, recorded);
        };
      },
    ],
    [/the ledger goes back to the copy/, () => putBack?.() ?? Promise.resolve()],
    [/the files are imported/, async () => void (await importSends(ledger.pool, store, { at: world.now, by: 'ravi' }))],
    // Steps of the model that touch neither the ledger nor the files.
    [/^(?:service|authority|sweep): /, nothing],
    [/^operator: (?:terminate|reset|resume)/, nothing],
    [/^run \d: (?:submit is over|the unknown outcome|the filing has ended)/, nothing],
    [
      /^exec \d: (?:write the request|too late|answer received|no answer|turned away|return the|the worker dies)/,
      nothing,
    ],
  ];

  return async (step, before) => {
    const text = `${step.actor}: ${step.action}`;
    for (const [pattern, take] of actions) {
      const found = pattern.exec(text);
      if (!found) continue;
      const numbers = found.slice(1).map(Number);
      return take(
        pattern.source.startsWith('^run \\d: open filing') ? [Number(step.actor.slice(4))] : numbers,
        step,
        before,
      );
    }
    throw new Error(`The driver does not know the model's step "${text}".`);
  };
}

/** Both filings map the same; their ids come from their references. */
async function openFiling(world: World, f: number): Promise<void> {
  const rows = rowsOf({ sbCumInvoiceNumber: '3000001', mappedIRMAmountFCC: 1 });
  const outcome = await record(world.ledger, `FILING-${f}`, rows, { at: world.now });
  if (outcome.outcome !== 'refused') world.filingIds[f] = outcome.filingId;
}
