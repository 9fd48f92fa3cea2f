import { randomUUID } from 'node:crypto';
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checked, fine, wrong, type CheckResult } from './finding';

const LEAST_FREE_BYTES = 500 * 1024 * 1024;

/** The folder of PDFs and workbooks: there, writable, with room. */
export function documentsCheck(folder: string): Promise<CheckResult> {
  const advice = 'Set EBRC_DOCUMENTS to a folder that workers and command line share and may write to.';
  return checked('documents', advice, async () => {
    await mkdir(folder, { recursive: true });
    const probe = join(folder, `.doctor-${randomUUID()}`);
    await writeFile(probe, '', { flag: 'wx', mode: 0o600 });
    await rm(probe, { force: true });
    const { bavail, bsize } = await statfs(folder);
    const free = Number(bavail) * Number(bsize);
    const room = `${Math.round(free / 1024 / 1024)} MB free in ${folder}`;
    return free < LEAST_FREE_BYTES
      ? wrong('documents', room, 'Make room: nothing is sent while the disk is full.')
      : fine('documents', room);
  });
}
