/** How a route is declared, its fields by zod, who may call it and what it answers, and what it works with. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Principal } from '../../domain/principal';
import type { FeedMark } from '../../ledger/events';
import type { EbrcClientDependencies } from '../../starter/dependencies';
import type { Gate } from '../access/gate';
import type { FilingReader } from '../views/filing';
import type { Watch } from '../views/watch';
import { MAX_BODY_BYTES, type MemoryRoom } from './memory-room';
import { describeRoute, type Described } from './openapi';
import { badRequest, callerGone, NOTHING_TWICE, Problem, unavailable } from './problem';
import { within } from '../../telemetry/readiness';
import { refuseUnstorable } from './fields';
import { parseBoundedJson } from '../../domain/json';
import { IN_PLAIN_WORDS, issueText } from '../../domain/issues';

export interface Call<P = unknown, Q = unknown, B = unknown> {
  principal: Principal;
  params: P;
  query: Q;
  body: B;
  /** The file of a multipart request. */
  upload: Upload | null;
  request: FastifyRequest;
  /** Aborted when the caller has gone. */
  gone: AbortSignal;
}

interface Answer {
  status?: number;
  headers?: Readonly<Record<string, string>>;
  body: unknown;
}

export interface Route<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> extends Described<P, Q, B> {
  /** Method, and path below `/v1`. */
  route: `${'GET' | 'POST' | 'PUT' | 'PATCH'} /${string}`;
  handle: (call: Call<z.output<P>, z.output<Q>, z.output<B>>) => Promise<Answer>;
}

/** Answers longer than this are given up: what was begun goes on, and repeating the request finds it. */
const WITHIN_MS = 100_000;

const NOTHING = z.strictObject({});

/** What the routes work with. */
export interface Door {
  deps: EbrcClientDependencies;
  filings: FilingReader;
  watch: Watch<string>;
  feed: Watch<FeedMark>;
  isStopping: () => boolean;
}

/** The dependencies for one exporter's request: its workbooks wait behind its own, and not others' behind them. */
export function depsFor({ deps }: Pick<Door, 'deps'>, exporterId: string): EbrcClientDependencies {
  return { ...deps, workbooks: deps.workbooks?.of(exporterId) };
}

/** What routes are registered with; each group adds its `tag`. */
export interface Registrar {
  app: FastifyInstance;
  gate: Gate;
  room: MemoryRoom;
}

/** Adds a route: checks who calls, then the fields, then calls the handler. */
export function addRoute<
  P extends z.ZodType = typeof NOTHING,
  Q extends z.ZodType = typeof NOTHING,
  B extends z.ZodType = typeof NOTHING,
>({ app, gate, room, tag }: Registrar & { tag: string }, route: Route<P, Q, B>): void {
  const { roles = [], handle } = route;
  const [method = '', path = ''] = route.route.split(' ');
  app.route({
    method,
    url: path,
    schema: describeRoute(route, tag),
    config: { name: `${method} /v1${path}`, roles, changes: method !== 'GET' },
    async onRequest(request, reply) {
      await gate.enter(request);
      room.takeBody(request, reply);
    },
    preHandler: (request) => gate.permit(request),
    handler: async (request, reply) => {
      const gone = new AbortController();
      if (reply.raw.destroyed) throw callerGone();
      reply.raw.once('close', () => void (reply.raw.writableFinished || gone.abort()));
      const { fields, upload } = await bodyOf(request, route.takesFile ?? false);
      const call = {
        principal: gate.principalOf(request),
        params: checked(route.params ?? NOTHING, request.params, 'path') as z.output<P>,
        query: checked(route.query ?? NOTHING, request.query, 'query') as z.output<Q>,
        body: checked(route.body ?? NOTHING, fields, 'body') as z.output<B>,
        upload,
        request,
        gone: gone.signal,
      };
      return answered(reply, await within(WITHIN_MS, handle(call), timeout));
    },
  });
}

async function bodyOf(request: FastifyRequest, takesFile: boolean): Promise<Form> {
  if (!request.isMultipart()) return { fields: request.body ?? {}, upload: null };
  if (takesFile) return readForm(request);
  throw new Problem(415, 'unsupported_media_type', 'This request takes application/json.');
}

/** @throws Problem 400 that names every wrong field, and what is allowed */
function checked(schema: z.ZodType, value: unknown, where: 'path' | 'query' | 'body'): unknown {
  refuseUnstorable(value);
  const read = schema.safeParse(value, IN_PLAIN_WORDS);
  if (read.success) return read.data;
  const errors = read.error.issues.flatMap((issue) => {
    const at = issue.path.join('.');
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => {
        const field = at ? `${at}.${key}` : key;
        return { code: 'unknown_field', field, message: `${field} is not a field of this ${where}` };
      });
    }
    const field = at || where;
    return [{ code: 'invalid_field', field, message: issueText({ path: [field], message: issue.message }) }];
  });
  const first = errors.slice(0, 5).map(({ message }) => message);
  throw new Problem(400, 'invalid_request', first.join('; '), { errors });
}

/** Reads a JSON body; an empty one is an empty object. @throws Problem 400 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  // A workbook that is sent as JSON.
  if (bytes.subarray(0, 2).toString('latin1') === 'PK') {
    const detail = 'The body is a workbook, not JSON. Send it as the part `file` of multipart/form-data.';
    throw badRequest('not_json', detail);
  }
  let text: string;
  try {
    // An invalid byte would silently become another character.
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badRequest('not_utf8', 'The body is not UTF-8, the encoding of JSON.');
  }
  try {
    return parseBoundedJson(text);
  } catch {
    // The reason of the parser repeats parts of the body, which may be a password.
    throw badRequest(
      'not_json',
      'The body is not JSON, has a name twice in one object, or has more values or levels than any request.',
    );
  }
}

function answered(reply: FastifyReply, { status = 200, headers = {}, body }: Answer): FastifyReply {
  return reply
    .code(status)
    .headers(headers)
    .send(body ?? undefined);
}

const timeout = () => unavailable('timeout', `There was no answer in time. ${NOTHING_TWICE}`, { retryAfterS: 15 });

/** multipart/form-data: a file, and the fields that a JSON body has beside it. */

export interface Upload {
  name: string;
  bytes: Buffer;
}

interface Form {
  fields: unknown;
  upload: Upload | null;
}

const LIMITS = { fileSize: MAX_BODY_BYTES, files: 1, fields: 20, fieldSize: 100_000, parts: 21, headerPairs: 100 };

/** Fields whose text is JSON: what is no text in a JSON body. */
const AS_JSON = new Set(['allowDuplicate', 'n', 'approval', 'uploadType']);

/** @throws Problem 400 for a form that cannot be read, a field that stands twice, or is no JSON where it has to be */
async function readForm(request: FastifyRequest): Promise<Form> {
  try {
    return await readParts(request);
  } catch (error) {
    // The parser's own errors have no status.
    if (error instanceof Problem || (error as { statusCode?: number }).statusCode !== undefined) throw error;
    const detail = 'The form cannot be read; allowed: multipart/form-data with its boundary, to the end.';
    throw badRequest('bad_form', detail);
  }
}

async function readParts(request: FastifyRequest): Promise<Form> {
  const fields = new Map<string, unknown>();
  let upload: Upload | null = null;
  for await (const part of request.parts({ limits: LIMITS })) {
    if (part.type === 'file') {
      const bytes = await part.toBuffer();
      if (part.fieldname !== 'file') {
        const detail = `The part ${part.fieldname} has a file; allowed: a part \`file\`.`;
        throw badRequest('unknown_field', detail, part.fieldname);
      }
      upload = { name: part.filename || 'file.xlsx', bytes };
      continue;
    }
    const { fieldname, value, valueTruncated } = part;
    if (valueTruncated) throw badRequest('too_large', `${fieldname} is too long.`, fieldname);
    if (fields.has(fieldname)) throw badRequest('invalid_field', `${fieldname} is given twice.`, fieldname);
    fields.set(fieldname, AS_JSON.has(fieldname) ? asJson(fieldname, String(value)) : value);
  }
  return { fields: Object.fromEntries(fields), upload };
}

function asJson(field: string, text: string): unknown {
  try {
    return parseBoundedJson(text);
  } catch {
    throw badRequest('invalid_field', `${field} is not JSON; allowed: what the field has in a JSON body.`, field);
  }
}
