import { DefaultLogger, Runtime } from '@temporalio/worker';

/** Keeps the SDK's own lines out of the figures. */
export function quietRuntime(): void {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: 'error', forward: {} } },
  });
}
