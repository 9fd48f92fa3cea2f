/** A worker is ready once it could write, read and list its document store, and as long as it can. */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { createDocumentStore } from '../../src/documents/document-store';
import { readinessOf } from '../../src/telemetry/readiness';
import { startBackgroundJobs } from '../../src/worker/background-jobs';
import { watchDocumentStore } from '../../src/worker/jobs';
import { testFolder } from '../support/folder';
import { useTestDatabase } from '../support/postgres';
import { eventually } from '../support/processes';

const database = useTestDatabase();
const folder = testFolder();

function watch(root: string) {
  const metrics = new Map<string, number>();
  const lines: string[] = [];
  const { job, probe } = watchDocumentStore({
    pool: database.pool,
    documents: createDocumentStore({ root }),
    metrics: { set: (name, value) => void metrics.set(name, value) },
  });
  expect(job.everyMs).toBe(60_000);
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const jobs = startBackgroundJobs([{ ...job, everyMs: 10 }], logger);
  const ready = async () => {
    const [check] = await readinessOf([probe])();
    return [check?.ok, check?.message, metrics.get('ebrc_document_store_up')];
  };
  return { jobs, ready, log: () => lines.join('') };
}

const USABLE = [true, 'can be written, read and listed', 1];
const AWAY = [false, 'the document store cannot be used; the log says why', 0];

it('becomes ready when the store does, and is not while the store is away or is another one', async () => {
  const root = join(folder, 'documents');
  await writeFile(root, 'not a folder');
  const { jobs, ready, log } = watch(root);
  expect(await ready()).toEqual([false, 'not seen yet', undefined]);
  await eventually(() => /EEXIST|ENOTDIR/.test(log()));
  expect(await ready()).toEqual(AWAY);

  await rm(root);
  await eventually(async () => (await ready())[0] === true);
  expect(await ready()).toEqual(USABLE);

  // Moved, not deleted file by file: the watcher writes into it at the same time.
  await rename(root, join(folder, 'taken away'));
  await eventually(async () => (await ready())[0] === false);
  await mkdir(root);
  // A folder that is empty is not the one that has the sends of this ledger.
  await eventually(() => log().includes('is not the one that has'));
  expect(await ready()).toEqual(AWAY);
  await jobs.stop();
  expect(await readdir(root)).toEqual(['store-id']);
});

it('never becomes ready with a bucket that nobody can reach, and the log says why', async () => {
  const { jobs, ready, log } = watch('s3://bucket');
  await eventually(() => log().includes('Region is missing'));
  expect(await ready()).toEqual(AWAY);
  await jobs.stop();
});
