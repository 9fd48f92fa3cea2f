/** Describes routes in JSON Schema, from the zod schemas that validate them. */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { z } from 'zod';
import type { Role } from '../../domain/principal';
import { jsonSchema, named, nameJson } from './components';
import { codesOf } from './problem-codes';
import { problemSchema } from './problem';
import { htmlText } from '../../domain/text';
import { once } from '../../domain/values';

interface AnswerDescription {
  description: string;
  schema?: z.ZodType;
  /** The media type of what is not JSON; without a schema and this there is no body. */
  type?: string;
}

const JSON_TYPE = 'application/json';

/** The description of a route. */
export interface Described<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  id: string;
  summary: string;
  /** The caller needs one of these roles; without them every principal may call. */
  roles?: readonly Role[];
  params?: P;
  query?: Q;
  body?: B;
  /** Also takes multipart/form-data, with the fields of the body and a part `file`. */
  takesFile?: boolean;
  answers: Readonly<Record<number, AnswerDescription>>;
  /** Codes of its problems, beside those of every route like it. */
  codes?: readonly string[];
}

export function describeRoute<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(
  described: Described<P, Q, B> & { route: string },
  tag: string,
): FastifySchema {
  const { id, summary, roles = [], params, query, body, takesFile } = described;
  const name = id.charAt(0).toUpperCase() + id.slice(1);
  const input = body && nameJson(`${name}Request`, jsonSchema(body));
  const whoMayCall = roles.length > 0 ? `Needs a role of: ${roles.join(', ')}.` : 'Every principal may.';
  const answers = Object.entries(described.answers).map(([status, answer]) => [status, answerOf(answer, name)]);
  return {
    operationId: id,
    summary,
    description: whoMayCall,
    tags: [tag],
    ...(params && { params: jsonSchema(params) }),
    ...(query && { querystring: jsonSchema(query) }),
    ...(input && {
      body: {
        content: {
          [JSON_TYPE]: { schema: input },
          ...(takesFile && { 'multipart/form-data': { schema: nameJson(`${name}Form`, formSchema(input)) } }),
        },
      },
    }),
    response: { ...Object.fromEntries(answers), default: problemOf(described, name) },
  };
}

function answerOf({ description, schema, type }: AnswerDescription, name: string): unknown {
  if (schema)
    return { description, content: { [JSON_TYPE]: { schema: nameJson(`${name}Answer`, jsonSchema(schema)) } } };
  return { description, ...(type && { content: { [type]: { schema: { type: 'string', contentMediaType: type } } } }) };
}

/** The problems of a route: as all are, with the codes that this one has. */
function problemOf(
  {
    route,
    roles = [],
    query,
    body,
    takesFile = false,
    codes = [],
  }: Described<z.ZodType, z.ZodType, z.ZodType> & { route: string },
  name: string,
): unknown {
  const pages = query instanceof z.ZodObject;
  const kind = { changes: !route.startsWith('GET '), path: route, takesBody: body !== undefined, takesFile, pages };
  const code = z.enum(codesOf({ ...kind, hasRoles: roles.length > 0, codes })).describe(CODE);
  const schema = named(`${name}Problem`, problemSchema.extend({ code }), PROBLEM_EXAMPLE);
  return {
    description: 'A problem (RFC 9457)',
    content: { 'application/problem+json': { schema: jsonSchema(schema) } },
  };
}

const CODE = 'what programs branch on; expect new ones';

const PROBLEM_EXAMPLE = {
  type: 'about:blank',
  title: 'Too Many Requests',
  status: 429,
  detail: 'Too many requests of this principal. Try again later.',
  code: 'too_many_requests',
  errors: [],
  request_id: '0d4a9a3f-6c1e-4d0c-8f0f-3a5a4a6b1c11',
};

interface JsonSchema {
  type?: string;
  enum?: readonly unknown[];
  maxLength?: number;
  maxItems?: number;
  items?: JsonSchema;
  properties?: Readonly<Record<string, JsonSchema>>;
  anyOf?: readonly JsonSchema[];
}

/** For blanks between the fields, and for what names a wrong field. */
const SLACK_BYTES = 16 * 1024;

/** The bytes that a body may have: what the route's schema can take. @param most for any route */
export function bodyBytes(
  { body, takesFile }: Pick<Described<z.ZodType, z.ZodType, z.ZodType>, 'body' | 'takesFile'>,
  most: number,
): number {
  if (takesFile) return most;
  return Math.min(most, SLACK_BYTES + (body ? bytesOf(jsonSchema(body)) : 0));
}

/** Infinity where a schema has no bound. */
function bytesOf({
  type,
  enum: values,
  maxLength = 1_000,
  maxItems = Infinity,
  items,
  properties,
  anyOf,
}: JsonSchema): number {
  if (anyOf) return Math.max(...anyOf.map(bytesOf));
  if (values || ['integer', 'number', 'boolean', 'null'].includes(type ?? '')) return 100;
  // Every character may be written as an escape such as \u0915.
  if (type === 'string') return maxLength * 6 + 2;
  if (type === 'array' && items) return maxItems * (bytesOf(items) + 1);
  if (!properties) return Infinity;
  return Object.entries(properties).reduce((sum, [name, inner]) => sum + name.length + 4 + bytesOf(inner), 2);
}

/** The fields of the JSON body, with the part `file` instead of `message`. */
function formSchema(input: Record<string, unknown>): Record<string, unknown> {
  const { message: _, ...properties } = (input['properties'] ?? {}) as Record<string, unknown>;
  const required = ((input['required'] ?? []) as string[]).filter((name) => name !== 'message');
  const file = { type: 'string', contentMediaType: 'application/octet-stream' };
  const { 'x-component': _name, 'x-of-component': _example, ...form } = input;
  return { ...form, properties: { ...properties, file }, required: [...required, 'file'] };
}

/** Adds the description and its page. Both are made once, because everybody may ask for them at any rate. */
export function addDescription(app: FastifyInstance): void {
  const pages = [
    { url: '/v1/openapi.json', type: 'application/json; charset=utf-8', make: () => JSON.stringify(app.swagger()) },
    { url: '/docs', type: 'text/html; charset=utf-8', make: () => docsPage(app.swagger()) },
  ];
  for (const { url, type, make } of pages) {
    const page = once(() => {
      const bytes = Buffer.from(make());
      const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
      return Promise.resolve({ bytes, etag });
    });
    app.get(url, { schema: { hide: true } }, async ({ headers }, reply) => {
      const { bytes, etag } = await page();
      void reply.headers({ etag, 'cache-control': 'no-cache' });
      if (headers['if-none-match']?.includes(etag)) return reply.code(304).send();
      return reply.type(type).send(bytes);
    });
  }
}

/** An HTML page that lists the routes. @param document the OpenAPI document */
function docsPage(document: { paths?: unknown; info?: { title?: string; version?: string } }): string {
  const paths = Object.entries(
    (document.paths ?? {}) as Record<
      string,
      Record<string, { summary?: string; description?: string; tags?: string[] }>
    >,
  );
  const operations = paths.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );
  const tags = [...new Set(operations.flatMap((route) => route.tags ?? []))];
  const sections = tags.map((tag) => {
    const rows = operations
      .filter((route) => route.tags?.includes(tag))
      .map(({ method, path, summary = '', description = '' }) =>
        row([
          `<code>${htmlText(method)}</code>`,
          `<code>${htmlText(path)}</code>`,
          htmlText(summary),
          htmlText(description),
        ]),
      );
    return `<h2>${htmlText(tag)}</h2><table><thead>${HEAD}</thead><tbody>${rows.join('')}</tbody></table>`;
  });
  const { title = 'API', version = '' } = document.info ?? {};
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${htmlText(title)}</title></head>
<body><h1>${htmlText(title)} ${htmlText(version)}</h1>
<p>The complete description, with every field: <a href="/v1/openapi.json">/v1/openapi.json</a> (OpenAPI 3.1). Every request needs
<code>Authorization: Bearer TOKEN</code>; <code>ebrc principals add</code> makes a token. Errors are <code>application/problem+json</code>.</p>
${sections.join('\n')}
</body></html>
`;
}

const HEAD =
  '<tr><th scope="col">Method</th><th scope="col">Path</th><th scope="col">What</th><th scope="col">Who</th></tr>';

const row = (cells: readonly string[]): string => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
