/** A real HTTP API, with a real PostgreSQL, Temporal server, worker and sandbox behind it. */
import { TEST_SETTINGS } from '../support/settings';
import { Client } from '@temporalio/client';
import pino from 'pino';
import type pg from 'pg';
import { eventually } from '../support/processes';
import type { WorkerSettings } from '../../src/activities/dependencies';
import type { Role } from '../../src/domain/principal';
import type { Mapping } from '../../src/domain/filing/mapping';
import { createLogger } from '../../src/telemetry/logger';
import type { EbrcClientDependencies } from '../../src/starter/dependencies';
import { addPrincipal } from '../../src/starter/principals';
import { createSandbox } from '../../sandbox/sandbox';
import { startHttpApi } from '../../src/server/http-api';
import description from '../../schemas/openapi.json';
import { demoMessage, type DemoIrm } from '../../dev/demo-message';
import { closeAfterAll } from '../support/closing';
import { createPool } from '../../src/ledger/pool';
import { createLogin, dropLogin } from '../support/logins';
import { createTestDatabase } from '../support/postgres';
import { devServer } from '../support/temporal';
import { startTestWorker } from '../support/worker';

export interface Reply<T = Record<string, unknown>> {
  status: number;
  headers: Headers;
  body: T;
  bytes: Buffer;
}

export interface ProblemBody {
  code: string;
  status: number;
  detail: string;
  errors: { code: string; field: string | null; message: string }[];
  request_id: string;
}

interface Asked {
  token?: string | null;
  json?: unknown;
  body?: string | Buffer | FormData;
  headers?: Record<string, string>;
}

/** A real HTTP API, with real servers, a worker and a sandbox behind it. */
export type HttpStage = Awaited<ReturnType<typeof openHttpStage>>;
type HttpOptions = Pick<Parameters<typeof startHttpApi>[0], 'bounds' | 'pages' | 'provider'>;

export const KAVERI = {
  name: 'Kaveri Softworks',
  email: 'accounts@kaveri.example',
  username: 'kaveri.softworks',
  password: 'Kaveri@Soft9',
  iec: 'AAKCK7719P',
};

export const ZENITH: typeof KAVERI = {
  name: 'Zenith Engineering',
  email: 'accounts@zenith.example',
  username: 'zenith.engineering',
  password: 'Zenith!Eng77',
  iec: '0388123459',
};

async function openHttpStage(more: Partial<WorkerSettings>) {
  const [temporal, ledger, sandbox] = await Promise.all([
    devServer(),
    createTestDatabase(),
    createSandbox({ activationDelayMs: 0, ackDelayMs: 1_500, rateLimits: false }),
  ]);
  const env = await temporal.environment();
  const settings = { pollFirstMs: 500, pollMinMs: 300, pollMaxMs: 1_000, ...more };
  const worker = await startTestWorker({ env, sandbox, ledger, settings, logger: pino({ level: 'silent' }) });
  const logs: string[] = [];
  const logger = createLogger({ level: 'debug', destination: { write: (line) => void logs.push(line) } });
  const client = new Client({ connection: await temporal.connect(), namespace: temporal.namespace });
  const { documents } = worker.deps;
  const deps: EbrcClientDependencies = {
    pool: ledger.pool,
    temporal: client,
    documents,
    mode: 'test',
    settings: { ...TEST_SETTINGS, ...settings },
    taskQueue: worker.taskQueue,
    lookForWorkerEveryMs: 200,
  };
  // As the HTTP API is installed: its login may do less than the owner, who makes principals here.
  const login = await createLogin(ledger, 'ebrc_serve');
  const pool = createPool({ url: login.url, applicationName: 'ebrc-http-api' });
  const address = { host: '127.0.0.1', port: 0 };
  const another = (more: Partial<EbrcClientDependencies> = {}, options: HttpOptions = {}) =>
    startHttpApi({
      deps: { ...deps, pool, ...more },
      logger,
      address,
      pages: options.pages,
      provider: options.provider,
      // The worker and the sandbox share the event loop of this process, and may block it.
      bounds: { eventLoopDelayMs: 0, ...options.bounds },
    });
  const httpApi = await another();
  let made = 0;
  type Named = { name?: string; exporters?: string[]; system?: boolean };
  const principal = async (roles: Role[], { name = `p${++made}`, ...more }: Named = {}): Promise<string> =>
    (await addPrincipal(deps, { name, roles, by: 'a test', ...more })).token;
  const everything = await principal(['viewer', 'maker', 'checker', 'admin'], { name: 'everything' });
  return {
    url: httpApi.url,
    httpApi,
    deps,
    /** What the HTTP API has of the ledger. */
    pool,
    ledger,
    temporal,
    sandbox,
    worker,
    /** What the HTTP API has logged. */
    logs,
    /** A principal's token; a name is made where none is given. */
    principal,
    /** Another HTTP API on the same servers. */
    another,
    /** A request with the token of somebody who may everything, unless another is given; null: none. */
    ask: <T = Record<string, unknown>>(method: string, path: string, asked: Asked = {}): Promise<Reply<T>> =>
      askHttp<T>(httpApi.url, method, path, { token: everything, ...asked }),
    async close() {
      await httpApi.close();
      await worker.close();
      await temporal.stop();
      await sandbox.close();
      await pool.end();
      await dropLogin(ledger, login.name);
      await ledger.drop();
    },
  };
}

/** One HTTP API for a whole test file. @param prepare before its first test, as for an exporter that is onboarded */
export function useHttpStage(
  prepare?: (stage: HttpStage) => Promise<unknown>,
  settings: Partial<WorkerSettings> = {},
): HttpStage {
  const stage = {} as HttpStage;
  beforeAll(async () => {
    Object.assign(stage, await openHttpStage(settings));
    await prepare?.(stage);
  }, 300_000);
  closeAfterAll(() => stage.close?.());
  return stage;
}

/** A request to an HTTP API, as a program in any language makes it. */
export async function askHttp<T = Record<string, unknown>>(
  url: string,
  method: string,
  path: string,
  { token, json, body, headers = {} }: Asked = {},
): Promise<Reply<T>> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: json === undefined ? body : JSON.stringify(json),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  const parsed = (isJson ? JSON.parse(bytes.toString()) : {}) as T;
  if (response.status >= 400 && isJson) assertDescribed(method, path, parsed as { code?: string });
  return { status: response.status, headers: response.headers, body: parsed, bytes };
}

type Described = Record<string, Record<string, { operationId: string }>>;
const { paths, components } = description as unknown as {
  paths: Described;
  components: { schemas: Record<string, { properties: { code: { enum: string[] } } }> };
};
const ROUTES = Object.entries(paths).map(([path, methods]) => {
  return { at: new RegExp(`^${path.replace(/\{\w+\}/gu, '[^/]+')}$`, 'u'), methods };
});

/** Every problem that a route answers has a code that the description of the route has. */
function assertDescribed(method: string, path: string, { code = '' }: { code?: string }): void {
  const [address = ''] = path.split('?');
  const id = ROUTES.find(({ at }) => at.test(address))?.methods[method.toLowerCase()]?.operationId;
  if (id === undefined) return;
  const schema = components.schemas[`${id.charAt(0).toUpperCase()}${id.slice(1)}Problem`];
  if (schema?.properties.code.enum.includes(code) !== true)
    throw new Error(`${method} ${path} answers the code ${code}, which its description lacks.`);
}

/** A pool whose statements pass through `watch`, which makes them with `query`. */
export function watchedPool(
  pool: pg.Pool,
  watch: (statement: string, query: () => Promise<unknown>) => Promise<unknown>,
): pg.Pool {
  return new Proxy(pool, {
    get: (target, name): unknown => {
      const value: unknown = Reflect.get(target, name);
      if (name !== 'query' || typeof value !== 'function') return value;
      return (...args: unknown[]) =>
        watch(String(args[0]), () => Reflect.apply(value, target, args) as Promise<unknown>);
    },
  });
}

/** Onboards an exporter of the sandbox through the HTTP API. @returns its id */
export async function onboard(stage: HttpStage, exporter = KAVERI): Promise<string> {
  const { email } = exporter;
  const started = await stage.ask<{ exporterId: string | null }>('POST', '/v1/exporters', { json: exporter });
  if (started.status !== 202) throw new Error(`onboarding: ${started.status} ${started.bytes.toString()}`);
  type Shown = { exporterId: string; state: string; irmCount: number };
  const shown = () => stage.ask<Shown>('GET', `/v1/exporters/${email}`);
  await eventually(async () => {
    const { body, status } = await shown();
    return status === 200 && body.state === 'ready' && body.irmCount > 0;
  }, 100_000);
  return (await shown()).body.exporterId;
}

/** A push message of rows that map the exporter's own remittances, each with a document of its own. */
export async function messageOf(stage: HttpStage, document: string, rows = 1, { email } = KAVERI) {
  type Irm = Record<'irmNumber' | 'irmAdCode' | 'irmIfscCode', string> &
    Record<'irmDt' | 'irmFCC' | 'irmPurposeCode' | 'irmRemitAmtFCC', string>;
  const { body } = await stage.ask<{ items: Irm[] }>('GET', `/v1/exporters/${email}/irms`);
  const irms = body.items.map(({ irmDt, irmFCC, irmPurposeCode, irmRemitAmtFCC, ...irm }): DemoIrm => {
    const irmIssueDate = irmDt.split('-').reverse().join('');
    return { ...irm, irmIssueDate, currency: irmFCC, purposeCode: irmPurposeCode, amount: irmRemitAmtFCC };
  });
  const [first] = demoMessage(irms).ebrcBulkGenDtos;
  const ebrcBulkGenDtos = Array.from({ length: rows }, (_, at): Mapping => {
    const own = rows === 1 ? document : `${document}-${at + 1}`;
    return { ...first!, serialNo: at + 1, sbCumInvoiceNumber: own, billNo: own, mappedIRMAmountFCC: 10 };
  });
  return { recordResCount: rows, uploadType: '103', decalarationFlag: 'Y', ebrcBulkGenDtos };
}
