/**
 * What the HTTP API adds: a filing read at 32 connections beside the same statements by `pg` alone; a filing of one row
 * beside the typed client's start; the memory of the process at 1,000 reads a second; what 200 callers in
 * `Prefer: wait=60` cost the ledger; and a read among 10,000 connections. With real servers, one built worker and one
 * built `ebrc serve`; ratios of one run.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import pino from 'pino';
import { Pool } from 'undici';
import { openHttpApis } from '../chaos/http-apis';
import { filingSettings, loadConfig } from '../src/config/config';
import { createDocumentStore } from '../src/documents/document-store';
import { forEachLimited } from '../src/domain/values';
import { startHttpApi } from '../src/server/http-api';
import { cpuTimes, residentMb } from './support/process-cost';
import { standInCrowd } from './support/crowd';
import { openFilingBench } from './support/filing-bench';
import { quietRuntime } from './support/quiet-runtime';
import { report } from './support/report';
import { runBench } from './support/run-bench';
import { statementsOf, textOf, type Statement } from './support/statements';

const CONNECTIONS = 32;
const READS = 4_000;
const FILINGS = 100;
const READS_A_SECOND = 1_000;
const STEADY_S = 20;
const WAITING = 200;
const WATCHED_S = 10;
const CROWDED_S = 15;
/** Connections to PostgreSQL of one HTTP API (`ebrc serve`). */
const HTTP_API_POOL = 10;
const TARGETS = { readRatio: 3, fileRatio: 1.3, memoryMb: 200, looksASecond: 1.2, crowd: 9_900, crowdedMb: 512 };

type Bench = Awaited<ReturnType<typeof openFilingBench>>;
/** An HTTP API in this process, whose statements can be seen. */
function openOwnHttpApi({ stage }: Bench) {
  const documents = createDocumentStore({ root: stage.documentsRoot });
  const settings = filingSettings(loadConfig({}, { need: ['tuning', 'filing'] }));
  const named = { mode: 'test' as const, taskQueue: 'ebrc', settings };
  const deps = { pool: stage.pool, temporal: stage.temporal, documents, ...named };
  return startHttpApi({ deps, logger: pino({ level: 'silent' }), address: { host: '127.0.0.1', port: 0 } });
}

function callerOf(url: string, token: string, connections: number) {
  const http = new Pool(url, { connections, headersTimeout: 90_000 });
  return {
    ask: async (method: 'GET' | 'POST', path: string, json?: unknown, headers: Record<string, string> = {}) => {
      const { statusCode, body } = await http.request({
        method,
        path: `/v1/filings${path}`,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        body: json === undefined ? null : JSON.stringify(json),
      });
      const text = await body.text();
      if (statusCode >= 300) throw new Error(`${method} ${path} was answered with ${statusCode}: ${text}`);
    },
    close: () => http.destroy(),
  };
}

const inMs = async (work: () => Promise<unknown>) => {
  const from = performance.now();
  await work();
  return performance.now() - from;
};

const median = (times: number[]) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN;

/** In turns, one at a time. @returns the medians in ms */
async function filedBoth({ next, stage }: Bench, { ask }: ReturnType<typeof callerOf>) {
  const [over, typed]: [number[], number[]] = [[], []];
  for (let nth = 0; nth < FILINGS; nth += 1) {
    const { exporterId: exporter, ...one } = next();
    over.push(await inMs(() => ask('POST', '', { exporter, ...one })));
    const { exporterId, reference, message } = next();
    const request = { source: { message }, exporter: exporterId, reference, madeBy: 'bench' };
    typed.push(await inMs(() => stage.client.file(request)));
  }
  return { over: median(over), typed: median(typed) };
}

/** In turns. @returns how many a second */
async function readBoth({ stage }: Bench, { ask }: ReturnType<typeof callerOf>, statements: readonly Statement[]) {
  const own = new pg.Pool({ connectionString: stage.databaseUrl, max: HTTP_API_POOL });
  const [token, filing, ...rest] = statements as [Statement, Statement, ...Statement[]];
  const alone = async () => {
    await own.query(...token);
    await own.query(...filing);
    await Promise.all(rest.map((statement) => own.query(...statement)));
  };
  const throughHttpApi = () => ask('GET', '/BENCH-1');
  const rateOf = async (work: () => Promise<unknown>) =>
    (READS * 1_000) /
    (await inMs(() => forEachLimited([...Array(READS).keys()], CONNECTIONS, async () => void (await work()))));
  try {
    await rateOf(alone);
    await rateOf(throughHttpApi);
    const rounds = [];
    for (let round = 0; round < 3; round += 1)
      rounds.push({ alone: await rateOf(alone), httpApi: await rateOf(throughHttpApi) });
    return { alone: median(rounds.map((one) => one.alone)), httpApi: median(rounds.map((one) => one.httpApi)) };
  } finally {
    await own.end();
  }
}

/** Reads at a fixed pace, whether or not they are answered. */
async function readSteadily({ stage }: Bench, { ask }: ReturnType<typeof callerOf>, pid: number) {
  const TICK_MS = 20;
  const times: number[] = [];
  const reads: Promise<void>[] = [];
  let mostMb = 0;
  const cpu = () => cpuTimes({ httpApi: pid, PostgreSQL: stage.postgresPid });
  const before = cpu();
  const from = performance.now();
  for (let due = 0; due < READS_A_SECOND * STEADY_S;) {
    const until = Math.min((performance.now() - from) / 1_000, STEADY_S) * READS_A_SECOND;
    for (; due < until; due += 1) {
      reads.push(inMs(() => ask('GET', `/BENCH-${1 + (due % FILINGS)}`)).then((ms) => void times.push(ms)));
    }
    if (due % READS_A_SECOND < 50) mostMb = Math.max(mostMb, residentMb(pid));
    await sleep(TICK_MS);
  }
  await Promise.all(reads);
  const rate = (reads.length * 1_000) / (performance.now() - from);
  const after = cpu();
  const cpuMs = (part: 'httpApi' | 'PostgreSQL') => ((after?.[part] ?? NaN) - (before?.[part] ?? NaN)) / reads.length;
  return {
    rate,
    httpApi: cpuMs('httpApi'),
    postgres: cpuMs('PostgreSQL'),
    medianMs: median(times),
    worstMs: times.at(-1) ?? NaN,
    mostMb: Math.max(mostMb, residentMb(pid)),
  };
}

/** @returns statements a second while they wait */
async function waitTogether(url: string, token: string): Promise<number> {
  const caller = callerOf(url, token, WAITING);
  const waits = [...Array(WAITING).keys()].map((nth) =>
    caller.ask('GET', `/BENCH-${1 + (nth % FILINGS)}`, undefined, { prefer: 'wait=60' }),
  );
  for (const wait of waits) wait.catch(() => undefined);
  await sleep(3_000);
  // What the HTTP API's own audit trail writes is no look at a filing.
  const looks = (await statementsOf(() => sleep(WATCHED_S * 1_000))).filter((one) => /FROM filings/u.test(textOf(one)));
  await caller.close();
  return looks.length / WATCHED_S;
}

async function main(): Promise<void> {
  quietRuntime();
  const bench = await openFilingBench({ ackDelayMs: 24 * 3_600_000, variables: { EBRC_POLL_FIRST: '1h' } });
  try {
    const httpApis = await openHttpApis(bench.stage, 1);
    const { urls, token, processes } = httpApis;
    const caller = callerOf(urls[0]!, token, CONNECTIONS);
    const pid = processes.pids()[0]!;
    const atStart = residentMb(pid);
    const filed = await filedBoth(bench, caller);
    const own = await openOwnHttpApi(bench);
    const ownCaller = callerOf(own.url, token, 1);
    await ownCaller.ask('GET', '/BENCH-1');
    const statements = await statementsOf(() => ownCaller.ask('GET', '/BENCH-1'));
    const read = await readBoth(bench, caller, statements);
    const steady = await readSteadily(bench, caller, pid);
    const looks = await waitTogether(own.url, token);
    let crowdedMb = 0;
    const crowd = await standInCrowd({ url: urls[0]!, token, seconds: CROWDED_S }, async () => {
      await caller.ask('GET', '/BENCH-2');
      crowdedMb = Math.max(crowdedMb, residentMb(pid));
    });
    await ownCaller.close();
    await own.close();
    await caller.close();
    await processes.stop();
    const [readRatio, fileRatio] = [read.alone / read.httpApi, filed.over / filed.typed];
    const value = (number: number, digits = 0) => ({ value: Number(number.toFixed(digits)) });
    const figures = {
      [`${statements.length} statements by pg alone, ${CONNECTIONS} at once (a second)`]: value(read.alone),
      [`GET /filings/{ref}, ${CONNECTIONS} at once (a second)`]: value(read.httpApi),
      'typed client: a filing of one row (ms)': value(filed.typed, 1),
      'POST /filings: a filing of one row (ms)': value(filed.over, 1),
      'memory at the start (MB)': value(atStart),
      'reads a second, paced': value(steady.rate),
      '… median (ms)': value(steady.medianMs, 1),
      '… longest (ms)': value(steady.worstMs),
      '… CPU of one, HTTP API (ms)': value(steady.httpApi, 2),
      '… CPU of one, PostgreSQL (ms)': value(steady.postgres, 2),
      '… most memory (MB)': value(steady.mostMb),
      [`looks at the ledger a second, ${WAITING} waiting`]: value(looks, 2),
      'connections at once': value(crowd.connected),
      '… a read of somebody else, median (ms)': value(median(crowd.times), 1),
      '… longest (ms)  ': value(crowd.times.at(-1) ?? NaN),
      '… most memory (MB)  ': value(crowdedMb),
    };
    report('http-api', figures, [
      {
        goal: `GET at most ${TARGETS.readRatio} times pg alone (${readRatio.toFixed(2)})`,
        met: readRatio <= TARGETS.readRatio,
      },
      {
        goal: `POST at most ${TARGETS.fileRatio} times the typed client (${fileRatio.toFixed(2)})`,
        met: fileRatio <= TARGETS.fileRatio,
      },
      { goal: `${READS_A_SECOND} reads a second`, met: steady.rate >= 0.95 * READS_A_SECOND },
      { goal: `less than ${TARGETS.memoryMb} MB`, met: steady.mostMb < TARGETS.memoryMb },
      { goal: `one look a second for ${WAITING} waits`, met: looks <= TARGETS.looksASecond },
      {
        goal: `less than ${TARGETS.crowdedMb} MB with 10,000 connections (${crowd.connected}), and others are served`,
        met: crowd.connected >= TARGETS.crowd && crowdedMb < TARGETS.crowdedMb,
      },
    ]);
  } finally {
    await bench.stop();
  }
}

runBench(main);
