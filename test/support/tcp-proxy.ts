import { connect, createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A TCP proxy in front of a server, for a network that misbehaves. */
export interface TcpProxy {
  port: number;
  /** The given address with this proxy's host and port in it. */
  inFrontOf(url: string): string;
  /**
   * While true nothing is passed on in either direction and nothing is closed: both sides wait for what never comes.
   * New connections are accepted and hear nothing. What came meanwhile is passed on afterwards.
   */
  swallow(silent: boolean): void;
  /** Breaks every connection. */
  reset(): void;
  close(): Promise<void>;
}

/** Starts a proxy on a free port of 127.0.0.1 to the host and port of `target`, a URL. */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let silent = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // The other side of the pair is closed with it.
    socket.on('error', () => undefined);
    if (silent) socket.pause();
  };
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (data) => to.write(data));
      from.on('close', () => to.destroy());
      keep(from);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = (server.address() as AddressInfo).port;
  const reset = () => sockets.forEach((socket) => socket.destroy());
  return {
    port: own,
    inFrontOf(url) {
      const proxied = new URL(url);
      proxied.hostname = '127.0.0.1';
      proxied.port = String(own);
      return proxied.href;
    },
    swallow(now) {
      silent = now;
      for (const socket of sockets) {
        if (silent) socket.pause();
        else socket.resume();
      }
    },
    reset,
    close() {
      reset();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
