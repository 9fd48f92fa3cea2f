import type pg from 'pg';
import type { Principal } from '../domain/principal';
import type { Cadence } from '../domain/filing/poll-cadence';
import type { Mode } from '../domain/names';
import type { Client } from '@temporalio/client';
import type { FilingApi } from '../api/client';
import type { DocumentStore } from '../documents/document-store';
import type { Workbooks } from '../workbook/workbooks';

export type LedgerDependencies = Pick<EbrcReaderDependencies, 'pool' | 'mode'>;

/** What reading needs; no Temporal server, no API key and no encryption key are required. */
export interface EbrcReaderDependencies {
  pool: pg.Pool;
  documents: Pick<DocumentStore, 'pathOf'>;
  /** test for a `dev_` key, live for a `prod_` key; the mode of the workers' key. */
  mode: Mode;
  /** The workers' settings by which it is told when a filing probably goes on. */
  cadence: Cadence;
  /** Root of the Temporal UI and the namespace, for links in reports; without it there are no links. */
  temporalUi?: { address: string; namespace: string };
}

/** The dependencies of the typed client. The caller opens and closes all of them. */
export interface EbrcClientDependencies extends EbrcReaderDependencies {
  temporal: Client;
  /** Who answers for what is done; left out: names that are given are claims. */
  principal?: Principal;
  documents: DocumentStore;
  /** Reads and annotates workbooks; default: in this thread. */
  workbooks?: Workbooks;
  taskQueue: string;
  /** Interval of the checks for a worker while a call waits for one; default 5 s. */
  lookForWorkerEveryMs?: number;
  /** The filing service, within the budget that the workers share; only `template` calls it. */
  api?: () => Promise<FilingApi>;
}
