import { Client, Connection, type WorkflowClientInterceptor } from '@temporalio/client';
import { dataConverterOf } from '../../codec/data-converter';
import type { Config } from '../../config/config';
import { UnreachableError } from '../errors';

const CONNECT_WITHIN_MS = 8_000;

export interface ConnectOptions {
  /** How long to try a server that does not answer; default 8 s. */
  withinMs?: number;
  /** Interceptors that send the trace with calls. */
  interceptors?: WorkflowClientInterceptor[];
}

/** @throws UnreachableError that names the address */
export async function connectTemporal(
  { temporal: { address, namespace, connectionOptions }, payloadKeys }: Pick<Config, 'temporal' | 'payloadKeys'>,
  { withinMs = CONNECT_WITHIN_MS, interceptors = [] }: ConnectOptions = {},
): Promise<Client> {
  try {
    const connection = await Connection.connect({ ...connectionOptions, connectTimeout: withinMs });
    return new Client({
      connection,
      namespace,
      dataConverter: dataConverterOf(payloadKeys),
      interceptors: { workflow: interceptors },
    });
  } catch (error) {
    throw new UnreachableError('Temporal', `${address} (namespace ${namespace})`, error);
  }
}
