import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

export interface ConnectionOptions {
  connectTimeoutMs: number;
  /** The only certificate authority to trust, PEM; the system's own list if undefined. */
  ca?: string;
}

/** The standard connector: TCP, and TLS for https. HTTP/1.1 only, because the write marker does not support HTTP/2. */
export function createConnector(options: ConnectionOptions): buildConnector.connector {
  return buildConnector({
    timeout: options.connectTimeoutMs,
    allowH2: false,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  });
}

/**
 * A connector for exactly one connection. It runs `ready` once the connection is up, and hands the connection over only
 * if that succeeds and `inTime` does not throw in the same turn. The HTTP library writes the request in the turn of the
 * hand-over, so nothing can happen between `ready` and the first byte. It would also reconnect by itself if a
 * connection broke before the write; a second connection is refused here, because `ready` has set a mark that stands
 * for one write.
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

/** Whether the peer kept the connection open while `ready` ran; a write to a closed connection may be lost silently. */
function isUsable(socket: Socket): boolean {
  return !socket.destroyed && socket.readyState === 'open';
}
