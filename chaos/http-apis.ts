/** The HTTP API in a run: two processes, and a caller that repeats a request until one of them answers it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../dev/free-port';
import type { Caller } from './filer';
import { COMMAND_LINE, type Stage } from './stage';
import type { Verdict } from './verdict';
import { readStandings } from './watch';
import { startWorkers, type Workers } from './workers';

const ANSWER_WITHIN_MS = 30_000;

export interface HttpApis {
  urls: string[];
  /** Of a principal that may read and file. */
  token: string;
  processes: Workers;
  caller: Caller;
  /** Every filing that was answered stands in the ledger, and no answer was an error of the HTTP API. */
  judge(): Promise<Verdict>;
}

interface Answer {
  status: number;
  body: { filingId: string; state: string; detail?: string };
}

export async function openHttpApis(stage: Stage, size = 2): Promise<HttpApis> {
  const ports = await Promise.all(Array.from({ length: size }, freePort));
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const principal = ['principals', 'add', 'chaos', '--system', '--role', 'maker', '--json'];
  const { token } = JSON.parse(await stage.command(principal)) as { token: string };
  const processes = await startWorkers({
    size,
    env: stage.childEnv,
    envOf: (nth) => ({ EBRC_HTTP: `127.0.0.1:${ports[nth]}` }),
    folder: stage.folder,
    name: 'http-api',
    program: COMMAND_LINE,
    args: ['serve'],
  });
  for (const url of urls) while (!(await fetch(`${url}/healthz`).catch(() => null))) await sleep(100);

  /** Ids of the filings that were answered, by reference. */
  const answered = new Map<string, Set<string>>();
  const problems: string[] = [];
  const count = { 201: 0, 200: 0, 503: 0, cut: 0 };
  let calls = 0;

  /** Each call goes to the other process. @throws Error without an answer, and where it says to repeat it */
  async function call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer> {
    const url = `${urls[(calls += 1) % size]}/v1/filings${path}`;
    const headers = { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) };
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const response = await fetch(url, { method, headers, body: body ? JSON.stringify(body) : null, signal })
      .then(async (answer): Promise<Answer> => ({
        status: answer.status,
        body: (await answer.json()) as Answer['body'],
      }))
      .catch((error: unknown) => {
        // A connection that is refused reached no process.
        const { code } = ((error as Error).cause ?? {}) as { code?: string };
        if (code !== 'ECONNREFUSED') count.cut += 1;
        throw error;
      });
    const { status } = response;
    if (method === 'POST' && status in count) count[status as 200 | 201 | 503] += 1;
    if (status >= 500 && status !== 503) problems.push(`${method} ${path} was answered with ${status}`);
    if (status >= 500 || status === 429) throw new Error(`${method} ${path}: ${status}`);
    return response;
  }

  return {
    urls,
    token,
    processes,
    caller: {
      async file({ message, exporter, channel }, reference) {
        const { status, body } = await call('POST', '', { message, exporter: exporter.email, channel, reference });
        if (status >= 400) return { refused: body.detail ?? String(status) };
        answered.set(reference, (answered.get(reference) ?? new Set()).add(body.filingId));
        return body;
      },
      async show(reference) {
        const { status, body } = await call('GET', `/${encodeURIComponent(reference)}`);
        if (status !== 200) throw new Error(`${reference}: ${status}`);
        return body;
      },
    },
    async judge() {
      const known = new Map((await readStandings(stage.pool)).map((filing) => [filing.filingId, filing.reference]));
      for (const [reference, ids] of answered) {
        const gone = [...ids].filter((id) => known.get(id) !== reference);
        if (gone.length > 0) problems.push(`answered, and not in the ledger: ${reference} (${gone.join(', ')})`);
        if (ids.size > 1) problems.push(`answered with ${ids.size} filings: ${reference}`);
      }
      return {
        problems: [...problems, ...processes.problems],
        figures: [
          ['POSTs answered 201, 200, 503', `${count[201]}, ${count[200]}, ${count[503]}`],
          ['requests cut off', count.cut],
          ['answered filings that are in the ledger', answered.size],
        ],
      };
    },
  };
}
