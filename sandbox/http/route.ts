import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { authenticate, authenticateExtraction, authorize, type Caller, type RateLimiter } from './admission';
import { deliver, drop, renderAnswer, renderJson, renderProblem } from './delivery';
import { Problem, reportDefect, type Answer, type Rendered } from './problem';
import type { Fault, FaultedOperation } from '../faults/fault-schema';
import type { CallFacts, FaultRegistry } from '../faults/faults';
import type { Settings } from '../options';
import { processDue } from '../authority/processing';
import { asObject } from '../endpoints/validate';
import type { World } from '../authority/world';

export interface CallRecord {
  seq: number;
  /** ISO 8601 on the sandbox clock, and real milliseconds since 1970. */
  at: string;
  realMs: number;
  operation: FaultedOperation;
  method: string;
  path: string;
  /** `dev_` or `prod_` with the platform that owns the key; `extraction`, `none` or `unknown`. */
  key: string;
  /** Whether the connection had carried a request before. */
  reusedConnection: boolean;
  /** HTTP status of what was sent; null while unanswered and when no answer was sent. */
  status: number | null;
  errorCode: string | null;
  faults: string[];
  platformCustomerId: string | null;
  requestId: string | null;
  /** Fingerprints of the mappings in a submission. */
  mappings: string[];
}

/** The oldest entries go first when there are more than this. */
const KEPT = 200_000;

export class CallLog {
  private records: CallRecord[] = [];
  private seq = 0;

  add(start: Omit<CallRecord, 'seq'>): CallRecord {
    const record = { seq: ++this.seq, ...start };
    this.records.push(record);
    if (this.records.length > KEPT) this.records = this.records.slice(KEPT / 10);
    return record;
  }

  list({ operation, since = 0 }: { operation?: string; since?: number } = {}): CallRecord[] {
    return this.records.filter(
      (record) => record.seq > since && (operation === undefined || record.operation === operation),
    );
  }

  clear(): void {
    this.records = [];
  }
}

export interface Context {
  world: World;
  settings: Settings;
  faults: FaultRegistry;
  calls: CallLog;
  limiter: RateLimiter;
  /** Aborted when the sandbox closes. */
  stop: AbortSignal;
  /** Writes the state into its file, if it has one: before an answer goes out, so that what was accepted stays. */
  keep: () => void;
}

export interface Call {
  context: Context;
  caller: Caller;
  /** The sandbox clock when the call came, in milliseconds; the same for the whole call. */
  now: number;
  body: Record<string, unknown>;
  query: Record<string, unknown>;
  params: Record<string, string>;
  path: string;
  effects: readonly Fault[];
  record: CallRecord;
  request: FastifyRequest;
}

export interface Route<Prepared = unknown> {
  operation: FaultedOperation;
  method: HTTPMethods;
  /** Path below `/api/v1`, or below `/platform` for the extraction service. */
  url: string;
  /** The extraction service has keys of its own, no documented rate limits and no agreements to sign. */
  extraction?: true;
  /** Reads what the call needs beyond its JSON body, such as an uploaded file. */
  prepare?(request: FastifyRequest): Promise<Prepared>;
  /** What the call is about, for matching faults. */
  facts?(call: Call, prepared: Prepared): CallFacts;
  handle(call: Call, prepared: Prepared): Answer | Promise<Answer>;
}

/** Registers an endpoint: log, header faults, key and limit, reading, agreements, processing, faults, delivery. */
export function addRoute(app: FastifyInstance, context: Context, prefix: string, route: Route): void {
  const records = new WeakMap<FastifyRequest, { record: CallRecord; caller: Caller }>();

  app.route({
    method: route.method,
    url: `${prefix}${route.url}`,
    async onRequest(request, reply) {
      const record = context.calls.add(await openRecord(context, route, request));
      const early = context.faults.transport(route.operation, record.reusedConnection);
      if (early) {
        record.faults.push(early.kind);
        drop(request, reply, early.kind === 'reset-before-accept' ? 'reset' : undefined);
        return;
      }
      try {
        const caller = admit(context, route, request);
        record.key = route.extraction
          ? 'extraction'
          : `${caller.key.key.slice(0, caller.key.key.indexOf('_'))}_ ${caller.key.platformId}`;
        records.set(request, { record, caller });
      } catch (error) {
        await refuse(error, record, reply);
      }
    },
    onResponse(request, reply, done) {
      // Answers that did not come from the handler: an unreadable body, a defect.
      const record = records.get(request)?.record;
      if (record) record.status ??= reply.statusCode;
      done();
    },
    async handler(request, reply) {
      const admitted = records.get(request);
      if (!admitted) throw new Error(`A ${route.operation} call reached its handler without a caller`);
      const now = await context.settings.clock();
      const call: Call = {
        context,
        ...admitted,
        now,
        body: asObject(request.body),
        query: asObject(request.query),
        params: request.params as Record<string, string>,
        path: request.url.split('?')[0] ?? request.url,
        effects: [],
        request,
      };
      await answer(route, call, reply);
      return reply;
    },
  });
}

async function answer(route: Route, call: Call, reply: FastifyReply): Promise<void> {
  const { context, record, now, request } = call;
  let prepared: unknown;
  let facts: CallFacts;
  try {
    authorize(call.caller, route.operation);
    prepared = await route.prepare?.(request);
    processDue(context, now);
    facts = route.facts?.(call, prepared) ?? { platformCustomerId: customerIdOf(call) };
    record.platformCustomerId = facts.platformCustomerId ?? null;
  } catch (error) {
    return refuse(error, record, reply);
  }
  const transport = context.faults.transport(route.operation, record.reusedConnection, facts);
  if (transport) record.faults.push(transport.kind);
  const run = async (): Promise<Rendered> => {
    try {
      call.effects = context.faults.effects(route.operation, facts);
      record.faults.push(...call.effects.map(({ kind }) => kind));
      return renderAnswer(await route.handle(call, prepared), now);
    } catch (error) {
      return rendered(error);
    } finally {
      context.keep();
    }
  };
  const sent = await deliver(transport, run, { request, reply, path: call.path, now, stop: context.stop });
  record.status = sent?.status ?? null;
  record.errorCode = sent?.errorCode ?? null;
}

function admit(context: Context, route: Route, request: FastifyRequest): Caller {
  const header = request.headers['x-api-key'];
  let caller: Caller;
  try {
    caller = route.extraction ? authenticateExtraction(context.world, header) : authenticate(context.world, header);
  } catch (error) {
    context.limiter.admit(route.operation, `ip ${request.ip}`);
    throw error;
  }
  if (!route.extraction) context.limiter.admit(route.operation, `key ${caller.key.key}`);
  return caller;
}

async function refuse(error: unknown, record: CallRecord, reply: FastifyReply): Promise<void> {
  if (!(error instanceof Problem)) throw error;
  const { status, headers, body, errorCode } = renderProblem(error);
  record.status = status;
  record.errorCode = errorCode;
  await reply.code(status).headers(headers).send(body);
}

function rendered(error: unknown): Rendered {
  if (error instanceof Problem) return renderProblem(error);
  reportDefect(error);
  return renderJson(500, { statusCode: 500, message: 'Internal server error' });
}

const connections = new WeakMap<Socket, number>();

async function openRecord(context: Context, route: Route, request: FastifyRequest): Promise<Omit<CallRecord, 'seq'>> {
  const { socket } = request.raw;
  const carried = connections.get(socket) ?? 0;
  connections.set(socket, carried + 1);
  return {
    at: new Date(await context.settings.clock()).toISOString(),
    realMs: Date.now(),
    operation: route.operation,
    method: request.method,
    path: request.url.split('?')[0] ?? request.url,
    key: request.headers['x-api-key'] === undefined ? 'none' : 'unknown',
    reusedConnection: carried > 0,
    status: null,
    errorCode: null,
    faults: [],
    platformCustomerId: null,
    requestId: null,
    mappings: [],
  };
}

function customerIdOf(call: Call): string | undefined {
  const id = call.params['id'] ?? call.body['platformCustomerId'] ?? call.query['platformCustomerId'];
  return typeof id === 'string' ? id : undefined;
}
