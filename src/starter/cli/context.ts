import type { Client } from '@temporalio/client';
import type pg from 'pg';
import { createBudget, hashOfKey } from '../../api/budget';
import { createFilingApi } from '../../api/client';
import type { FilingApi } from '../../api/client-types';
import { ConfigError, loadConfig, type ConfigOf, type Section } from '../../config';
import { createDocumentStore } from '../../documents/document-store';
import type { Mode } from '../../domain/names';
import { createBudgetStore } from '../../ledger/budget-store';
import { createVault } from '../../ledger/vault';
import { createEbrcClient, type EbrcClient } from '../client';
import { connectTemporal, openLedger } from '../connections';
import type { Terminal } from './terminal';

/** What a command works with. Everything is opened when it is asked for first, and closed at the end. */
export interface Cli {
  terminal: Terminal;
  /** @throws ConfigError with every wrong variable of these sections */
  config<S extends Section>(...need: S[]): ConfigOf<S>;
  /** As `config`, for what a command can do without: nothing where the variables are not set. @throws ConfigError where they are wrong */
  optional<S extends Section>(need: S): Partial<ConfigOf<S>>;
  mode(): Mode;
  pool(): Promise<pg.Pool>;
  temporal(): Promise<Client>;
  client(): Promise<EbrcClient>;
  /** The filing service itself, within the budget that the workers share; for what is no workflow. */
  api(): Promise<FilingApi>;
  close(): Promise<void>;
}

/** What the typed client needs of the configuration. */
export const CLIENT_SECTIONS = ['mode', 'database', 'temporal', 'encryption', 'documents'] as const;

export function createCli(terminal: Terminal): Cli {
  const opened: (() => Promise<unknown>)[] = [];
  const warned = new Set<string>();

  function config<S extends Section>(...need: S[]): ConfigOf<S> {
    const loaded = loadConfig(undefined, { need });
    for (const warning of loaded.warnings) {
      if (!warned.has(warning)) terminal.note(`Note: ${warning}`);
      warned.add(warning);
    }
    return loaded;
  }

  function optional<S extends Section>(need: S): Partial<ConfigOf<S>> {
    try {
      return config(need);
    } catch (error) {
      const unset =
        error instanceof ConfigError && error.problems.every(({ problem }) => problem.startsWith('is missing'));
      if (!unset) throw error;
      return {};
    }
  }

  const pool = once(async () => {
    const ledger = await openLedger(config('database').databaseUrl);
    opened.push(() => ledger.end());
    return ledger;
  });

  const temporal = once(async () => {
    const client = await connectTemporal(config('temporal').temporal);
    opened.push(() => client.connection.close());
    return client;
  });

  const client = once(async () => {
    // All of it first: a person mends one configuration, not one variable at a time.
    const { mode, taskQueue, encryptionKeys, documents } = config(...CLIENT_SECTIONS);
    return createEbrcClient({
      pool: await pool(),
      temporal: await temporal(),
      vault: createVault({ keys: encryptionKeys.map(({ id, key }) => ({ keyId: id, key })) }),
      documents: createDocumentStore({ root: documents }),
      mode,
      taskQueue,
    });
  });

  const api = once(async () => {
    const { apiUrl, apiKey, httpTimeoutMs, rateWindowMs } = config('api', 'database');
    const store = createBudgetStore({ pool: await pool(), keyHash: hashOfKey(apiKey), owner: crypto.randomUUID() });
    const budget = createBudget({ store, windowMs: rateWindowMs });
    const service = createFilingApi({ baseUrl: apiUrl, apiKey, httpTimeoutMs, budget });
    opened.push(async () => {
      await service.close();
      await budget.close();
    });
    return service;
  });

  return {
    terminal,
    config,
    optional,
    mode: () => config('mode').mode,
    pool,
    temporal,
    client,
    api,
    async close() {
      // What was opened last stands on what was opened first.
      for (const close of opened.reverse()) await close();
    },
  };
}

function once<T>(open: () => Promise<T>): () => Promise<T> {
  let value: Promise<T> | undefined;
  return () => (value ??= open());
}
