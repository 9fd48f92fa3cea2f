import { chmod, lstat, mkdir, open, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeOutputFile } from '../../src/documents/output-file';
import { useFolder } from '../support/folder';

let folder: string;
useFolder((made) => (folder = made));
const permissions = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

test('a new file is readable by its owner alone, whatever the umask lets through', async () => {
  const before = process.umask(0);
  try {
    await writeOutputFile(join(folder, 'checked.xlsx'), Buffer.from('rows'));
  } finally {
    process.umask(before);
  }
  expect(await permissions(join(folder, 'checked.xlsx'))).toBe('600');
  expect(await readdir(folder)).toEqual(['checked.xlsx']);
});

test('a file that is there is replaced and keeps the permissions that its owner gave it', async () => {
  const path = join(folder, 'checked.xlsx');
  await writeFile(path, 'old');
  await chmod(path, 0o640);
  await writeOutputFile(path, 'new');
  expect(await readFile(path, 'utf8')).toBe('new');
  expect(await permissions(path)).toBe('640');
});

test('a failure leaves nothing behind and the file as it was', async () => {
  const path = join(folder, 'checked.xlsx');
  await writeFile(path, 'old');
  // A value that no file can hold fails in the middle, after the temporary file was made.
  await expect(writeOutputFile(path, 7 as unknown as string)).rejects.toThrow();
  expect(await readFile(path, 'utf8')).toBe('old');
  expect(await readdir(folder)).toEqual(['checked.xlsx']);
  await mkdir(join(folder, 'sub'));
  await expect(writeOutputFile(join(folder, 'sub'), 'x')).rejects.toMatchObject({ code: 'EISDIR' });
});

test('a symbolic link that somebody put there is replaced, and what it leads to stays as it was', async () => {
  const theirs = join(folder, 'theirs');
  await writeFile(theirs, 'untouched');
  await chmod(theirs, 0o666);
  for (const [name, leadsTo] of Object.entries({ linked: theirs, dangling: join(folder, 'nowhere') })) {
    await symlink(leadsTo, join(folder, name));
    await writeOutputFile(join(folder, name), 'new');
    expect((await lstat(join(folder, name))).isFile()).toBe(true);
    expect(await permissions(join(folder, name))).toBe('600');
  }
  expect(await readFile(theirs, 'utf8')).toBe('untouched');
  expect((await readdir(folder)).sort()).toEqual(['dangling', 'linked', 'theirs']);
});

test('what leads to an open file of this process, as /dev/stdout does, is written to and stays', async () => {
  const redirected = await open(join(folder, 'redirected'), 'w');
  await symlink(`/proc/self/fd/${redirected.fd}`, join(folder, 'stdout'));
  await writeOutputFile(join(folder, 'stdout'), 'rows');
  await redirected.close();
  expect((await lstat(join(folder, 'stdout'))).isSymbolicLink()).toBe(true);
  expect(await readFile(join(folder, 'redirected'), 'utf8')).toBe('rows');
});
