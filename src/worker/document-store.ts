/** Whether the document store can be used: seen at the start and every minute, and asked by readiness. */
import type pg from 'pg';
import type { DocumentStore } from '../documents/document-store';
import { askStore, claimStore } from '../ledger/sends/sends';
import { NotReady, type Probe } from '../telemetry/readiness';
import type { BackgroundJob } from './background-jobs';
import type { Metrics } from './metrics';

const EVERY_MS = 60_000;
/** A bucket gets several tries of the SDK. */
const ANSWERS_WITHIN_MS = 30_000;

/** Writes, reads and lists, and sees whether the store is the ledger's. The probe answers the last run's find. */
export function watchDocumentStore(options: {
  pool: pg.Pool;
  documents: DocumentStore;
  metrics: Pick<Metrics, 'set'>;
}): { job: BackgroundJob; probe: Probe } {
  const { pool, documents, metrics } = options;
  let usable: boolean | undefined;
  const note = (found: boolean) => {
    usable = found;
    metrics.set('ebrc_document_store_up', found ? 1 : 0);
  };
  // A call that hangs occupies a thread of the process: it is not made again until it has ended.
  let running: Promise<void> | undefined;
  const useOnce = () => (running ??= documents.probe().finally(() => (running = undefined)));
  return {
    job: {
      id: 'document_store',
      name: 'see whether the document store can be used and is the one of the ledger',
      everyMs: EVERY_MS,
      run: async () => {
        try {
          await askStore(useOnce, ANSWERS_WITHIN_MS);
          await claimStore(pool, documents);
          note(true);
        } catch (error) {
          note(false);
          throw error;
        }
      },
    },
    probe: {
      name: 'documents',
      look: () => {
        if (usable) return Promise.resolve('can be written, read and listed');
        const message = usable === undefined ? 'not seen yet' : 'the document store cannot be used; the log says why';
        return Promise.reject(new NotReady(message));
      },
    },
  };
}
