import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import type { DevServer } from '../../support/temporal';

/** Builds of the worker, as far as their `fileRemittances` differs: ./builds has them. */
export type Build = 'waits' | 'sleeps' | 'breaks';

export const bundleOf = (build: Build) =>
  bundleWorkflowCode({
    workflowsPath: require.resolve(`./builds/${build}`),
    logger: new DefaultLogger('ERROR'),
    workflowInterceptorModules: [require.resolve('../../../src/workflows/interceptors')],
  });

/** Starts a worker of a build. @returns what stops it, which may be called again */
export async function startBuild(server: DevServer, build: Build, taskQueue: string): Promise<() => Promise<void>> {
  const worker = await Worker.create({
    connection: await server.connectNative(),
    taskQueue,
    workflowBundle: await bundleOf(build),
    maxCachedWorkflows: 0,
  });
  const running = worker.run();
  let stopped: Promise<void> | undefined;
  return () => (stopped ??= (worker.shutdown(), running));
}
