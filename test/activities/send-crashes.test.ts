/**
 * Whatever ends, fails or goes back between the mark and the answer of a send: nothing is written twice, and every
 * number gets a file, so that comparisons go on beginning right below the newest send.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import type { PushMessage } from '../../src/domain/filing/mapping';
import type { FilingApi } from '../../src/api/client';
import type { SubmitContext } from '../../src/api/http/call';
import { partsOfAttemptId } from '../../src/domain/filing/attempt';
import type { DocumentStore } from '../../src/documents/document-store';
import { readIdentity } from '../../src/ledger/sends/sends';
import { attemptSteps } from '../ledger/submissions/attempt-support';
import { EXPORTER } from '../ledger/filing-support';
import { startProcess, type DyingProcess, type End } from '../ledger/sends/dying-process';
import { newStore, remember, useLedgerPutBack } from '../ledger/sends/put-back';
import { createLedgerClock } from '../../src/worker/jobs';
import { openDoor, type ActivityDoor } from './door';

const ledger = useLedgerPutBack();
let store: DocumentStore;
/** A worker that goes on. */
let healthy: ActivityDoor;
const attempts = attemptSteps(ledger);
/** Requests whose first byte was written, by the document that they file. */
const written = new Map<string, number>();
const doors: ActivityDoor[] = [];
const processes: DyingProcess<DocumentStore>[] = [];

beforeEach(async () => {
  store = await newStore();
  healthy = await doorOf();
});
afterAll(async () => {
  for (const door of doors) await door.close();
  for (const { pool } of processes) await pool.end();
});

async function doorOf(process?: DyingProcess<DocumentStore>, clock = Date.now): Promise<ActivityDoor> {
  const service = {
    pushIrm: async ({ ebrcBulkGenDtos }: PushMessage, context: SubmitContext) => {
      await context.beforeWrite();
      if (process?.isDead()) throw new Error('the process has ended');
      const document = String(ebrcBulkGenDtos[0]?.sbCumInvoiceNumber);
      written.set(document, (written.get(document) ?? 0) + 1);
      const parsed = { requestId: `R-${document}-${written.get(document)}`, dgftAckId: null, ackStatus: null };
      return Promise.resolve({ status: 200, warnings: [], parsed: { ...parsed, recordResCount: 1 } });
    },
  } as unknown as FilingApi;
  const documents = process?.store ?? store;
  const pool = process?.pool ?? ledger.pool;
  const door = await openDoor(ledger, service, (deps) => ({ ...deps, documents, pool, clock }));
  doors.push(door);
  return door;
}

interface Submission {
  filingId: string;
  submission: number;
  exporterId: string;
  attemptId: string;
}

const submissionOf = (attemptId: string): Submission => ({
  filingId: partsOfAttemptId(attemptId).filingId,
  submission: 1,
  exporterId: EXPORTER,
  attemptId,
});

const newSubmission = async () => submissionOf(await attempts.opened(await attempts.filing()));

async function documentOf({ filingId }: Submission): Promise<string> {
  const { rows } = await ledger.pool.query<{ document: string }>(
    `SELECT mapping ->> 'sbCumInvoiceNumber' AS document FROM filing_rows WHERE filing_id = $1`,
    [filingId],
  );
  return rows[0]?.document ?? '';
}

/** Submits in a process of its own until that has ended or is through. */
async function submitIn(process: DyingProcess<DocumentStore>, submission: Submission): Promise<void> {
  processes.push(process);
  const door = await doorOf(process);
  const over = door.run('submitPush', submission).then(
    () => undefined,
    () => undefined,
  );
  await Promise.race([over, process.dead]);
}

/** As the run that lost the activity: two workers read the attempt, and what was not sent is sent again. */
async function recover(submission: Submission): Promise<void> {
  const { attemptId } = submission;
  const [one, other] = await Promise.all([
    healthy.run('readAttempt', { attemptId, seq: 1 }),
    healthy.run('readAttempt', { attemptId, seq: 1 }),
  ]);
  expect(other.verdict).toBe(one.verdict);
  if (one.verdict !== 'unsent') return;
  await attempts.check(submission.filingId);
  const again = await attempts.open(submission.filingId);
  if (again.outcome === 'attempt') await healthy.run('submitPush', submissionOf(again.attemptId));
}

/** Until the process has closed the attempt that it did not send, as it goes on trying to. */
async function untilClosed({ filingId }: Submission): Promise<void> {
  for (let looks = 0; looks < 100; looks += 1) {
    const [state] = await attempts.attempts(filingId);
    if (state !== 'marked') return;
    await sleep(100);
  }
}

async function expectAllWell(document: string, needed: { sent: boolean }): Promise<void> {
  expect(written.get(document) ?? 0).toBeLessThanOrEqual(1);
  if (needed.sent) expect(written.get(document)).toBe(1);
  const next = await newSubmission();
  await healthy.run('submitPush', next);
  expect(written.get(await documentOf(next))).toBe(1);
  const { seen, sendNumber } = await readIdentity(ledger.pool);
  expect(seen).toBe(sendNumber);
}

/**
 * The ways to end from the mark on: before and after each call that leaves something behind. Between two of these,
 * every end leaves the same.
 */
async function ends(faults: (store: DocumentStore) => DocumentStore = (same) => same): Promise<End[]> {
  const process = startProcess(ledger.url, faults(store));
  await submitIn(process, await newSubmission());
  const mark = process.calls.findIndex((call) => call.includes('pg_advisory_xact_lock_shared'));
  expect(mark).toBeGreaterThan(0);
  const lasting = process.calls.flatMap((call, n) =>
    n > mark && /^(?:sql (?:COMMIT|UPDATE|INSERT|WITH)|store create)/u.test(call) ? [n + 1] : [],
  );
  expect(lasting.length).toBeGreaterThan(5);
  return lasting.flatMap((at) => [false, true].map((effect) => ({ at, effect })));
}

/** A store whose next record cannot be written. */
function fullOnce(whole: DocumentStore): DocumentStore {
  let full = true;
  const createRecord: DocumentStore['createRecord'] = (name, content) => {
    if (!full) return whole.createRecord(name, content);
    full = false;
    return Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }));
  };
  return { ...whole, createRecord };
}

const SLOW = 240_000;

it.each([
  ['submits', (same: DocumentStore) => same],
  ['closes what it could not count', fullOnce],
])(
  'is safe wherever a process ends that %s',
  async (_, faults) => {
    for (const end of await ends(faults)) {
      const submission = await newSubmission();
      const document = await documentOf(submission);
      const process = startProcess(ledger.url, faults(store), end);
      await submitIn(process, submission);
      const before = written.get(document) ?? 0;
      await recover(submission);
      // Without a file under its number nothing was written: then it has been sent by now.
      const counted = process.calls.some((call) => call.startsWith('store create'));
      await expectAllWell(document, { sent: before === 1 || !counted });
    }
  },
  SLOW,
);

it(
  'is safe wherever a process ends whose ledger then goes back to before the mark',
  async () => {
    for (const end of await ends()) {
      const submission = await newSubmission();
      const document = await documentOf(submission);
      const back = await remember(ledger);
      await submitIn(startProcess(ledger.url, store, end), submission);
      await back();
      await recover(submission);
      await expectAllWell(document, { sent: false });
    }
  },
  SLOW,
);

describe.each(['createRecord', 'readRecord', 'recordsAfter', 'storeId'] as const)(
  'a store that fails at %s',
  (name) => {
    it.each([1, 2, 3])(
      'from the %s. time on, until it is mended, costs a wait and no second request',
      async (from) => {
        let calls = 0;
        let mended = false;
        const broken = (async (...args: never[]) => {
          calls += 1;
          if (calls >= from && !mended) throw Object.assign(new Error('input/output error'), { code: 'EIO' });
          return (store[name] as (...all: never[]) => Promise<unknown>)(...args);
        }) as never;
        await healthy.run('submitPush', await newSubmission());
        const submission = await newSubmission();
        const document = await documentOf(submission);
        await submitIn(startProcess(ledger.url, { ...store, [name]: broken }), submission);
        mended = true;
        await untilClosed(submission);
        await recover(submission);
        await expectAllWell(document, { sent: true });
      },
      SLOW,
    );
  },
);

it.each([-5, 5])('is marked and judged by the ledger’s time where a machine’s clock is %d hours off', async (hours) => {
  const own = () => Date.now() + hours * 60 * 60_000;
  const clock = createLedgerClock({ db: ledger.pool, logger: pino({ level: 'silent' }), own });
  await clock.job.run(new AbortController().signal);
  const submission = await newSubmission();
  const off = await doorOf(undefined, clock.now);
  await off.run('submitPush', submission);
  const { rows } = await ledger.pool.query<{ at: Date }>('SELECT marked_at AS at FROM attempts WHERE attempt_id = $1', [
    submission.attemptId,
  ]);
  expect(Math.abs((rows[0]?.at.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
});
