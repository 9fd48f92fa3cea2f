/**
 * Deliveries a second of one built worker to ten endpoints, whose receiver answers after 50 ms, and its memory
 * meanwhile. Each endpoint is told of an exporter of its own, one request at a time.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { addWebhook } from '../src/starter/webhooks';
import { openFilingBench } from './support/filing-bench';
import { residentMb } from './support/process-cost';
import { quietRuntime } from './support/quiet-runtime';
import { report } from './support/report';
import { runBench } from './support/run-bench';

const EVENTS = Number(process.env['BENCH_EVENTS'] ?? 10_000);
const ENDPOINTS = 10;
const ANSWER_MS = 50;
const EVENTS_OF_A_FILING = 10;
/** The part of the deliveries at the beginning, and at the end, whose highest memory is compared. */
const PART = 0.2;
const TARGETS = { rate: 100, growth: 1.2 };
const LOOK_EVERY_MS = 250;
const STUCK_MS = 60_000;

type Bench = Awaited<ReturnType<typeof openFilingBench>>;

/** What arrived, at whatever endpoint. */
async function startReceiver() {
  const told = new Set<string>();
  const lastOf = new Map<string, number>();
  const seen = { requests: 0, disordered: 0, open: 0, mostOpen: 0, firstAt: 0, lastAt: 0 };
  const server = createServer((request, response) => {
    seen.mostOpen = Math.max(seen.mostOpen, (seen.open += 1));
    void json(request).then(async (body) => {
      const { id, subject, data } = body as { id: string; subject: string; data: { sequence: number } };
      seen.lastAt = performance.now();
      if ((seen.requests += 1) === 1) seen.firstAt = seen.lastAt;
      if (!told.has(id) && data.sequence < (lastOf.get(subject) ?? 0)) seen.disordered += 1;
      lastOf.set(subject, data.sequence);
      told.add(id);
      await sleep(ANSWER_MS);
      seen.open -= 1;
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { url, told, seen, close: () => (server.closeAllConnections(), server.close()) };
}

/** Commits all events at once, by turns of each filing. */
async function happen({ stage }: Bench, exporters: readonly string[]): Promise<void> {
  await stage.pool.query(
    `INSERT INTO events (mode, type, exporter_id, filing_id, subject, data)
     SELECT 'test', 'ebrc.filing.processing', ($1::text[])[1 + filing % $2], 'F-' || filing, 'F-' || filing,
            jsonb_build_object('filingId', 'F-' || filing, 'sequence', sequence)
       FROM generate_series(1, $3) AS sequence, generate_series(1, $4) AS filing ORDER BY sequence, filing`,
    [exporters, exporters.length, EVENTS_OF_A_FILING, EVENTS / EVENTS_OF_A_FILING],
  );
}

async function main(): Promise<void> {
  quietRuntime();
  const variables = { EBRC_WEBHOOK_HOSTS: '127.0.0.1', LOG_LEVEL: 'warn' };
  const bench = await openFilingBench({ ackDelayMs: 24 * 3_600_000, variables });
  const receiver = await startReceiver();
  const { seen, told } = receiver;
  try {
    const { pool } = bench.stage;
    const exporters = (await bench.stage.client.exporters()).slice(0, ENDPOINTS).map(({ exporterId }) => exporterId);
    for (const exporterId of exporters)
      await addWebhook({ pool, mode: 'test' }, { url: receiver.url, exporters: [exporterId], by: 'bench' });
    const memory = () => residentMb(bench.workers.pids()[0]!);
    const atStart = memory();
    const before = bench.cpu();
    await happen(bench, exporters);
    const looks: { told: number; mb: number }[] = [];
    for (let movedAt = performance.now(); told.size < EVENTS; await sleep(LOOK_EVERY_MS)) {
      movedAt = Math.max(movedAt, seen.lastAt);
      if (performance.now() - movedAt > STUCK_MS) throw new Error(`only ${told.size} events were told`);
      looks.push({ told: told.size, mb: memory() });
    }
    const rate = (seen.requests * 1_000) / (seen.lastAt - seen.firstAt);
    const after = bench.cpu();
    const mostMb = (from: number, to: number) =>
      Math.max(...looks.filter(({ told }) => told >= from * EVENTS && told <= to * EVENTS).map(({ mb }) => mb));
    const [first, last] = [mostMb(0, PART), mostMb(1 - PART, 1)];
    const cpuMs = (part: string) => Number((((after[part] ?? NaN) - (before[part] ?? NaN)) / EVENTS).toFixed(2));
    const figures = {
      'events told': { value: told.size },
      '… in requests': { value: seen.requests },
      '… at once, at most': { value: seen.mostOpen },
      'deliveries a second': { value: Number(rate.toFixed(1)) },
      'CPU of one, worker (ms)': { value: cpuMs('worker') },
      'CPU of one, PostgreSQL (ms)': { value: cpuMs('PostgreSQL') },
      'memory at the start (MB)': { value: atStart },
      '… most in the first fifth (MB)': { value: first },
      '… most in the last fifth (MB)': { value: last },
    };
    report('webhooks', figures, [
      { goal: `${TARGETS.rate} deliveries a second`, met: rate >= TARGETS.rate },
      {
        goal: `at most ${TARGETS.growth} of the memory (${(last / first).toFixed(2)})`,
        met: last <= TARGETS.growth * first,
      },
      { goal: 'in order for each filing', met: seen.disordered === 0 },
    ]);
  } finally {
    receiver.close();
    await bench.stop();
  }
}

runBench(main);
