import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface OddTexts {
  /** The root of the service, as the workers are told it. */
  url: string;
  /** Answers that were changed. */
  changed(): number;
  close(): Promise<void>;
}

/** A megabyte, in which nothing is wrong but its length. */
const HUGE = 'long '.repeat(200_000);
/** What PostgreSQL's `text` and `jsonb` refuse, and what an editor would show as nothing. */
const ODD = 'odd \u0000 \ud800 \udc00 \u0007 \u202e \ufffe text';
/** Every so many answers. */
const EVERY = 2;

/**
 * The sandbox behind an address of its own, whose JSON answers carry texts that the specification does not name: NUL,
 * halves of surrogates, control and bidi characters, a megabyte. What the specification names stays as it is.
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
          const odd = isJson && (answers += 1) % EVERY === 0 ? oddened(body) : null;
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

function oddened(body: Buffer): Buffer | null {
  const value: unknown = JSON.parse(body.toString('utf8'));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  // Half a surrogate survives only as its escape.
  const more = { remarks: ODD, observations: [ODD, HUGE], note: HUGE };
  return Buffer.from(JSON.stringify({ ...value, ...more }));
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}
