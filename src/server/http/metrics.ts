/** Counts what is asked and how long the answers take. */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { CALLER_GONE } from './problem';

/** Gives every answer its headers, and counts and logs every request. */
export function observeRequests(app: FastifyInstance, metrics: ReturnType<typeof createMetrics>, logger: Logger): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    void reply.header('x-request-id', request.id);
    if (!reply.hasHeader('cache-control')) void reply.header('cache-control', 'no-store');
    done();
  });
  app.addHook('onRequest', (request, reply, done) => {
    // Fastify's `onResponse` hook does not run for a caller that has gone.
    reply.raw.once('close', () => {
      const { statusCode, elapsedTime } = reply;
      const status = reply.raw.writableFinished ? statusCode : CALLER_GONE;
      const route = `${request.method} ${request.routeOptions.url ?? 'none'}`;
      metrics.observe({ route, status, seconds: elapsedTime / 1_000 });
      logger.info({ operation: route, status, requestId: request.id }, 'request answered');
    });
    done();
  });
}

/** Upper bounds of the histogram, in seconds. */
const BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60] as const;

/** Counts and durations of requests, in Prometheus's text format. */
export function createMetrics() {
  const requests = new Map<string, number>();
  const durations = new Map<string, { counts: number[]; sum: number; count: number }>();
  return {
    observe({ route, status, seconds }: { route: string; status: number; seconds: number }): void {
      const labels = `route="${route}",status="${status}"`;
      requests.set(labels, (requests.get(labels) ?? 0) + 1);
      const series = durations.get(route) ?? { counts: BUCKETS.map(() => 0), sum: 0, count: 0 };
      BUCKETS.forEach((bound, at) => (series.counts[at] = (series.counts[at] ?? 0) + (seconds <= bound ? 1 : 0)));
      series.sum += seconds;
      series.count += 1;
      durations.set(route, series);
    },
    text(): string {
      const lines = [
        '# HELP ebrc_http_requests_total Requests by route and status.',
        '# TYPE ebrc_http_requests_total counter',
        ...[...requests].map(([labels, count]) => `ebrc_http_requests_total{${labels}} ${count}`),
        '# HELP ebrc_http_request_seconds Time to the answer, by route.',
        '# TYPE ebrc_http_request_seconds histogram',
      ];
      for (const [route, { counts, sum, count }] of durations) {
        BUCKETS.forEach((bound, at) => {
          lines.push(`ebrc_http_request_seconds_bucket{route="${route}",le="${bound}"} ${counts[at] ?? 0}`);
        });
        lines.push(`ebrc_http_request_seconds_bucket{route="${route}",le="+Inf"} ${count}`);
        lines.push(`ebrc_http_request_seconds_sum{route="${route}"} ${sum}`);
        lines.push(`ebrc_http_request_seconds_count{route="${route}"} ${count}`);
      }
      return `${lines.join('\n')}\n`;
    },
  };
}
