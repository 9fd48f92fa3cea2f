/** The style sheet and htmx, under names that change with their content. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { STYLE } from './style';

interface Asset {
  url: string;
  type: string;
  bytes: Buffer;
}

function asset(name: string, type: string, content: Buffer | string): Asset {
  const bytes = Buffer.from(content);
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 16);
  return { url: `/assets/${hash}/${name}`, type, bytes };
}

export const ASSETS = {
  style: asset('style.css', 'text/css; charset=utf-8', STYLE),
  htmx: asset('htmx.js', 'text/javascript; charset=utf-8', readFileSync(require.resolve('htmx.org/dist/htmx.min.js'))),
};

export function addAssets(app: FastifyInstance): void {
  for (const { url, type, bytes } of Object.values(ASSETS)) {
    app.get(url, { schema: { hide: true } }, (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(type).send(bytes),
    );
  }
}
