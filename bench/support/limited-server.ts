import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { RATE_LIMITS, type RateClass } from '../../src/domain/names';

/** A call as the service saw it. */
export interface SeenCall {
  rateClass: RateClass;
  /** What the caller named it. */
  name: string;
  /** When it was counted: milliseconds of a clock that never steps. */
  at: number;
  /** The same, in milliseconds since 1970. */
  date: number;
  refused: boolean;
}

export interface LimitedServer {
  url: string;
  calls: SeenCall[];
  close(): Promise<void>;
}

export interface LimitedServerOptions {
  windowMs: number;
  limits?: Record<RateClass, number>;
  /** Between a call's arrival and its being counted: the network's part. */
  delayMs?: () => number;
  /** Between its being counted and the answer. */
  answerMs?: () => number;
}

/**
 * A service that does nothing but count: `GET /<class>/<name>` answers 200, or 429 where the class had its number of
 * calls in the sliding window before. A refused call is not counted.
 */
export async function startLimitedServer(options: LimitedServerOptions): Promise<LimitedServer> {
  const { windowMs, limits = RATE_LIMITS, delayMs = () => 0, answerMs = () => 0 } = options;
  const calls: SeenCall[] = [];

  async function answer(path: string): Promise<number> {
    const [, rateClass, name] = path.split('/') as [string, RateClass, string];
    const delay = delayMs();
    if (delay > 0) await sleep(delay);
    const at = performance.now();
    const counted = calls.filter((call) => call.rateClass === rateClass && !call.refused && call.at > at - windowMs);
    const refused = counted.length >= limits[rateClass];
    calls.push({ rateClass, name, at, date: Date.now(), refused });
    if (!refused) await sleep(answerMs());
    return refused ? 429 : 200;
  }

  const server = createServer((request, response) => {
    void answer(request.url ?? '').then((status) => response.writeHead(status).end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
