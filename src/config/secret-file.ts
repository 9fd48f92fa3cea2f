import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

/** The text of a file that holds a secret, or what is wrong with the file: never what is in it. */
export function readSecretFile(file: string): { text: string } | { problem: string } {
  const path = resolve(file);
  try {
    return { text: readFileSync(path, 'utf8').trim() };
  } catch (error) {
    return { problem: `names ${path}, ${reasonOf(path, error)}; allowed: a file that this process may read` };
  }
}

function reasonOf(path: string, error: unknown): string {
  const { code = 'an unknown error' } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'which does not exist';
  if (code === 'EISDIR') return 'which is a folder (Docker makes one where the file to mount does not exist)';
  if (code !== 'EACCES') return `which cannot be read (${code})`;
  const who = `user ${process.geteuid?.() ?? '?'}, group ${process.getegid?.() ?? '?'}`;
  try {
    const { mode, uid, gid } = statSync(path);
    const octal = (mode & 0o7777).toString(8).padStart(4, '0');
    return `which ${who} may not read: it belongs to user ${uid}, group ${gid}, with mode ${octal}`;
  } catch {
    return `in a folder that ${who} may not enter`;
  }
}
