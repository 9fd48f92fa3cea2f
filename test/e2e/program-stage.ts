/** The built worker as users run it, on servers of its own, and the command line: configured by the environment. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startProgram } from '../../dev/program';
import { builtPackage } from '../support/built-package';
import { cleanEnvironment, ebrc, type CommandOptions, type CommandResult } from '../support/command-line';
import { createTestDatabase } from '../support/postgres';
import { devServer } from '../support/temporal';

export type ProgramStage = Awaited<ReturnType<typeof openProgramStage>>;

/**
 * Seconds instead of hours; everything else is as in a deployment.
 * @param env of worker and commands, besides the servers
 * @param secrets of the worker alone
 */
export async function openProgramStage(
  service: { url: string; close(): Promise<unknown> },
  env: Record<string, string>,
  secrets: Record<string, string> = {},
) {
  const built = await builtPackage();
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-program-'));
  const [temporal, database] = await Promise.all([devServer(), createTestDatabase()]);
  const all: Record<string, string> = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    EBRC_API_URL: service.url,
    EBRC_DOCUMENTS: join(folder, 'documents'),
    EBRC_RATE_WINDOW: '2s',
    EBRC_POLL_FIRST: '500ms',
    EBRC_POLL_MIN: '250ms',
    EBRC_POLL_MAX: '1s',
    ...env,
  };
  const worker = await startProgram({
    name: 'The worker',
    command: process.execPath,
    args: [built.worker],
    log: join(folder, 'worker.log'),
    env: cleanEnvironment({ ...all, ...secrets }),
    stopWithinMs: 150_000,
  });
  return {
    temporal,
    database,
    /** Of the worker's log and documents, and of the test's own files. */
    folder,
    /** The built command line. */
    program: built.commandLine,
    /** The folder of the built programs. */
    dist: dirname(built.worker),
    run: (args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> =>
      ebrc(args, { ...options, env: { ...all, ...options.env } }),
    /** Writes a file to hand to a command; what is no text and no bytes as JSON. @returns its path */
    async file(name: string, content: unknown): Promise<string> {
      const path = join(folder, name);
      const isRaw = typeof content === 'string' || Buffer.isBuffer(content);
      await writeFile(path, isRaw ? content : JSON.stringify(content));
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
