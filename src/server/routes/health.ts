/** Health, readiness and metrics, as the worker serves them. Without a token: they tell nothing of an exporter. */
import type { FastifyInstance } from 'fastify';
import type { Door } from '../context';

const WITHIN_MS = 2_500;
/** What was seen is answered for this long: who needs no token must not be able to keep the servers busy. */
const SEEN_FOR_MS = 1_000;

export function addHealthRoutes(app: FastifyInstance, { deps: { pool, temporal }, metrics, isStopping }: Door): void {
  app.get('/healthz', { schema: { hide: true } }, () => ({ ok: true }));

  const look = shared(() =>
    Promise.all([
      check('postgresql', async () => {
        const { rows } = await pool.query<{ away: boolean }>('SELECT pg_is_in_recovery() AS away');
        if (rows[0]?.away) throw new Error('the server is a standby and takes no writes');
      }),
      check('temporal', async () => {
        const { connection } = temporal;
        await connection.withDeadline(Date.now() + WITHIN_MS, () => connection.workflowService.getSystemInfo({}));
      }),
    ]),
  );

  app.get('/readyz', { schema: { hide: true } }, async (_request, reply) => {
    const servers = await look();
    const stop = { name: 'stopping', ok: !isStopping(), message: isStopping() ? 'the door is stopping' : 'no' };
    const checks = [...servers, stop];
    const ok = checks.every((each) => each.ok);
    return reply.code(ok ? 200 : 503).send({ ok, checks });
  });

  app.get('/metrics', { schema: { hide: true } }, (_request, reply) =>
    reply.header('content-type', 'text/plain; version=0.0.4; charset=utf-8').send(metrics.text()),
  );
}

async function check(name: string, look: () => Promise<void>) {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), WITHIN_MS);
  });
  try {
    await Promise.race([look(), silence]);
    return { name, ok: true, message: 'answers' };
  } catch {
    // Its words may name hosts and users.
    return { name, ok: false, message: 'does not answer, or takes no writes' };
  } finally {
    clearTimeout(timer);
  }
}

/** One look at a time, whose answer everybody gets who asks until it is old. */
function shared<T>(look: () => Promise<T>): () => Promise<T> {
  let last: { answer: Promise<T>; at: number } | undefined;
  return () => {
    if (!last || performance.now() - last.at > SEEN_FOR_MS) {
      const own = { answer: look(), at: Infinity };
      void own.answer.finally(() => (own.at = performance.now()));
      last = own;
    }
    return last.answer;
  };
}
