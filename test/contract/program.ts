/** The built worker as users run it, and the command line in this process: both configured by the environment alone. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { startProgram } from '../../dev/program';
import { builtPackage } from '../support/built-package';
import { cleanEnvironment, ebrc, type CommandResult } from '../support/command-line';
import { createTestDatabase } from '../support/postgres';
import { devServer } from '../support/temporal';
import { OTHER_KEY, startOtherService, type OtherService } from './other-service';

export interface ContractStage {
  service: OtherService;
  folder: string;
  env: Record<string, string>;
  /** A client as any caller has it, without anything of ours. */
  client: Client;
  /** Runs `ebrc … --json`. */
  run(args: readonly string[], options?: { input?: string; env?: Record<string, string> }): Promise<CommandResult>;
  /** Writes a file to hand to a command, and answers its path. */
  file(name: string, content: unknown): Promise<string>;
  close(): Promise<void>;
}

/** Seconds instead of hours; everything else is as in a deployment. */
const PACE = {
  EBRC_RATE_WINDOW: '2s',
  EBRC_POLL_FIRST: '500ms',
  EBRC_POLL_MIN: '250ms',
  EBRC_POLL_MAX: '500ms',
  EBRC_SETTLE_AFTER: '3s',
  EBRC_HTTP_TIMEOUT: '5s',
};

export async function openContractStage(): Promise<ContractStage> {
  const built = await builtPackage();
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-contract-'));
  const [temporal, database, service] = await Promise.all([devServer(), createTestDatabase(), startOtherService()]);
  const env: Record<string, string> = {
    ...PACE,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    EBRC_API_URL: service.url,
    EBRC_API_KEY: OTHER_KEY,
    EBRC_DOCUMENTS: join(folder, 'documents'),
  };
  const worker = await startProgram({
    name: 'The worker',
    command: process.execPath,
    args: [built.worker],
    log: join(folder, 'worker.log'),
    env: cleanEnvironment(env),
    stopWithinMs: 60_000,
  });
  return {
    service,
    folder,
    env,
    client: await temporal.client(),
    run: (args, options = {}) => ebrc([...args, '--json'], { ...options, env: options.env ?? env }),
    async file(name, content) {
      const path = join(folder, name);
      await writeFile(
        path,
        typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content),
      );
      return path;
    },
    async close() {
      await worker.stop();
      await temporal.stop();
      await service.close();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
