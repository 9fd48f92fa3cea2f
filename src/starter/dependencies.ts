import type pg from 'pg';
import type { WorkerSettings } from '../activities/dependencies';
import type { Principal } from '../domain/principal';
import type { Mode } from '../domain/names';
import type { Quota } from '../domain/service/limits';
import type { Client } from '@temporalio/client';
import type { FilingApi } from '../api/client';
import type { DocumentStore } from '../documents/document-store';
import type { Workbooks } from '../workbook/workbooks';

export type LedgerDependencies = Pick<EbrcReaderDependencies, 'pool' | 'mode'>;

/** What read-only functions need: no Temporal server, API key or encryption key. */
export interface EbrcReaderDependencies {
  pool: pg.Pool;
  documents: Pick<DocumentStore, 'pathOf'>;
  /** `test` for a `dev_` key, `live` for a `prod_` key; the same as the workers' mode. */
  mode: Mode;
  /** How long after its date a certificate may be cancelled at the portal; default: as the authority allows it. */
  cancelWithinMs?: number;
  /** What the contract with the service includes; default: free general use. */
  quota?: Quota;
  /** Address and namespace of the Temporal UI, for links in reports; without it there are no links. */
  temporalUi?: { address: string; namespace: string };
}

/** The workers' settings by which people's decisions are judged. */
export type StarterSettings = Pick<
  WorkerSettings,
  'singlePerson' | 'settleAfterMs' | 'overdueAfterMs' | 'httpTimeoutMs' | 'rateWindowMs'
>;

/** Dependencies of the typed client. The caller opens and closes them. */
export interface EbrcClientDependencies extends EbrcReaderDependencies {
  temporal: Client;
  settings: StarterSettings;
  /** The authenticated principal. Without one, the names that callers pass are unverified claims. */
  principal?: Principal;
  documents: DocumentStore;
  /** Reads and annotates workbooks; default: in the calling thread. */
  workbooks?: Workbooks;
  taskQueue: string;
  /** How often a waiting call checks whether a worker runs; default 5 s. */
  lookForWorkerEveryMs?: number;
  /** The filing service, within the workers' shared budget; it is used to read templates only. */
  api?: () => Promise<FilingApi>;
}
