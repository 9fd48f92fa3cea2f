import type { Socket } from 'node:net';
import { isObject } from '../../domain/values';
import { buildConnector } from 'undici';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** TCP or TLS, HTTP/1.1 only, because the write marker does not support HTTP/2. `ca`: the only trusted CA, PEM. */
export function createConnector({ connectTimeoutMs, ca }: { connectTimeoutMs: number; ca?: string }) {
  return buildConnector({ timeout: connectTimeoutMs, allowH2: false, ...(ca === undefined ? {} : { ca }) });
}

/**
 * A connector for one connection, which is handed over if `ready` succeeds and `inTime` holds. undici writes in the
 * same turn of the event loop, so nothing comes between `ready` and the first byte. A reconnect is refused, because the
 * mark that `ready` sets allows one write.
 */
export function createSingleUseConnector(
  connect: buildConnector.connector,
  ready: () => Promise<void>,
  inTime: () => boolean,
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
      const refuse = (why: string): void => {
        socket.destroy();
        callback(new Error(why), null);
      };
      ready().then(
        () => {
          if (!inTime()) refuse('The time for the request was over before it was written.');
          else if (!isUsable(socket)) refuse('The service closed the connection before the request was written.');
          else callback(null, socket);
        },
        () => refuse('The request was given up before it was written.'),
      );
    });
  };
}

/** Whether the peer kept the connection open while `ready` ran; a write to a closed one may be lost silently. */
function isUsable(socket: Socket): boolean {
  return !socket.destroyed && socket.readyState === 'open';
}

const CREATED = 'undici:request:create';
const SEND_HEADERS = 'undici:client:sendHeaders';

/**
 * Reports when the first byte is handed to a socket, by the channel `undici:client:sendHeaders`. `bodySent` is no
 * substitute: it fires when the body is handed to the stream, even if the peer resets while reading.
 */
export function createWriteMarker() {
  const watched = new WeakMap<object, () => void>();
  // Everything in the process that uses undici shares the channels, including Node's fetch. A request is ours if it is
  // created during our synchronous dispatch.
  let dispatching: (() => void) | null = null;

  const onCreated = (message: unknown): void => {
    if (dispatching === null || !isRequestMessage(message)) return;
    watched.set(message.request, dispatching);
  };
  const onSendHeaders = (message: unknown): void => {
    if (isRequestMessage(message)) watched.get(message.request)?.();
  };
  subscribe(CREATED, onCreated);
  subscribe(SEND_HEADERS, onSendHeaders);

  return {
    /** Runs `dispatch`, which must create its request synchronously, and calls `onWritten` at its first byte. */
    watch<T>(dispatch: () => T, onWritten: () => void): T {
      dispatching = onWritten;
      try {
        return dispatch();
      } finally {
        dispatching = null;
      }
    },
    close: () => {
      unsubscribe(CREATED, onCreated);
      unsubscribe(SEND_HEADERS, onSendHeaders);
    },
  };
}

function isRequestMessage(message: unknown): message is { request: object } {
  return isObject(message) && isObject(message.request);
}
