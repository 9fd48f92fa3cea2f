/**
 * A real Temporal server, a database, the sandbox and a worker in this process, for the commands that read documents.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accessOf } from '../../src/assistant/extraction/activities';
import { createExtractionApi } from '../../src/api/endpoints/extraction';
import { loadConfig } from '../../src/config/config';
import { createVault } from '../../src/ledger/vault/vault';
import { createDocumentStore } from '../../src/documents/document-store';
import { createSandbox, type Sandbox } from '../../sandbox/sandbox';
import type { SandboxOptions } from '../../sandbox/options';
import { ebrc, type CommandResult } from '../support/command-line';
import { createTestDatabase, type TestDatabase } from '../support/postgres';
import { devServer, type DevServer } from '../support/temporal';
import { startTestWorker, type TestWorker } from '../support/worker';

export interface ExtractionStage {
  sandbox: Sandbox;
  ledger: TestDatabase;
  temporal: DevServer;
  worker: TestWorker;
  /** For the test's own files. */
  folder: string;
  env: Record<string, string>;
  ebrc(args: readonly string[], more?: { env?: Record<string, string>; input?: string }): Promise<CommandResult>;
  /** Onboards one of the sandbox's exporters, until it is ready. */
  onboard(exporter: { name: string; email: string; iec: string; username: string; password: string }): Promise<void>;
  /** A worker of its own on the same ledger, with another extraction service or key. */
  workerFor(extraction: { url: string; key: string } | null, taskQueue?: string): Promise<TestWorker>;
  close(): Promise<void>;
}

export async function startExtractionStage(options: SandboxOptions = {}): Promise<ExtractionStage> {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-extraction-'));
  const [temporal, ledger, sandbox] = await Promise.all([
    devServer(),
    createTestDatabase(),
    createSandbox({ activationDelayMs: 0, ...options }),
  ]);
  const client = await temporal.client();
  const nativeConnection = await temporal.connectNative();
  const workers: TestWorker[] = [];
  // As the command line derives it: passwords alone are encrypted with it.
  const { encryptionKeys } = loadConfig({ EBRC_API_KEY: 'dev_sandbox_key' }, { need: ['encryption'] });
  const documents = join(folder, 'documents');
  const workerFor = async (extraction: { url: string; key: string } | null, taskQueue?: string) => {
    const worker = await startTestWorker({
      env: { client, nativeConnection, currentTimeMs: () => Promise.resolve(Date.now()) },
      sandbox,
      ledger,
      taskQueue,
      settings: { pollFirstMs: 500, pollMinMs: 300, pollMaxMs: 1_000 },
      adjust: (deps) => ({
        ...deps,
        documents: createDocumentStore({ root: documents }),
        vault: createVault({ keys: encryptionKeys }),
        extraction: extraction
          ? {
              api: createExtractionApi({ baseUrl: extraction.url, apiKey: extraction.key, httpTimeoutMs: 5_000 }),
              service: `${extraction.url} 1`,
              access: accessOf(extraction.url, extraction.key),
              pace: { atOnce: 3, pauseMs: 20 },
            }
          : undefined,
      }),
    });
    workers.push(worker);
    return worker;
  };
  const worker = await workerFor({ url: sandbox.extractionUrl, key: 'extract_sandbox_key' });
  const env = {
    DATABASE_URL: ledger.url,
    TEMPORAL_ADDRESS: temporal.address,
    EBRC_API_URL: sandbox.url,
    EBRC_API_KEY: 'dev_sandbox_key',
    EBRC_TASK_QUEUE: worker.taskQueue,
    EBRC_DOCUMENTS: documents,
  };
  const run: ExtractionStage['ebrc'] = (args, more = {}) => ebrc(args, { ...more, env: { ...env, ...more.env } });
  return {
    sandbox,
    ledger,
    temporal,
    worker,
    folder,
    env,
    workerFor,
    ebrc: run,
    async onboard({ name, email, iec, username, password }) {
      const exporter = ['--name', name, '--email', email, '--iec', iec, '--username', username];
      const { code, stderr } = await run(['onboard', ...exporter, '--password-stdin', '--wait'], { input: password });
      if (code !== 0) throw new Error(stderr);
    },
    close: async () => {
      await Promise.all(workers.map((each) => each.close()));
      await temporal.stop();
      await sandbox.close();
      await ledger.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
