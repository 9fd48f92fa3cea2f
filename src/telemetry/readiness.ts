/** What supervisors ask a process: whether the servers that it needs answer. */
import type { Client } from '@temporalio/client';
import type pg from 'pg';

const WITHIN_MS = 2_500;
/** What was seen is answered for this long: who needs no token must not be able to keep the servers busy. */
const SEEN_FOR_MS = 1_000;

/** Checks one thing that the process needs. Resolves with a sentence for the reader; rejects with the problem. */
export interface Probe {
  name: string;
  look: () => Promise<string>;
}

/** The result of one probe. `message` is the problem, or the state; without secrets. */
export interface ReadinessCheck {
  name: string;
  ok: boolean;
  message: string;
}

/** A reason that may be shown: the words of other errors may name hosts and users. */
export class NotReady extends Error {}

/** Checks that PostgreSQL answers and takes writes. */
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

/** All probes at once. One look at a time, whose result everybody gets who asks until it is old. */
export function readinessOf(probes: readonly Probe[]): () => Promise<ReadinessCheck[]> {
  let last: { answer: Promise<ReadinessCheck[]>; at: number } | undefined;
  return () => {
    if (!last || performance.now() - last.at > SEEN_FOR_MS) {
      const own = { answer: Promise.all(probes.map(check)), at: Infinity };
      void own.answer.finally(() => (own.at = performance.now()));
      last = own;
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

/** What `work` comes to, if that is in time. @throws what `late` makes if it is not; the work goes on */
export function within<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(late()), ms)));
  return Promise.race([work, silence]).finally(() => clearTimeout(timer));
}
