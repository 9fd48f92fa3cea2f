import { rm } from 'node:fs/promises';
import { startTemporalServer, type TemporalServer } from '../dev/temporal-server';

/** Temporal's development server, which can be restarted on the same port. */
export interface RestartableTemporal {
  address: string;
  namespace: string;
  /** Process id of the server that runs now. */
  pid(): number;
  /** Ends it with `signal`, waits for `beforeStart`, and starts it again with the histories that it had. */
  restart(signal: 'SIGKILL' | 'SIGTERM', beforeStart: () => Promise<unknown>): Promise<void>;
  /** The same, with an empty server in its place. */
  lose(): Promise<void>;
  stop(): Promise<void>;
}

/** @param folder where it keeps its histories; without one they are in memory, and it cannot be started again */
export async function startRestartable(folder?: string): Promise<RestartableTemporal> {
  let server: TemporalServer = await startTemporalServer({ headless: true, folder });
  const { address, namespace } = server;
  const port = Number(address.split(':')[1]);
  let restarting: Promise<void> = Promise.resolve();
  const restart: RestartableTemporal['restart'] = (signal, beforeStart) => {
    if (folder === undefined) throw new Error('This server keeps its data in memory: it cannot be restarted.');
    restarting = (async () => {
      process.kill(server.pid, signal);
      await server.stop();
      await beforeStart();
      server = await startTemporalServer({ headless: true, folder, port });
    })();
    return restarting;
  };
  return {
    address,
    namespace,
    pid: () => server.pid,
    restart,
    lose: () => restart('SIGKILL', () => rm(folder ?? '', { recursive: true, force: true })),
    async stop() {
      await restarting.catch(() => undefined);
      await server.stop();
    },
  };
}
