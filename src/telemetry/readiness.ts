/** Readiness of a process: whether the servers that it needs answer. */
import type { Client } from '@temporalio/client';
import type pg from 'pg';

const WITHIN_MS = 2_500;
/** How long a result is reused, because a caller without a token must not be able to keep the servers busy. */
const CACHED_FOR_MS = 1_000;

/** Checks one server that the process needs. `look` resolves with its state as text, or rejects with the problem. */
export interface Probe {
  name: string;
  look: () => Promise<string>;
}

/** The result of one probe. `message`: the state or the problem, without secrets. */
export interface ReadinessCheck {
  name: string;
  ok: boolean;
  message: string;
}

/** How workers and the HTTP API answer with their checks. */
export function healthAnswer(checks: readonly ReadinessCheck[]) {
  const ok = checks.every((check) => check.ok);
  return { code: ok ? 200 : 503, body: { status: ok ? 'ok' : 'failing', checks } };
}

/** An error whose message may be shown; those of others may name hosts and users. */
export class NotReady extends Error {}

/** Checks that PostgreSQL answers and accepts writes. */
export const postgresqlProbe = (pool: pg.Pool): Probe => ({
  name: 'postgresql',
  look: async () => {
    const { rows } = await pool.query<{ away: boolean }>('SELECT pg_is_in_recovery() AS away');
    if (rows[0]?.away) throw new NotReady('the server is a standby and takes no writes');
    return 'answers';
  },
});

/** Checks that Temporal answers a call that needs no namespace and changes nothing. */
export const temporalProbe = (client: Client): Probe => ({
  name: 'temporal',
  look: async () => {
    const { connection } = client;
    await connection.withDeadline(Date.now() + WITHIN_MS, () => connection.workflowService.getSystemInfo({}));
    return 'answers';
  },
});

/** Makes all probes in parallel. Callers share a running check, and its result for a short time. */
export function readinessOf(probes: readonly Probe[]): () => Promise<ReadinessCheck[]> {
  let last: { answer: Promise<ReadinessCheck[]>; at: number } | undefined;
  return () => {
    if (!last || performance.now() - last.at > CACHED_FOR_MS) {
      const next = { answer: Promise.all(probes.map(check)), at: Infinity };
      void next.answer.finally(() => (next.at = performance.now()));
      last = next;
    }
    return last.answer;
  };
}

async function check({ name, look }: Probe): Promise<ReadinessCheck> {
  try {
    return { name, ok: true, message: await within(WITHIN_MS, look(), () => new NotReady('no answer in time')) };
  } catch (error) {
    return { name, ok: false, message: error instanceof NotReady ? error.message : 'does not answer' };
  }
}

/** The result of `work` within `ms`. @throws the error of `late` otherwise; the work continues */
export function within<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(late()), ms)));
  return Promise.race([work, silence]).finally(() => clearTimeout(timer));
}
