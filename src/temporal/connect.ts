import { X509Certificate } from 'node:crypto';
import { InterceptingCall, status, type Interceptor } from '@grpc/grpc-js';
import { Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import type { ConnectionOptions } from '@temporalio/client';
import type { ClientConnectConfig } from '@temporalio/envconfig';

/** Longer than the server keeps a long poll. Without a deadline a call would wait for a stalled server for ever. */
const CALL_WITHIN_MS = 90_000;

/** Connects to Temporal. A call repeated after closing ends as cancelled: the throw would end the process. */
export function connect(options: ConnectionOptions): Promise<Connection> {
  const retries = makeGrpcRetryInterceptor(defaultGrpcRetryOptions());
  return Connection.connect({ ...options, interceptors: [retries, boundedAndCancelled] });
}

const boundedAndCancelled: Interceptor = (options, nextCall) => {
  try {
    return new InterceptingCall(nextCall({ ...options, deadline: options.deadline ?? Date.now() + CALL_WITHIN_MS }));
  } catch (error) {
    return new InterceptingCall(endedCall(String(error)));
  }
};

function endedCall(details: string): NonNullable<ConstructorParameters<typeof InterceptingCall>[0]> {
  const nothing = () => undefined;
  return {
    start: (metadata, listener) => listener?.onReceiveStatus?.({ code: status.CANCELLED, details, metadata }),
    cancelWithStatus: nothing,
    sendMessageWithContext: nothing,
    sendMessage: nothing,
    startRead: nothing,
    halfClose: nothing,
    getPeer: () => '',
    getAuthContext: () => null,
  };
}

/** When the client certificate of a connection to Temporal ends; null where it has none, or none that can be read. */
export function clientCertificateEnds(tls: ClientConnectConfig['connectionOptions']['tls']): Date | null {
  const certificate = typeof tls === 'object' && tls ? tls.clientCertPair?.crt : undefined;
  try {
    return certificate ? new Date(new X509Certificate(certificate).validTo) : null;
  } catch {
    return null;
  }
}
