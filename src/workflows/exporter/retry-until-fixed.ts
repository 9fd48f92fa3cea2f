import { isCancellation, sleep } from '@temporalio/workflow';
import type { ErrorKind } from '../../domain/service/error-kinds';
import { ACCESS, delayMs } from '../../domain/service/retry-table';
import type { ExporterStatus } from './exporter-progress';
import { readFailure } from '../failures';

/** What each refusal of our own key means for whoever runs the worker; the exporter is not to blame. */
const OWN_KEY: Partial<Readonly<Record<ErrorKind, string>>> = {
  unauthorized: 'The service refuses our API key (401). Check EBRC_API_KEY',
  forbidden:
    'The service refuses our account (403). Check that the agreements are signed and that the key is a platform key',
};

export interface RetryUntilFixedOptions {
  /** Kinds that the caller has an answer to. */
  expected?: readonly ErrorKind[];
  /** Before each wait: the place to continue as new. */
  beforeWait: () => Promise<void>;
}

/**
 * Makes a call until it succeeds. What Temporal does not repeat by itself, and the caller does not expect, is put right
 * by whoever runs the worker (a revoked key, a wrong address): it is shown, and tried again, every fifteen minutes in
 * the end.
 */
export async function retryUntilFixed<T>(
  status: ExporterStatus,
  { expected = [], beforeWait }: RetryUntilFixedOptions,
  call: () => Promise<T>,
): Promise<T> {
  const before = status.view;
  for (let tries = 1; ; tries += 1) {
    try {
      const result = await call();
      if (status.view !== before && status.view.state === before.state) status.update(before);
      return result;
    } catch (error) {
      const { kind, message: said } = readFailure(error);
      if (isCancellation(error) || kind === null || expected.includes(kind)) throw error;
      const message = `${OWN_KEY[kind] ?? said}; it is tried again by itself, within 15 minutes.`;
      status.update({ message, errors: [{ code: kind, message }], needsAttention: true });
      await beforeWait();
      await sleep(delayMs(ACCESS, tries), { summary: `Retry after ${kind}` });
    }
  }
}
