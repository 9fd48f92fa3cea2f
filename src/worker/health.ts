import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Worker } from '@temporalio/worker';
import { healthAnswer, NotReady, readinessOf, type Probe, type ReadinessCheck } from '../telemetry/readiness';

export interface HealthServer {
  host: string;
  port: number;
  /** From now on `/readyz` reports the probes; until then, that the worker is starting. */
  watch(probes: readonly Probe[]): void;
  /** From now on `/readyz` reports that the worker is stopping; `/healthz` continues to answer. */
  stopping(): void;
  close(): Promise<void>;
}

/**
 * Serves `/healthz` (the event loop runs), `/startedz` (servers were reached) and `/readyz` (every probe succeeds).
 * Port 0 chooses a free one.
 * @throws Error if it cannot listen
 */
export async function startHealthServer({ host, port }: { host: string; port: number }): Promise<HealthServer> {
  let look = readinessOf([{ name: 'started', look: () => Promise.reject(new NotReady('the worker is starting')) }]);
  let started = false;
  let stopping = false;
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') response.writeHead(405, { allow: 'GET, HEAD' }).end();
    else if (path === '/healthz') answer(response, []);
    else if (path === '/startedz')
      answer(response, [
        { name: 'started', ok: started, message: started ? 'has reached its servers' : 'the worker is starting' },
      ]);
    else if (path === '/readyz' && stopping)
      answer(response, [{ name: 'stopping', ok: false, message: 'the worker is stopping' }]);
    else if (path === '/readyz') void look().then((checks) => answer(response, checks));
    else response.writeHead(404).end();
  });
  // `unref`: the health server must not keep a worker alive that has ended.
  server.listen(port, host).unref();
  await once(server, 'listening').catch((error: Error) => {
    throw new Error(`EBRC_HEALTH: cannot listen on ${host}:${port}: ${error.message}`);
  });
  return {
    host,
    port: (server.address() as AddressInfo).port,
    watch: (probes) => {
      started = true;
      look = readinessOf(probes);
    },
    stopping: () => (stopping = true),
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function answer(response: ServerResponse, checks: ReadinessCheck[]): void {
  const { code, body } = healthAnswer(checks);
  response.writeHead(code, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}

/** Checks that every worker of this process runs and polls its task queue. */
export function pollersProbe(workers: readonly Worker[]): Probe {
  return {
    name: 'pollers',
    look: () => {
      const idle = workers.filter((worker) => !polls(worker)).map(({ options }) => options.taskQueue);
      if (idle.length === 0) return Promise.resolve(`${workers.length} task queues are polled`);
      return Promise.reject(new NotReady(`these task queues are not polled: ${idle.join(', ')}`));
    },
  };
}

function polls(worker: Worker): boolean {
  const { runState, workflowPollerState, activityPollerState } = worker.getStatus();
  if (runState !== 'RUNNING') return false;
  // A worker without workflows reports its workflow poller as shut down.
  const workflows = worker.options.workflowBundle === undefined || workflowPollerState === 'POLLING';
  return workflows && activityPollerState === 'POLLING';
}
