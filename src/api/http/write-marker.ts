import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/**
 * Reports when the first byte of one of our requests is handed to its socket. The HTTP library announces this on the
 * channel `undici:client:sendHeaders`, directly before it writes. Its `bodySent` is not suitable: it fires when the
 * body is handed to the stream, even if the peer resets while reading.
 */
export interface WriteMarker {
  /** Runs `dispatch`, which must hand its request to undici synchronously, and calls `onWritten` at its first byte. */
  watch<T>(dispatch: () => T, onWritten: () => void): T;
  close(): void;
}

const CREATED = 'undici:request:create';
const SEND_HEADERS = 'undici:client:sendHeaders';

export function createWriteMarker(): WriteMarker {
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
    watch: (dispatch, onWritten) => {
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
  return (
    typeof message === 'object' &&
    message !== null &&
    'request' in message &&
    typeof message.request === 'object' &&
    message.request !== null
  );
}
