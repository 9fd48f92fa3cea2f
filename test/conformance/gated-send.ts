/**
 * A send as an execution of the submit activity makes it, stopped at each arrow of the protocol until it is told to go
 * on.
 */
import type pg from 'pg';
import { countSend, type SendStore } from '../../src/ledger/sends/sends';
import { gate } from '../support/gate';

export interface GatedSend {
  /** Makes its file. @returns whether it goes on; false: it has given up. */
  createFile(): Promise<boolean>;
  /** Lists the files; nothing has been concluded from them yet. */
  list(): Promise<void>;
  /** Holds the ledger against the files. @returns whether it may be written. */
  finish(): Promise<boolean>;
}

/** Starts a send that has been marked, up to right before its file is made. */
export async function gateSend(
  pool: pg.Pool,
  store: SendStore,
  send: { number: number; attemptId: string; sender: string; at: Date },
): Promise<GatedSend> {
  const [beforeFile, mayCreate, beforeList, mayList, listed, mayConclude] = [
    gate(),
    gate(),
    gate(),
    gate(),
    gate(),
    gate(),
  ];
  const gated: SendStore = {
    storeId: () => store.storeId(),
    readRecord: (name) => store.readRecord(name),
    createRecord: async (name, content) => {
      beforeFile.open();
      await mayCreate.passed;
      return store.createRecord(name, content);
    },
    recordsAfter: async (folder, after, limit) => {
      beforeList.open();
      await mayList.passed;
      const names = await store.recordsAfter(folder, after, limit);
      listed.open();
      await mayConclude.passed;
      return names;
    },
  };
  let over = false;
  const result = countSend(pool, gated, send).then(
    (refused) => refused === null,
    () => false,
  );
  void result.then(() => (over = true));
  await Promise.race([beforeFile.passed, result]);
  return {
    createFile: async () => {
      mayCreate.open();
      await Promise.race([beforeList.passed, result]);
      return !over;
    },
    list: async () => {
      mayList.open();
      await Promise.race([listed.passed, result]);
    },
    finish: async () => {
      for (const each of [mayCreate, mayList, mayConclude]) each.open();
      return result;
    },
  };
}
