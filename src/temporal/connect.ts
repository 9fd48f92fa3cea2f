import { X509Certificate } from 'node:crypto';
import { InterceptingCall, status, type Interceptor } from '@grpc/grpc-js';
import {
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type ConnectionOptions,
  type Client,
} from '@temporalio/client';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import type { Logger } from 'pino';
import { SEARCH_ATTRIBUTES } from '../domain/names';

/** The default deadline, longer than a long poll; without one a call would wait for a stalled server forever. */
const CALL_WITHIN_MS = 90_000;

/** Connects to Temporal. A retry after closing ends as cancelled, because its exception would end the process. */
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

/** When the client certificate of a connection expires; null if it has none, or an unreadable one. */
export function clientCertificateEnds(tls: ClientConnectConfig['connectionOptions']['tls']): Date | null {
  const certificate = typeof tls === 'object' && tls ? tls.clientCertPair?.crt : undefined;
  try {
    return certificate ? new Date(new X509Certificate(certificate).validTo) : null;
  } catch {
    return null;
  }
}

/** `temporal.api.enums.v1.IndexedValueType`. */
const INDEXED_VALUE_TYPES = { Keyword: 2, Bool: 5 } as const;

/** Registers missing search attributes, or logs them if this worker may not. @returns the attributes that can be set */
export async function ensureSearchAttributes(
  connection: Client['connection'],
  namespace: string,
  logger: Logger,
): Promise<string[]> {
  const wanted = Object.entries(SEARCH_ATTRIBUTES);
  const known = await registered(connection, namespace).catch((error: unknown) => {
    logger.warn({ err: error }, 'the namespace’s search attributes cannot be read; none will be set');
    return null;
  });
  if (!known) return [];
  const missing = wanted.filter(([name]) => !known.has(name));
  if (missing.length === 0) return wanted.map(([name]) => name);
  try {
    const searchAttributes = Object.fromEntries(missing.map(([name, type]) => [name, INDEXED_VALUE_TYPES[type]]));
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
    logger.info({ registered: missing.map(([name]) => name) }, 'search attributes registered');
  } catch (error) {
    logger.warn(
      { missing: missing.map(([name]) => name), err: error },
      'search attributes are missing and this worker may not register them; lists in the UI lack them until somebody ' +
        'does, with `temporal operator search-attribute create`; `ebrc doctor` says how',
    );
  }
  const now = await registered(connection, namespace).catch(() => known);
  return wanted.map(([name]) => name).filter((name) => now.has(name));
}

async function registered(connection: Client['connection'], namespace: string): Promise<Set<string>> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return new Set(Object.keys(customAttributes ?? {}));
}
