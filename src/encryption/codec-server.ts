/** The codec server, which decodes payloads for the Temporal UI and CLI over HTTP. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { IN_PLAIN_WORDS, issueText } from '../domain/issues';

/** A page of a history can hold megabytes of payloads; base64 adds a third. */
const BODY_LIMIT = 32 * 1024 * 1024;

const body = z.object({
  payloads: z
    .array(z.object({ metadata: z.record(z.string(), z.string()).optional(), data: z.string().optional() }))
    .default([]),
});

/** Serves POST /decode; POST /encode only with a token, because encoded payloads count as our own. */
export async function startCodecServer({
  codec,
  token,
  origins,
  host,
  port,
  tls,
}: {
  codec: PayloadCodec;
  /** Required as `Authorization: Bearer …`, if given. */
  token?: string;
  /** Origins that browsers may call from, such as the address of the Temporal UI. */
  origins: readonly string[];
  host: string;
  /** 0 chooses a free port. */
  port: number;
  /** Certificate and key (PEM), to serve https. */
  tls?: { cert: string; key: string };
}): Promise<{ url: string; close(): Promise<void> }> {
  const app: FastifyInstance = tls
    ? Fastify({ logger: false, bodyLimit: BODY_LIMIT, https: tls })
    : Fastify({ logger: false, bodyLimit: BODY_LIMIT });
  app.addHook('onRequest', async (request, reply) => {
    allowOrigin(origins, request, reply);
    if (request.method === 'OPTIONS') return reply.code(204).send();
    if (!isAllowed(token, origins, request)) {
      return reply.code(401).send({ message: 'Give the token of the codec server as a bearer token.' });
    }
  });
  for (const [path, convert] of [
    ['/encode', codec.encode.bind(codec)],
    ['/decode', codec.decode.bind(codec)],
  ] as const) {
    app.post(path, async (request, reply) => {
      if (path === '/encode' && token === undefined) {
        return reply
          .code(403)
          .send({ message: 'This codec server decodes only: it was started without EBRC_CODEC_TOKEN.' });
      }
      const parsed = body.safeParse(request.body, IN_PLAIN_WORDS);
      if (!parsed.success) return reply.code(400).send({ message: parsed.error.issues.map(issueText).join('; ') });
      try {
        return { payloads: (await convert(parsed.data.payloads.map(payloadOf))).map(jsonOf) };
      } catch (error) {
        // The message names the missing key, never the encrypted content.
        return reply.code(400).send({ message: error instanceof Error ? error.message : 'The payload does not open.' });
      }
    });
    app.options(path, () => undefined);
  }
  const url = await app.listen({ host, port });
  return { url, close: () => app.close() };
}

function allowOrigin(origins: readonly string[], request: FastifyRequest, reply: FastifyReply): void {
  const { origin } = request.headers;
  reply.header('vary', 'Origin');
  if (origin === undefined || !origins.includes(origin)) return;
  reply
    .header('access-control-allow-origin', origin)
    .header('access-control-allow-credentials', 'true')
    .header('access-control-allow-methods', 'POST, OPTIONS')
    .header('access-control-allow-headers', 'authorization, content-type, x-namespace')
    .header('access-control-max-age', '600');
}

function isAllowed(token: string | undefined, origins: readonly string[], { headers }: FastifyRequest): boolean {
  // Refuse pages of other origins; without a token their calls would be answered.
  if (headers.origin !== undefined && !origins.includes(headers.origin)) return false;
  if (token === undefined) return true;
  // If configured so, the UI passes the user's access token on, in a separate header.
  const given = [headers.authorization, headers['authorization-extras']].flat();
  return given.some((value) => sameText(value?.replace(/^Bearer\s+/i, '') ?? '', token));
}

/** Compares in constant time; hashing makes the lengths equal. */
function sameText(a: string, b: string): boolean {
  const hash = (value: string) => createHash('sha256').update(value).digest();
  return timingSafeEqual(hash(a), hash(b));
}

function payloadOf({ metadata = {}, data = '' }: z.output<typeof body>['payloads'][number]): Payload {
  return {
    metadata: Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')])),
    data: Buffer.from(data, 'base64'),
  };
}

function jsonOf({ metadata, data }: Payload) {
  const base64 = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString('base64');
  return {
    metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)])),
    data: base64(data),
  };
}
