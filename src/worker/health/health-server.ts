import { extname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import {
  beatNow,
  type HealthMessage,
  type HealthThreadData,
  type HealthThreadMessage,
  type ReadinessCheck,
} from './health-state';

/** Interval at which the main thread reports that its event loop runs. */
const BEAT_MS = 500;
/**
 * Without such a report for this long the event loop counts as blocked; with the supervisor's interval this is visible
 * within ten seconds.
 */
const BEAT_LIMIT_MS = 5_000;
const CHECK_EVERY_MS = 2_000;
/** Time-out of one check; then it has failed. */
const CHECK_WITHIN_MS = 3_000;
const CHECKS_LIMIT_MS = 8_000;

/** Checks one thing that the worker needs. Resolves with a sentence for the reader; rejects with the problem. */
export interface HealthProbe {
  name: string;
  look: (signal: AbortSignal) => Promise<string>;
}

export interface HealthServer {
  host: string;
  port: number;
  /** From now on the worker is ready if every probe succeeds. Until then `/readyz` reports that it is starting. */
  watch(probes: readonly HealthProbe[]): void;
  /** `/readyz` reports at once that the worker is stopping; `/healthz` continues to answer. */
  stopping(): void;
  close(): Promise<void>;
}

/**
 * Serves `/healthz` (200 while the event loop of this thread runs) and `/readyz` (200 while every probe succeeds) as
 * JSON.
 * @param address `host:port`; port 0 takes a free one
 * @throws Error if it cannot listen on the address
 */
export async function startHealthServer(
  { host, port }: { host: string; port: number },
  options: { execArgv?: string[] } = {},
): Promise<HealthServer> {
  const beat = new SharedArrayBuffer(8);
  beatNow(beat);
  const workerData: HealthThreadData = {
    host,
    port,
    beat,
    beatLimitMs: BEAT_LIMIT_MS,
    checksLimitMs: CHECKS_LIMIT_MS,
  };
  // The thread does not need the environment, which contains keys.
  const thread = new Worker(join(__dirname, `health-thread${extname(__filename)}`), {
    workerData,
    env: {},
    ...options,
  });
  const bound = await listening(thread, `${host}:${port}`);
  const beating = setInterval(() => beatNow(beat), BEAT_MS);
  beating.unref();
  // The health server must not keep a worker alive that has ended.
  thread.unref();
  const ended = new AbortController();
  let stop = false;
  let checks: ReadinessCheck[] | undefined;

  function publish(): void {
    if (!checks && !stop) return;
    const stopCheck = { name: 'stopping', ok: !stop, message: stop ? 'the worker is stopping' : 'no' };
    thread.postMessage({
      checks: [...(checks ?? []), stopCheck],
      atNs: process.hrtime.bigint(),
    } satisfies HealthMessage);
  }

  async function check(probes: readonly HealthProbe[]): Promise<void> {
    while (!ended.signal.aborted) {
      checks = await Promise.all(probes.map(probe));
      publish();
      await sleep(CHECK_EVERY_MS, undefined, { ref: false, signal: ended.signal }).catch(() => undefined);
    }
  }

  return {
    host,
    port: bound,
    watch: (probes) => void check(probes),
    stopping: () => {
      stop = true;
      publish();
    },
    close: async () => {
      ended.abort();
      clearInterval(beating);
      await thread.terminate();
    },
  };
}

function listening(thread: Worker, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`EBRC_HEALTH: cannot listen on ${address}: ${why}`));
    thread.once('error', (error) => fail(error.message));
    thread.once('message', (message: HealthThreadMessage) => {
      if ('error' in message) fail(message.error);
      else resolve(message.port);
    });
  });
}

async function probe({ name, look }: HealthProbe): Promise<ReadinessCheck> {
  const late = new AbortController();
  try {
    const silence = sleep(CHECK_WITHIN_MS, undefined, { ref: false, signal: late.signal }).then(() => {
      throw new Error(`no answer within ${CHECK_WITHIN_MS / 1_000} s`);
    });
    const signal = AbortSignal.timeout(CHECK_WITHIN_MS);
    return { name, ok: true, message: await Promise.race([look(signal), silence]) };
  } catch (error) {
    return { name, ok: false, message: error instanceof Error ? error.message : String(error) };
  } finally {
    late.abort();
  }
}
