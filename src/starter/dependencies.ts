import type { Client } from '@temporalio/client';
import type { FilingApi } from '../api/client-types';
import type { DocumentStore } from '../documents/document-store';
import type { Vault } from '../ledger/vault/vault';
import type { EbrcReaderDependencies } from './reader';

/** What the typed client stands on. All of it is opened, and closed, by the caller. */
export interface EbrcClientDependencies extends EbrcReaderDependencies {
  temporal: Client;
  vault: Vault;
  /** The document store that the workers use. */
  documents: DocumentStore;
  /** Name of the main task queue. */
  taskQueue: string;
  /** The filing service, within the budget that the workers share; only `template` and `changeExporter` ask for it. */
  api?: () => Promise<FilingApi>;
}
