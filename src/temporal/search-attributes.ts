import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { SEARCH_ATTRIBUTES } from '../domain/names';

/** `temporal.api.enums.v1.IndexedValueType`. */
const INDEXED_VALUE_TYPES = { Keyword: 2, Bool: 5 } as const;

/** Registers missing search attributes if this worker may, else logs them. @returns those that can be set */
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
