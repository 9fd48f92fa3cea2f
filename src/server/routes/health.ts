/** Health, readiness and metrics, as the worker serves them. Without a token: they tell nothing of an exporter. */
import type { FastifyInstance } from 'fastify';
import { postgresqlProbe, readinessOf, temporalProbe } from '../../telemetry/readiness';
import type { Door } from '../context';

export function addHealthRoutes(app: FastifyInstance, { deps: { pool, temporal }, metrics, isStopping }: Door): void {
  app.get('/healthz', { schema: { hide: true } }, () => ({ ok: true }));

  const look = readinessOf([postgresqlProbe(pool), temporalProbe(temporal)]);
  app.get('/readyz', { schema: { hide: true } }, async (_request, reply) => {
    const stop = { name: 'stopping', ok: !isStopping(), message: isStopping() ? 'the door is stopping' : 'no' };
    const checks = [...(await look()), stop];
    const ok = checks.every((each) => each.ok);
    return reply.code(ok ? 200 : 503).send({ ok, checks });
  });

  app.get('/metrics', { schema: { hide: true } }, (_request, reply) =>
    reply.header('content-type', 'text/plain; version=0.0.4; charset=utf-8').send(metrics.text()),
  );
}
