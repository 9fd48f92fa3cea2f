import { Client, Connection } from '@temporalio/client';
import { dataConverterOf } from '../../codec/data-converter';
import type { Config } from '../../config/config';
import { UnreachableError } from '../errors';

const CONNECT_WITHIN = '8s';

/** @throws UnreachableError that names the address */
export async function connectTemporal({
  temporal: { address, namespace, connectionOptions },
  payloadKeys,
}: Pick<Config, 'temporal' | 'payloadKeys'>): Promise<Client> {
  try {
    const connection = await Connection.connect({ ...connectionOptions, connectTimeout: CONNECT_WITHIN });
    return new Client({ connection, namespace, dataConverter: dataConverterOf(payloadKeys) });
  } catch (error) {
    throw new UnreachableError('Temporal', `${address} (namespace ${namespace})`, error);
  }
}
