import { DefaultLogger, Runtime } from '@temporalio/worker';

/** Of what the SDK says it passes errors alone. */
export const quietLogger = new DefaultLogger('ERROR');

/** Keeps the SDK's own lines out of the figures. */
export function quietRuntime(): void {
  Runtime.install({
    logger: quietLogger,
    telemetryOptions: { logging: { filter: 'error', forward: {} } },
  });
}
