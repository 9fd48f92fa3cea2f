/** Archives the PDFs of a filing's certificates, a few at a time, however many there are. */
import { counted } from '../domain/text';
import { continueAsNew, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import { steps } from './activity-profiles';
import type { ReadFailure } from './failures';
import { downloadAll } from './filing/download-pdfs';

export interface CollectArgs {
  filingId: string;
  exporterId: string;
  /** PDFs that earlier runs of this workflow have archived. */
  done?: number;
}

export interface CollectResult {
  archived: number;
  /** Why it stopped before the end; the filing waits for the cause to pass and starts the collection again. */
  failure: ReadFailure | null;
}

const BATCH = 50;
/** Five a minute: an hour and a half of downloads, far from the limits of a history. */
const EVENTS_PER_RUN = 1_500;

/** Downloads whatever is missing; a filing that is collected already is done at once. */
export async function collectCertificates({ filingId, exporterId, done = 0 }: CollectArgs): Promise<CollectResult> {
  let archived = done;
  for (;;) {
    const summary = 'Which certificates have no PDF yet?';
    const { due, nextInMs } = await steps({ summary }).listToArchive({ filingId, limit: BATCH });
    if (due.length === 0 && nextInMs === null) return { archived, failure: null };
    if (nextInMs !== null) await sleep(Math.max(1, nextInMs), { summary: 'Retry PDFs that were not available' });
    const onArchived = () => {
      archived += 1;
      setCurrentDetails(`${counted(archived, 'PDF')} archived`);
    };
    const { failure } = await downloadAll({ numbers: due, exporterId, onArchived });
    if (failure) return { archived, failure };
    if (workflowInfo().historyLength > EVENTS_PER_RUN) {
      await continueAsNew<typeof collectCertificates>({ filingId, exporterId, done: archived });
    }
  }
}
