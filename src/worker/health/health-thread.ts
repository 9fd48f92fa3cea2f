/**
 * Answers `/healthz` and `/readyz` from a separate thread, so that a blocked event loop of the main thread is visible.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import {
  msSince,
  msSinceBeat,
  type HealthMessage,
  type HealthThreadData,
  type HealthThreadMessage,
  type ReadinessCheck,
} from './health-state';

const { host, port, beat, beatLimitMs, checksLimitMs } = workerData as HealthThreadData;
let latest: HealthMessage | undefined;

parentPort?.on('message', (message: HealthMessage) => (latest = message));

function eventLoop(): ReadinessCheck {
  const ms = msSinceBeat(beat);
  const ok = ms <= beatLimitMs;
  return { name: 'event loop', ok, message: ok ? 'alive' : `has not turned for ${Math.round(ms / 1_000)} s` };
}

function readiness(): ReadinessCheck[] {
  const loop = eventLoop();
  if (!latest) return [loop, { name: 'started', ok: false, message: 'the worker is starting' }];
  const age = msSince(latest.atNs);
  // Otherwise a running event loop with hanging checks would stay ready because of an old result.
  const stale = age > checksLimitMs;
  const message = `the last checks are ${Math.round(age / 1_000)} s old`;
  return [loop, ...latest.checks, ...(stale ? [{ name: 'checks', ok: false, message }] : [])];
}

function answer(response: ServerResponse, checks: ReadinessCheck[]): void {
  const ok = checks.every((check) => check.ok);
  response.writeHead(ok ? 200 : 503, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify({ status: ok ? 'ok' : 'failing', checks })}\n`);
}

const server = createServer((request, response) => {
  const path = request.url?.split('?')[0];
  if (request.method !== 'GET' && request.method !== 'HEAD') response.writeHead(405, { allow: 'GET, HEAD' }).end();
  else if (path === '/healthz') answer(response, [eventLoop()]);
  else if (path === '/readyz') answer(response, readiness());
  else response.writeHead(404).end();
});

const send = (message: HealthThreadMessage) => parentPort?.postMessage(message);
server.on('error', (error) => send({ error: error.message }));
server.listen(port, host, () => send({ port: (server.address() as AddressInfo).port }));
