import { Client, Connection } from '@temporalio/client';
import type { Config } from '../../config';
import { UnreachableError } from '../errors';

const CONNECT_WITHIN = '8s';

/** @throws UnreachableError that names the address */
export async function connectTemporal({ address, namespace, connectionOptions }: Config['temporal']): Promise<Client> {
  try {
    const connection = await Connection.connect({ ...connectionOptions, connectTimeout: CONNECT_WITHIN });
    return new Client({ connection, namespace });
  } catch (error) {
    throw new UnreachableError('Temporal', `${address} (namespace ${namespace})`, error);
  }
}
