import type { Client } from '@temporalio/client';
import type pg from 'pg';
import type { DocumentStore } from '../documents/document-store';
import type { Mode } from '../domain/names';
import type { Vault } from '../ledger/vault';

/** What the typed client stands on. All of it is opened, and closed, by the caller. */
export interface EbrcClientDependencies {
  temporal: Client;
  /** The ledger: the database that the workers use. */
  pool: pg.Pool;
  vault: Vault;
  /** The document store that the workers use. */
  documents: DocumentStore;
  /** test for a `dev_` key, live for a `prod_` key; the mode of the workers' key. */
  mode: Mode;
  /** Name of the main task queue. */
  taskQueue: string;
}
