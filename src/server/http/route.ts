/** Declares routes: their fields as zod schemas, who may call them, what they answer, and what they work with. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Principal } from '../../domain/principal';
import type { FeedMark } from '../../ledger/events';
import type { EbrcClientDependencies } from '../../starter/dependencies';
import type { AddressLimit, Gate } from '../access/gate';
import type { createFilingReader } from '../views/filing';
import { preferredWait, type Watch } from '../views/watch';
import { bodyOf, MAX_BODY_BYTES, type Upload } from './body';
import type { createAllowance } from './load';
import { bodyBytes, describeRoute, type Described } from './openapi';
import { callerGone, NOTHING_TWICE, Problem, unavailable } from './problem';
import { within } from '../../telemetry/readiness';
import { refuseUnstorable } from './fields';
import { IN_PLAIN_WORDS, issueText, shortName } from '../../domain/issues';
import { firstErrors, MOST_FINDINGS } from '../../domain/rules/finding';

export interface Call<P = unknown, Q = unknown, B = unknown> {
  principal: Principal;
  params: P;
  query: Q;
  body: B;
  /** The file of a multipart request; null without one. */
  upload: Upload | null;
  request: FastifyRequest;
  /** Aborted when the caller disconnects. */
  gone: AbortSignal;
}

export interface Answer {
  status?: number;
  headers?: Readonly<Record<string, string>>;
  body: unknown;
}

export interface Route<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> extends Described<P, Q, B> {
  /** Method, and path below `/v1`. */
  route: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;
  handle: (call: Call<z.output<P>, z.output<Q>, z.output<B>>) => Promise<Answer>;
}

/** Longer requests are answered with 503. What was begun goes on, and repeating the request finds it. */
const ANSWER_WITHIN_MS = 100_000;

const NOTHING = z.strictObject({});

/** The dependencies of the routes. */
export interface HttpApi {
  deps: EbrcClientDependencies;
  filings: ReturnType<typeof createFilingReader>;
  watch: Watch<string>;
  feed: Watch<FeedMark>;
  isStopping: () => boolean;
}

/** Dependencies for one exporter's request. Its workbooks queue behind its own, so that they do not delay others'. */
export function depsFor({ deps }: Pick<HttpApi, 'deps'>, exporterId: string): EbrcClientDependencies {
  return { ...deps, workbooks: deps.workbooks?.of(exporterId) };
}

/** What a route is registered with; each group adds its `tag`. */
export interface Registrar {
  app: FastifyInstance;
  gate: Gate;
  addresses: AddressLimit;
  allowance: ReturnType<typeof createAllowance>;
}

/** Adds a route that authenticates the caller, checks roles and fields, and then calls the handler. */
export function addRoute<
  P extends z.ZodType = typeof NOTHING,
  Q extends z.ZodType = typeof NOTHING,
  B extends z.ZodType = typeof NOTHING,
>({ app, gate, addresses, allowance, tag }: Registrar & { tag: string }, route: Route<P, Q, B>): void {
  const { roles = [], handle } = route;
  const [method = '', path = ''] = route.route.split(' ');
  app.route({
    method,
    url: path,
    schema: describeRoute(route, tag),
    bodyLimit: bodyBytes(route, MAX_BODY_BYTES),
    config: { name: `${method} /v1${path}`, roles, changes: method !== 'GET' },
    async onRequest(request, reply) {
      await gate.enter(request, addresses);
      allowance.holdBody(request, reply);
    },
    preHandler: (request) => gate.permit(request),
    handler: async (request, reply) => {
      const gone = new AbortController();
      if (reply.raw.destroyed) throw callerGone();
      reply.raw.once('close', () => void (reply.raw.writableFinished || gone.abort()));
      const { fields, upload } = await bodyOf(request, route.takesFile ?? false);
      const call = {
        principal: gate.principalOf(request),
        params: checked((route.params ?? NOTHING) as P, request.params, 'path'),
        query: checked((route.query ?? NOTHING) as Q, request.query, 'query'),
        body: checked((route.body ?? NOTHING) as B, fields, 'body'),
        upload,
        request,
        gone: gone.signal,
      };
      const answer = within(ANSWER_WITHIN_MS, handle(call), timeout);
      if (waits(request)) await whileIn(gate, { request, reply, gone, answer });
      return sendAnswer(reply, await answer);
    },
  });
}

/** Whether a request asks to be answered later. */
const waits = ({ headers, query }: FastifyRequest): boolean =>
  preferredWait(headers['prefer']) > 0 || Number((query as { wait?: unknown }).wait) > 0;

/** Waits for the answer as long as the caller's token is valid. @throws Problem 401 */
async function whileIn(
  gate: Gate,
  request: { request: FastifyRequest; reply: FastifyReply; gone: AbortController; answer: Promise<unknown> },
): Promise<void> {
  const answered = new AbortController();
  const signal = AbortSignal.any([answered.signal, request.gone.signal]);
  void gate.isOver(request.request, signal).then((isOver) => isOver && request.gone.abort());
  await request.answer.catch(() => undefined);
  answered.abort();
  // Thousands of callers may disconnect at once, so nothing is read for them.
  if (!request.reply.raw.destroyed) await gate.assertStillIn(request.request);
}

/** @throws Problem 400 that names every wrong field and what is allowed */
export function checked<T extends z.ZodType>(schema: T, value: unknown, where: 'path' | 'query' | 'body'): z.output<T> {
  refuseUnstorable(value);
  const read = schema.safeParse(value, IN_PLAIN_WORDS);
  if (read.success) return read.data;
  const found = firstErrors<{ code: string; field: string; message: string }>();
  for (const issue of read.error.issues) {
    const at = shortName(issue.path.join('.'));
    if (issue.code === 'unrecognized_keys') {
      const named = issue.keys.slice(0, MOST_FINDINGS).map((key) => {
        const field = shortName(at ? `${at}.${key}` : key);
        return { code: 'unknown_field', field, message: `${field} is not a field of this ${where}` };
      });
      found.add(named, issue.keys.length - named.length);
    } else {
      const field = at || where;
      found.add([{ code: 'invalid_field', field, message: issueText({ path: [field], message: issue.message }) }]);
    }
  }
  const errors = found.all();
  const first = errors.slice(0, 5).map(({ message }) => message);
  throw new Problem(400, 'invalid_request', first.join('; '), { errors });
}

function sendAnswer(reply: FastifyReply, { status = 200, headers = {}, body }: Answer): FastifyReply {
  return reply
    .code(status)
    .headers(headers)
    .send(body ?? undefined);
}

const timeout = () => unavailable('timeout', `There was no answer in time. ${NOTHING_TWICE}`, { retryAfterS: 15 });
