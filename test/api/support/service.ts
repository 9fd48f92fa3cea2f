import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import { createFilingApi, type FilingApi } from '../../../src/api/client';
import type { Budget, BudgetSlot } from '../../../src/budget/slot';
import { ApiError } from '../../../src/api/errors/api-error';
import type { ApiCall } from '../../../src/domain/service/operations';
import type { Mapping, PushMessage } from '../../../src/domain/filing/mapping';
import type { RateClass } from '../../../src/domain/names';
import { mapping as sample } from '../../../dev/sample-mapping';

export const API_KEY = 'dev_key_that_nobody_may_see';
export const PASSWORD = 'Pa$$w0rd "quoted" & seen?';
export const CUSTOMER_ID = '0b0a2a52-9c0f-4d57-9f3d-0d6bb3d9a001';

/** A request as the service received it. */
interface Received {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
  /** Which connection it came on, counted from 1. */
  connection: number;
}

export type Handler = (request: Received, response: ServerResponse, message: IncomingMessage) => void | Promise<void>;

export interface Service {
  baseUrl: string;
  port: number;
  received: Received[];
  connections: () => number;
  /** Replaces what the service answers from now on. */
  answer: (handler: Handler) => void;
  close: () => Promise<void>;
}

/** A real HTTP server on 127.0.0.1 that answers as the test says. */
export async function startService(handler: Handler, tls?: { key: string; cert: string }): Promise<Service> {
  let current = handler;
  const received: Received[] = [];
  const sockets = new Map<Socket, number>();
  const onRequest = (message: IncomingMessage, response: ServerResponse): void => {
    const pieces: Buffer[] = [];
    message.on('data', (piece: Buffer) => pieces.push(piece));
    message.on('error', () => undefined);
    message.on('end', () => {
      const request = {
        method: message.method ?? '',
        url: message.url ?? '',
        headers: message.headers,
        body: Buffer.concat(pieces),
        connection: sockets.get(message.socket) ?? 0,
      };
      received.push(request);
      void current(request, response, message);
    });
  };
  const server: Server = tls ? createTlsServer(tls, onRequest) : createServer(onRequest);
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.set(socket, sockets.size + 1);
    socket.on('error', () => undefined);
  });
  const port = await listen(server);
  return {
    baseUrl: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/api/v1`,
    port,
    received,
    connections: () => sockets.size,
    answer: (next) => {
      current = next;
    },
    close: async () => {
      for (const socket of sockets.keys()) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A bare TCP server: for what no HTTP server would do. */
export async function startTcp(
  onConnection: (socket: Socket) => void,
): Promise<{ baseUrl: string; close: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: TcpServer = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  const port = await listen(server);
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listen(server: Server | TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  raw(response, status, JSON.stringify(body), 'application/json');
}

export function raw(response: ServerResponse, status: number, body: string | Buffer, contentType: string): void {
  response.writeHead(status, { 'content-type': contentType });
  response.end(body);
}

/** The success envelope of the specification. */
export function envelope(data: unknown, statusCode = 200): unknown {
  return { success: true, data, statusCode, timestamp: '2026-01-05T10:00:00.000Z' };
}

export type BudgetEvent = 'acquired' | 'written' | 'answered' | 'refused' | 'unused';

/** A budget that grants everything and writes down, in order, what it is told. */
function recordingBudget(): Budget & { events: BudgetEvent[]; classes: RateClass[] } {
  const events: BudgetEvent[] = [];
  const classes: RateClass[] = [];
  const note = (event: BudgetEvent) => () => {
    events.push(event);
    return Promise.resolve();
  };
  const slot: BudgetSlot = {
    written: note('written'),
    answered: note('answered'),
    refused: note('refused'),
    unused: note('unused'),
  };
  return {
    events,
    classes,
    acquire: (rateClass) => {
      events.push('acquired');
      classes.push(rateClass);
      return Promise.resolve({ ...slot });
    },
  };
}

/** A client of `baseUrl` with short time-outs, and what it reported. */
export function clientOf(baseUrl: string, options: Partial<Parameters<typeof createFilingApi>[0]> = {}) {
  const budget = recordingBudget();
  const audited: ApiCall[] = [];
  const api: FilingApi = createFilingApi({
    baseUrl,
    apiKey: API_KEY,
    httpTimeoutMs: 5_000,
    budget,
    audit: (row) => {
      audited.push(row);
    },
    ...options,
  });
  return { api, budget, audited };
}

/** Services and clients of one test, which are closed behind it. */
export function closedAfterEach() {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
  const kept = async <T extends { close: () => Promise<void> }>(starting: Promise<T>): Promise<T> => {
    const started = await starting;
    closers.push(started.close);
    return started;
  };
  const service = (...args: Parameters<typeof startService>) => kept(startService(...args));
  const client = (...args: Parameters<typeof clientOf>) => {
    const made = clientOf(...args);
    closers.push(() => made.api.close());
    return made;
  };
  return {
    service,
    tcp: (...args: Parameters<typeof startTcp>) => kept(startTcp(...args)),
    client,
    /** A service that answers every call with these data, and a client of it. */
    answering: async (data: unknown, options: Parameters<typeof clientOf>[1] = {}) => {
      const server = await service((_request, response) => json(response, 200, envelope(data)));
      return { server, ...client(server.baseUrl, options) };
    },
  };
}

/** The `ApiError` that a call rejects with; fails for a call that succeeds or rejects with something else. */
export async function errorOf(call: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await call.then(
    () => new Error('the call succeeded'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw error;
  return error;
}

export function mapping(changes: Partial<Mapping> = {}): Mapping {
  return sample({
    irmNumber: 'IRM0000000000001',
    irmRemitAmtFCC: 10000.5,
    sbCumInvoiceDate: '02012026',
    billNo: 'INV-1',
    sbCumInvoiceValueinFCC: 10000.5,
    mappedIRMAmountFCC: 10000.5,
    ...changes,
  });
}

export function pushOf(...mappings: Mapping[]): PushMessage {
  const rows = mappings.length > 0 ? mappings : [mapping()];
  return {
    platformCustomerId: CUSTOMER_ID,
    recordResCount: rows.length,
    uploadType: '101',
    decalarationFlag: 'Y',
    ebrcBulkGenDtos: rows,
  };
}

export const mayWrite = { beforeWrite: () => Promise.resolve() };

export const acknowledgement = {
  dgftAckId: 'ACK1',
  requestId: 'REQ1',
  ackStatus: 'Validated',
  recordResCount: 1,
  errorDetails: [],
};
