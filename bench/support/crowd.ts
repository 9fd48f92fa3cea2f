/** Ten thousand connections that want nothing good of the HTTP API, while somebody else reads. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const ASKED = 10_000;
/** Opened together; others stand in the server's own queue meanwhile. */
const BATCH = 250;

export interface Crowd {
  /** How many were connected at once. */
  connected: number;
  /** Reads of somebody else meanwhile, in ms. */
  times: number[];
}

/**
 * A fifth each: says nothing; sends a byte of its head a second; a byte of its body a second; asks for a large answer
 * and reads nothing of it; waits for a filing.
 */
export async function standInCrowd(
  { url, token, seconds }: { url: string; token: string; seconds: number },
  read: () => Promise<unknown>,
): Promise<Crowd> {
  const { hostname, port } = new URL(url);
  const head = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
  const slow: Socket[] = [];
  const all: Socket[] = [];
  const greet: ((socket: Socket) => void)[] = [
    () => undefined,
    (socket) => void (socket.write(`GET /v1/filings ${head}`), slow.push(socket)),
    (socket) => {
      socket.write(`POST /v1/checks ${head}Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{`);
      slow.push(socket);
    },
    (socket) => void socket.pause().write(`GET /v1/openapi.json ${head}\r\n`),
    (socket) => void socket.write(`GET /v1/filings/BENCH-1 ${head}Prefer: wait=60\r\n\r\n`),
  ];
  let connected = 0;
  let most = 0;
  const begin = (nth: number) =>
    new Promise<void>((done) => {
      // Several addresses, as one alone has no ports for all of them on some machines.
      const socket = connect({ host: hostname, port: Number(port), localAddress: `127.0.0.${2 + (nth % 4)}` }, () => {
        most = Math.max(most, (connected += 1));
        socket.once('close', () => (connected -= 1));
        greet[nth % greet.length]?.(socket);
        done();
      });
      socket.on('error', () => done());
      if (nth % greet.length !== 3) socket.resume();
      all.push(socket);
    });
  const bytes = setInterval(() => slow.forEach((socket) => socket.writable && socket.write('x')), 1_000);
  try {
    let begun = 0;
    const fill = () =>
      Promise.all(Array.from({ length: Math.min(BATCH, ASKED - connected) }, () => begin((begun += 1))));
    while (connected < ASKED && begun < 3 * ASKED) await fill();
    const times: number[] = [];
    let filling = false;
    for (const until = performance.now() + seconds * 1_000; performance.now() < until; await sleep(100)) {
      // Those that the HTTP API has ended come back.
      if (!filling && connected < ASKED) {
        filling = true;
        void fill().finally(() => (filling = false));
      }
      const began = performance.now();
      await read();
      times.push(performance.now() - began);
    }
    return { connected: most, times };
  } finally {
    clearInterval(bytes);
    for (const socket of all) socket.destroy();
  }
}
