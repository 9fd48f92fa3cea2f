import { connect, createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Direction of data: to the server, or back from it. */
type Direction = 'there' | 'back';

/** A TCP proxy in front of a server, for a network that misbehaves. */
export interface TcpProxy {
  port: number;
  /** The given address with this proxy's host and port in it. */
  inFrontOf(url: string): string;
  /**
   * While true nothing is forwarded in either direction, or in the given one, and nothing is closed, so readers wait.
   * New connections are accepted and receive nothing. Data that arrives meanwhile is forwarded afterwards.
   */
  swallow(silent: boolean, direction?: Direction): void;
  /** Forwards everything with this delay in milliseconds, in order. */
  delay(ms: number): void;
  /** Breaks every connection. */
  reset(): void;
  close(): Promise<void>;
}

/** Starts a proxy on a free port of 127.0.0.1 to the host and port of `target`, a URL. */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Map<Socket, Direction>();
  const silent = { there: false, back: false };
  let delayMs = 0;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    passOn(near, far, 'there');
    passOn(far, near, 'back');
  });

  /** Passes what `from` sends on to `to`. */
  function passOn(from: Socket, to: Socket, direction: Direction): void {
    sockets.set(from, direction);
    let before: Promise<unknown> = Promise.resolve();
    const inTurn = (work: () => void) => {
      if (delayMs > 0) before = Promise.all([before, sleep(delayMs, undefined, { ref: false })]);
      before = before.then(work);
    };
    from.on('data', (data) => inTurn(() => to.write(data)));
    // The other side of the pair is closed with it.
    from.on('error', () => undefined);
    from.on('close', () => {
      sockets.delete(from);
      inTurn(() => to.destroySoon());
    });
    if (silent[direction]) from.pause();
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = (server.address() as AddressInfo).port;
  const reset = () => sockets.forEach((_, socket) => socket.destroy());
  return {
    port: own,
    inFrontOf(url) {
      const proxied = new URL(url);
      proxied.hostname = '127.0.0.1';
      proxied.port = String(own);
      return proxied.href;
    },
    swallow(now, only) {
      for (const direction of only ? [only] : (['there', 'back'] as const)) silent[direction] = now;
      for (const [socket, direction] of sockets) {
        if (silent[direction]) socket.pause();
        else socket.resume();
      }
    },
    delay(ms) {
      delayMs = ms;
    },
    reset,
    close() {
      reset();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
