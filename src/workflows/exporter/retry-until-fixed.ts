import { isCancellation } from '@temporalio/workflow';
import type { ErrorKind } from '../../domain/service/error-kinds';
import { readFailure } from '../failures';
import { waitForAccess } from '../waits';
import type { ExporterStatus } from './exporter-progress';

/**
 * Makes a call until it succeeds. What Temporal does not repeat automatically, and the caller does not expect, is fixed
 * by whoever runs the worker (a revoked key, a wrong address): it is shown, and tried again, finally every fifteen
 * minutes. @throws the failure, when its kind is an expected one
 */
export async function retryUntilFixed<T>(
  status: ExporterStatus,
  expected: readonly ErrorKind[],
  call: () => Promise<T>,
): Promise<T> {
  const before = status.view;
  for (;;) {
    try {
      const result = await call();
      if (status.view !== before && status.view.state === before.state) status.update(before);
      return result;
    } catch (error) {
      const failure = readFailure(error);
      if (isCancellation(error) || failure.kind === null || expected.includes(failure.kind)) throw error;
      await waitForAccess(status, status.waits, failure);
    }
  }
}
