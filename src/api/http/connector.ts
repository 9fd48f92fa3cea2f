import type { Socket } from 'node:net';
import { isObject } from '../../domain/values';
import { buildConnector } from 'undici';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** TCP, and TLS for https. HTTP/1.1 only: the write marker has no HTTP/2. `ca`: the only authority to trust, PEM. */
export function createConnector({ connectTimeoutMs, ca }: { connectTimeoutMs: number; ca?: string }) {
  return buildConnector({ timeout: connectTimeoutMs, allowH2: false, ...(ca === undefined ? {} : { ca }) });
}

/**
 * A connector for one connection, handed over if `ready` succeeds and `inTime` holds in the same turn. The library
 * writes in that turn, so nothing comes between `ready` and the first byte. A reconnect is refused: `ready` has
 * set a mark that stands for one write.
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

/** Whether the peer kept the connection open while `ready` ran; a write to a closed connection may be lost silently. */
function isUsable(socket: Socket): boolean {
  return !socket.destroyed && socket.readyState === 'open';
}

const CREATED = 'undici:request:create';
const SEND_HEADERS = 'undici:client:sendHeaders';

/**
 * Reports the first byte handed to a socket, by the channel `undici:client:sendHeaders`. `bodySent` does not do: it
 * fires when the body is handed to the stream, even if the peer resets while reading.
 */
export function createWriteMarker() {
  const watched = new WeakMap<object, () => void>();
  // The channels are shared by everything in the process that uses undici, including Node's own fetch. A request is
  // ours if it is created during our synchronous dispatch.
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
    /** Runs `dispatch`, which must hand its request to undici at once, and calls `onWritten` at its first byte. */
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
