import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface OddTexts {
  /** The root of the service for the workers. */
  url: string;
  /** Answers that were changed. */
  changed(): number;
  close(): Promise<void>;
}

/** A megabyte of valid text. */
const HUGE = 'long '.repeat(200_000);
/** What PostgreSQL's `text` and `jsonb` refuse, and characters that an editor does not show. */
const ODD = 'odd \u0000 \ud800 \udc00 \u0007 \u202e \ufffe text';
/** One answer in this many is changed. */
const CHANGED_EVERY = 2;

/**
 * A proxy in front of the sandbox that adds fields to its JSON answers which the specification does not name: NUL,
 * halves of surrogates, control and bidi characters, a megabyte. Fields of the specification are not changed.
 */
export async function startOddTexts(sandboxUrl: string): Promise<OddTexts> {
  const { host, pathname } = new URL(sandboxUrl);
  let answers = 0;
  let changed = 0;
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const passedOn = request(`http://${host}${url ?? ''}`, { method, headers, agent: false }, (answer) => {
      bodyOf(answer).then(
        (body) => {
          const isJson = (answer.headers['content-type'] ?? '').includes('json');
          const odd = isJson && (answers += 1) % CHANGED_EVERY === 0 ? withOddTexts(body) : null;
          if (odd !== null) changed += 1;
          const sent = odd ?? body;
          const { 'transfer-encoding': _chunked, ...kept } = answer.headers;
          outgoing.writeHead(answer.statusCode ?? 502, { ...kept, 'content-length': sent.length });
          outgoing.end(sent);
        },
        () => outgoing.destroy(),
      );
    });
    passedOn.on('error', () => outgoing.destroy());
    incoming.pipe(passedOn);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    changed: () => changed,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function withOddTexts(body: Buffer): Buffer | null {
  const value: unknown = JSON.parse(body.toString('utf8'));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  // JSON.stringify writes half a surrogate as an escape, which is the only form that survives UTF-8.
  const more = { remarks: ODD, observations: [ODD, HUGE], note: HUGE };
  return Buffer.from(JSON.stringify({ ...value, ...more }));
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}
