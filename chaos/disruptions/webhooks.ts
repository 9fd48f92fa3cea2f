/** Endpoints of webhooks in a run: one sound, the others hang, cut, answer late or with 503, and come back. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { Stage } from '../stage';
import type { Verdict } from '../verdict';

/** From its first request on, until an endpoint comes back: workers try it three times or so. */
const AWAY_MS = 30_000;
/** Longer than workers wait for an answer. */
const LATE_MS = 17_000;
/** After the filings; the longest pause between two tries of an endpoint that was away that long is a minute. */
const TOLD_WITHIN_MS = 180_000;
/** Half of the events have to be with the sound endpoint after so long. A hanging request takes three times that. */
const SOON_MS = 5_000;

interface Behaviour {
  /** Answers a request, or does not. */
  answer: (response: ServerResponse, of: { away: boolean; nth: number }) => Promise<void> | void;
  /** It asks for every second exporter alone. */
  half?: boolean;
}

const take = (response: ServerResponse) => void response.writeHead(204).end();

const BEHAVIOURS: Record<string, Behaviour> = {
  sound: { answer: take },
  hangs: { answer: (response, { away }) => (away ? undefined : take(response)), half: true },
  cuts: {
    answer: (response, { away, nth }) => (away || nth % 40 === 0 ? void response.destroy() : take(response)),
  },
  late: { answer: async (response, { away }) => sleep(away ? LATE_MS : 100).then(() => take(response)) },
  unavailable: { answer: (response, { away }) => (away ? void response.writeHead(503).end() : take(response)) },
};

/** An event of a filing as the ledger has it. */
interface Happened {
  id: string;
  filingId: string;
  exporterId: string;
}

interface Endpoint {
  name: string;
  server: Server;
  /** Ids of the exporters that it asked for; null: all. */
  exporters: ReadonlySet<string> | null;
  requests: number;
  /** Events of filings in the order of their first arrivals, and after how many ms each came. */
  arrived: Map<string, { filingId: string; afterMs: number }>;
  /** Ids of the events that it answered with 2xx. */
  taken: Set<string>;
  problems: Set<string>;
}

export interface Webhooks {
  /**
   * Waits until everything is told: every event of every filing arrived at every endpoint that asked for it, signed and
   * in the order of its filing, and soon at the sound one. Closes the endpoints.
   */
  judge(): Promise<Verdict>;
}

export async function openWebhooks(stage: Stage): Promise<Webhooks> {
  const ids = (await stage.client.exporters()).map(({ exporterId }) => exporterId);
  const half = ids.filter((_id, nth) => nth % 2 === 0);
  const endpoints: Endpoint[] = [];
  for (const [name, behaviour] of Object.entries(BEHAVIOURS))
    endpoints.push(await openEndpoint(stage, name, behaviour, behaviour.half ? half : null));
  return {
    async judge() {
      const deadline = Date.now() + TOLD_WITHIN_MS;
      let happened = await readEvents(stage);
      while (endpoints.some((one) => untold(one, happened).length > 0) && Date.now() < deadline) {
        await sleep(1_000);
        happened = await readEvents(stage);
      }
      for (const { server } of endpoints) {
        server.closeAllConnections();
        server.close();
      }
      return verdictOf(endpoints, happened);
    },
  };
}

async function openEndpoint(
  stage: Stage,
  name: string,
  { answer }: Behaviour,
  exporters: string[] | null,
): Promise<Endpoint> {
  let secret = '';
  let backAt = 0;
  const server = createServer((request, response) => void receive(request, response));
  const endpoint: Endpoint = {
    name,
    server,
    exporters: exporters && new Set(exporters),
    requests: 0,
    arrived: new Map(),
    taken: new Set(),
    problems: new Set(),
  };

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A killed worker may send half a request.
    const body = await text(request).catch(() => null);
    if (body === null) return;
    const nth = (endpoint.requests += 1);
    if (nth === 1) backAt = Date.now() + AWAY_MS;
    try {
      new Webhook(secret).verify(body, request.headers as Record<string, string>);
    } catch (error) {
      endpoint.problems.add(`a request does not verify: ${(error as Error).message}`);
    }
    const { id, time, data } = JSON.parse(body) as { id: string; time: string; data: Partial<Happened> };
    if (request.headers['webhook-id'] !== id) endpoint.problems.add(`an event has another webhook-id: ${id}`);
    const { filingId, exporterId = '' } = data;
    if (exporters && !exporters.includes(exporterId)) endpoint.problems.add(`told of ${exporterId}, unasked`);
    if (filingId !== undefined && !endpoint.arrived.has(id))
      endpoint.arrived.set(id, { filingId, afterMs: Date.now() - Date.parse(time) });
    response.once('finish', () => response.statusCode === 204 && endpoint.taken.add(id));
    await answer(response, { away: Date.now() < backAt, nth });
  }

  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`;
  const asked = (exporters ?? []).flatMap((id) => ['--exporter', id]);
  ({ secret } = JSON.parse(await stage.command(['webhooks', 'add', url, ...asked, '--json'])) as { secret: string });
  return endpoint;
}

/** In the order in which they happened, which is that of each filing. */
async function readEvents({ pool }: Stage): Promise<Happened[]> {
  const { rows } = await pool.query<Happened>(
    `SELECT event_id AS id, filing_id AS "filingId", exporter_id AS "exporterId" FROM events
      WHERE type IS NOT NULL AND filing_id IS NOT NULL ORDER BY ordinal`,
  );
  return rows;
}

const askedFor = ({ exporters }: Endpoint, happened: readonly Happened[]) =>
  happened.filter(({ exporterId }) => exporters?.has(exporterId) ?? true);

const untold = (endpoint: Endpoint, happened: readonly Happened[]) =>
  askedFor(endpoint, happened).filter(({ id }) => !endpoint.taken.has(id));

function verdictOf(endpoints: readonly Endpoint[], happened: readonly Happened[]): Verdict {
  const problems = endpoints.flatMap((endpoint) => [
    ...[...endpoint.problems, ...outOfOrder(endpoint, happened)].map((text) => `endpoint "${endpoint.name}": ${text}`),
    ...untold(endpoint, happened).map(({ id, filingId }) => `"${endpoint.name}" was not told ${id} of ${filingId}`),
  ]);
  const delays = [...(endpoints[0]?.arrived.values() ?? [])].map(({ afterMs }) => afterMs).sort((a, b) => a - b);
  const [median = Infinity, longest = Infinity] = [delays[Math.floor(delays.length / 2)], delays.at(-1)];
  if (median > SOON_MS) problems.push(`half of the events came to the sound endpoint after more than ${median} ms`);
  const each = (figure: (endpoint: Endpoint) => number) => endpoints.map(figure).join(', ');
  return {
    problems,
    figures: [
      [`events told (${endpoints.map(({ name }) => name).join(', ')})`, each(({ arrived }) => arrived.size)],
      ['… in so many requests', each(({ requests }) => requests)],
      ['… to the sound one after, median and longest (s)', [median, longest].map(seconds).join(', ')],
    ],
  };
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1);

/** Filings whose events arrived in another order than they happened. */
function outOfOrder(endpoint: Endpoint, happened: readonly Happened[]): string[] {
  const places = new Map(happened.map(({ id }, place) => [id, place]));
  const last = new Map<string, number>();
  const wrong = new Set<string>();
  for (const [id, { filingId }] of endpoint.arrived) {
    const place = places.get(id) ?? Infinity;
    if (place < (last.get(filingId) ?? 0)) wrong.add(filingId);
    last.set(filingId, place);
  }
  return [...wrong].map((filingId) => `${filingId} was told in another order`);
}
