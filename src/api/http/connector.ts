import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

export interface ConnectionOptions {
  connectTimeoutMs: number;
  /** A certificate authority to trust besides none other, PEM; the system's own list when left out. */
  ca?: string;
}

/** The plain connector: TCP, and TLS for https. HTTP/1.1 only, because the write marker below knows no other. */
export function createConnector(options: ConnectionOptions): buildConnector.connector {
  return buildConnector({
    timeout: options.connectTimeoutMs,
    allowH2: false,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  });
}

/**
 * A connector for exactly one connection, which runs `ready` once the connection is up and hands it over only when that
 * succeeds, and when `inTime` does not throw in the very turn of the hand-over. The HTTP library writes the request in
 * the same turn as the hand-over, so nothing can come between `ready` and the first byte. It would also reconnect by
 * itself after a connection that broke before the write; a second connection is refused here, since `ready` has set a
 * mark that stands for one write only.
 */
export function createSingleUseConnector(
  connect: buildConnector.connector,
  ready: () => Promise<void>,
  inTime: () => void,
): buildConnector.connector {
  let used = false;
  return (options, callback) => {
    if (used) {
      callback(new Error('The connection was lost before the request was written.'), null);
      return;
    }
    used = true;
    connect(options, (error, socket) => {
      if (error !== null || socket === null) {
        callback(error ?? new Error('No connection.'), null);
        return;
      }
      ready().then(
        () => {
          try {
            inTime();
          } catch {
            socket.destroy();
            callback(new Error('The time for the request was over before it was written.'), null);
            return;
          }
          if (isUsable(socket)) {
            callback(null, socket);
          } else {
            socket.destroy();
            callback(new Error('The service closed the connection before the request was written.'), null);
          }
        },
        () => {
          socket.destroy();
          callback(new Error('The request was given up before it was written.'), null);
        },
      );
    });
  };
}

/**
 * Whether the peer left the connection open while `ready` ran; a write into a closed one may be lost without a sign.
 */
function isUsable(socket: Socket): boolean {
  return !socket.destroyed && socket.readyState === 'open';
}
