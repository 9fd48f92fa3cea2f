import { statfs } from 'node:fs/promises';
import { createDocumentStore } from '../../documents/document-store';
import { createPool } from '../../ledger/pool';
import { otherStore } from '../own-store';
import { isS3 } from '../../documents/s3-location';
import { checked, fine, wrong, type CheckResult } from './finding';

const MIN_FREE_BYTES = 500 * 1024 * 1024;

/**
 * Checks of the document store: it is the ledger's, exists, is writable, and has free space or supports the conditional
 * writes by which sends are counted.
 */
export async function documentsCheck(root: string, databaseUrl: string | undefined): Promise<CheckResult> {
  const problem = databaseUrl === undefined ? null : await misplaced(root, databaseUrl);
  if (problem !== null) return wrong('documents', problem, 'Correct EBRC_DOCUMENTS, or mount the folder.');
  return isS3(root) ? checkBucket(root) : checkFolder(root);
}

/** Null as well where the ledger or the store cannot be read: other checks say why. */
async function misplaced(root: string, databaseUrl: string): Promise<string | null> {
  const pool = createPool({ url: databaseUrl, applicationName: 'ebrc-doctor', max: 1, timeouts: { connectMs: 5_000 } });
  try {
    return await otherStore(pool, createDocumentStore({ root }), root);
  } catch {
    return null;
  } finally {
    await pool.end();
  }
}

function checkBucket(root: string): Promise<CheckResult> {
  const advice =
    'Check EBRC_DOCUMENTS, the region, endpoint and credentials of the AWS SDK, and the rights to list, read, write and delete below the prefix.';
  return checked('documents', advice, async () => {
    await createDocumentStore({ root }).probe();
    return fine('documents', `${root.split('?')[0]} takes, shows and lists objects, and refuses a name that exists`);
  });
}

function checkFolder(folder: string): Promise<CheckResult> {
  const advice = 'Set EBRC_DOCUMENTS to a folder that workers and command line share and may write to.';
  return checked('documents', advice, async () => {
    await createDocumentStore({ root: folder }).probe();
    const { bavail, bsize } = await statfs(folder);
    const free = Number(bavail) * Number(bsize);
    const room = `${Math.round(free / 1024 / 1024)} MB free in ${folder}`;
    return free < MIN_FREE_BYTES
      ? wrong('documents', room, 'Free some space: nothing is sent while the disk is full.')
      : fine('documents', room);
  });
}
