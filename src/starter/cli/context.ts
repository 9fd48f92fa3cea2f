import type pg from 'pg';
import { once } from '../../domain/values';
import type { ConfigOf, Environment, Section } from '../../config/config';
import type { Workbooks } from '../../workbook/workbooks';
import type { OpenOptions } from '../connect';
import type { ExitCode } from '../errors';
import type { Terminal } from './terminal';

/** Configuration needed to read. */
const READER_SECTIONS = ['mode', 'database', 'documents', 'tuning', 'filing', 'quota'] as const;

/** Configuration needed by the typed client. */
export const CLIENT_SECTIONS = [...READER_SECTIONS, 'temporal'] as const;

/** PostgreSQL restarts within a few seconds. */
export const WAIT_FOR_LEDGER_MS = 15_000;

export interface CliOptions {
  /** Replaces the process's own environment. */
  env?: Environment;
  /** How long to wait for a PostgreSQL that is restarting; default {@link WAIT_FOR_LEDGER_MS}. */
  waitForLedgerMs?: number;
  /** How often a waiting command checks whether a worker runs; default 5 s. */
  lookForWorkerEveryMs?: number;
  /** How long to try a Temporal server that does not answer; default 8 s. */
  connectWithinMs?: number;
  /** Default: in a thread with limits of time and memory. */
  workbooks?: Workbooks;
}

/** A command's dependencies. Each is loaded and opened at its first use, and closed at the end. */
export function createCli<T extends Pick<Terminal, 'note'>>(
  terminal: T,
  {
    env,
    waitForLedgerMs = WAIT_FOR_LEDGER_MS,
    lookForWorkerEveryMs,
    connectWithinMs,
    workbooks: given,
  }: CliOptions = {},
) {
  const opened: (() => Promise<unknown>)[] = [];
  let changes = false;
  const warned = new Set<string>();

  /** @throws ConfigError that lists every wrong variable of these sections */
  async function config<S extends Section>(...need: S[]): Promise<ConfigOf<S>> {
    const { loadConfig } = await import('../../config/config.js');
    const loaded = loadConfig(env, { need });
    for (const warning of loaded.warnings) {
      if (!warned.has(warning)) terminal.note(`Note: ${warning}`);
      warned.add(warning);
    }
    return loaded;
  }

  /** Like `config` for an optional section: empty if its variables are unset. @throws ConfigError if they are wrong */
  async function optional<S extends Section>(need: S): Promise<Partial<ConfigOf<S>>> {
    const { ConfigError } = await import('../../config/config.js');
    try {
      return await config(need);
    } catch (error) {
      const unset =
        error instanceof ConfigError && error.problems.every(({ problem }) => problem.startsWith('is missing'));
      if (!unset) throw error;
      return {};
    }
  }

  let ledgerPool: Promise<pg.Pool> | undefined;
  /** The pool on the ledger. @param how used by the first call, which opens the pool */
  const pool = (how: Pick<OpenOptions, 'max' | 'applicationName'> = {}) => (ledgerPool ??= openPool(how));

  async function openPool(how: Pick<OpenOptions, 'max' | 'applicationName'>): Promise<pg.Pool> {
    const { openLedger } = await import('../connect.js');
    const waiting = { waitMs: waitForLedgerMs, onWait: (notice: string) => terminal.note(notice) };
    const opening = await openLedger((await config('database')).databaseUrl, { ...waiting, ...how });
    opened.push(() => opening.end());
    return opening;
  }

  /** The ledger, in the key's mode. @param writes true if the command must not be repeated when PostgreSQL restarts */
  const ledger = async ({ writes = false } = {}) => {
    changes ||= writes;
    const { mode } = await config('mode', 'database');
    return { pool: await pool(), mode };
  };

  /** The configured store, even if it is not the ledger's; for commands that report that or make it the ledger's. */
  const configuredDocuments = once(async () => {
    const { createDocumentStore } = await import('../../documents/document-store.js');
    return createDocumentStore({ root: (await config('documents')).documents });
  });

  const misplaced = once(async () => {
    const { otherStore } = await import('../connect.js');
    return otherStore(await pool(), await configuredDocuments(), (await config('documents')).documents);
  });

  /** The ledger's document store. @throws UsageError if another store is configured */
  const documents = once(async () => {
    const problem = await misplaced();
    if (problem === null) return configuredDocuments();
    const { UsageError } = await import('../errors.js');
    throw new UsageError(problem, 'other_documents');
  });

  /** The store for paths of documents; without it documents are shown by name. */
  const documentPaths = once(async () => {
    const { documents: root } = await config('documents');
    const store = await configuredDocuments();
    const problem = root.startsWith('s3://') ? null : await misplaced();
    if (problem === null) return store;
    terminal.note(`Note: documents are shown by name. ${problem}`);
    return { pathOf: (name: string) => name };
  });

  const workbooks = once(async () => {
    if (given) return given;
    const { createWorkbookThreads } = await import('../../workbook/workbooks.js');
    const threads = createWorkbookThreads();
    opened.push(() => threads.close());
    return threads;
  });

  const temporal = once(async () => {
    changes = true;
    const { connectTemporal } = await import('../connect.js');
    const { loadTelemetry } = await import('../../telemetry/tracer.js');
    const { tracesEndpoint } = await config('traces');
    const telemetry = await loadTelemetry(tracesEndpoint, {
      service: 'ebrc',
      onLost: (reason) => terminal.note(`Note: traces could not be sent: ${reason}`),
    });
    if (telemetry) opened.push(() => telemetry.close());
    const client = await connectTemporal(await config('temporal'), {
      withinMs: connectWithinMs,
      interceptors: telemetry ? [telemetry.clientInterceptor] : [],
    });
    opened.push(() => client.connection.close());
    return client;
  });

  /** The filing service within the workers' shared budget, for calls that no workflow makes. */
  const api = once(async () => {
    changes = true;
    const [{ createFilingApi }, { createBudget, hashOfKey }, { createBudgetStore }] = await Promise.all([
      import('../../api/client.js'),
      import('../../budget/budget.js'),
      import('../../budget/store.js'),
    ]);
    const { apiUrl, apiKey, httpTimeoutMs, rateWindowMs } = await config('api', 'database');
    const store = createBudgetStore({ pool: await pool(), keyHash: hashOfKey(apiKey), owner: crypto.randomUUID() });
    const budget = createBudget({ store, windowMs: rateWindowMs });
    const service = createFilingApi({ baseUrl: apiUrl, apiKey, httpTimeoutMs, budget });
    opened.push(async () => {
      await service.close();
      await budget.close();
    });
    return service;
  });

  /** The principal of EBRC_TOKEN, if set. @throws UsageError if the token is not valid */
  const principal = once(async () => {
    const { token } = await config('token');
    if (token === undefined) return undefined;
    const [{ principalOfToken }, { UsageError }] = await Promise.all([
      import('../../ledger/principals/principals.js'),
      import('../errors.js'),
    ]);
    const { mode } = await config('mode');
    const found = await principalOfToken(await pool(), mode, token);
    if (found) return found;
    const text = `EBRC_TOKEN is unknown, has ended, or is of the other mode than ${mode}; \`ebrc principals rotate\` makes a new one.`;
    throw new UsageError(text, 'unauthorized');
  });

  const readerBasis = async () => {
    const { mode, cancelWithinMs, quota, ...read } = await config(...READER_SECTIONS);
    const { settleAfterMs, overdueAfterMs, httpTimeoutMs, rateWindowMs, singlePerson } = read;
    const settings = { settleAfterMs, overdueAfterMs, httpTimeoutMs, rateWindowMs, singlePerson };
    return { pool: await pool(), mode, settings, cancelWithinMs, quota };
  };

  /** For read-only commands: no Temporal or encryption key, and `EBRC_MODE` may replace the API key. */
  const reader = once(async () => {
    const { createEbrcReader } = await import('../reader.js');
    return createEbrcReader({ ...(await readerBasis()), documents: await documentPaths() });
  });

  /** What filing needs, except the principal and the service. */
  const dependencies = async () => {
    // Reads all sections at once, so that all wrong variables are reported together.
    const { taskQueue } = await config(...CLIENT_SECTIONS);
    const basis = await readerBasis();
    const servers = { temporal: await temporal(), documents: await documents(), workbooks: await workbooks() };
    return { ...basis, ...servers, taskQueue, lookForWorkerEveryMs };
  };

  const client = once(async () => {
    const { createEbrcClient } = await import('../client.js');
    await config(...CLIENT_SECTIONS);
    const caller = await principal();
    return createEbrcClient({ ...(await dependencies()), principal: caller, api });
  });

  return {
    terminal,
    env,
    connectWithinMs,
    config,
    optional,
    pool,
    ledger,
    documents,
    configuredDocuments,
    workbooks,
    temporal,
    api,
    reader,
    dependencies,
    client,
    /** Sets what is printed when the user interrupts the command, which ends the command but not what it started. */
    onInterrupt(say: () => string) {
      const interrupt = () => {
        terminal.note(`\n${say()}`);
        // No handler is left, so the signal ends this process and the shell sees why.
        process.kill(process.pid, 'SIGINT');
      };
      process.once('SIGINT', interrupt);
      opened.push(() => Promise.resolve(process.off('SIGINT', interrupt)));
    },
    principal,
    /** Whether the command may be repeated: it has only read, or made writes that may be repeated. */
    onlyRead: () => !changes,
    async close() {
      // In reverse order, because later ones depend on earlier ones.
      for (const close of opened.reverse()) await close();
    },
  };
}

export type Cli = ReturnType<typeof createCli<Terminal>>;

/** Wraps a command's handler as a commander action. The handler returns the exit code; nothing means 0. */
export type Bind = <O extends object>(
  handler: (cli: Cli, args: string[], options: O) => Promise<ExitCode | void>,
) => (...parameters: unknown[]) => Promise<void>;
