/** The check of recorded histories, in a repository of its own. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { useFolder } from '../support/folder';

const CHECK = join(__dirname, '..', '..', 'scripts', 'check-histories.mjs');

let folder: string;

useFolder((made) => (folder = made));
const WHO = ['-c', 'user.name=Asha', '-c', 'user.email=asha@example.org', '-c', 'commit.gpgsign=false'];

function git(...args: string[]): void {
  const { status, stderr } = spawnSync('git', [...WHO, ...args], { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function commit(files: Record<string, string>, tag?: string): void {
  for (const [path, text] of Object.entries(files)) write(path, text);
  git('add', '--all');
  git('commit', '--quiet', '--message', 'change');
  if (tag) git('tag', tag);
}

function check(variables: Record<string, string> = {}): { status: number | null; said: string } {
  const env = { ...process.env, ...variables };
  const { status, stdout, stderr } = spawnSync(process.execPath, [CHECK, folder], { encoding: 'utf8', env });
  return { status, said: stdout + stderr };
}

const WORKFLOW = 'src/workflows/file-remittances.ts';
const RECORDING = 'test/replay/histories/0.1.0-file-certified.json';

it('fails where git refuses to read the repository, which is not the same as none', () => {
  git('init', '--quiet');
  const owned = check({ GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' });
  expect(owned).toMatchObject({ status: 1, said: expect.stringContaining('dubious ownership') as string });
});

it('fails when a workflow changed after a release of which no history is recorded', () => {
  git('init', '--quiet');
  commit({ [WORKFLOW]: 'one', 'test/replay/histories/0.0.9-file-certified.json': '{}' }, 'v0.1.0');
  expect(check().status).toBe(0);
  commit({ 'docs/a.md': 'other files may change' });
  expect(check().status).toBe(0);
  commit({ [WORKFLOW]: 'two' });
  expect(check()).toMatchObject({
    status: 1,
    said: expect.stringContaining('no history of 0.1.0 is recorded') as string,
  });
  commit({ [RECORDING]: '{}' });
  expect(check().status).toBe(0);
});

it('fails when the recording of a release was rewritten, and allows the next one to be added', () => {
  git('init', '--quiet');
  commit({ [WORKFLOW]: 'one', [RECORDING]: 'as released' }, 'v0.1.0');
  commit({ [WORKFLOW]: 'two', 'test/replay/histories/0.2.0-file-certified.json': '{}' });
  expect(check().status).toBe(0);
  commit({ [RECORDING]: 'recorded again' });
  expect(check()).toMatchObject({ status: 1, said: expect.stringContaining('rewritten') as string });
});

it('asks for the last release, by number, and sees changes that are not committed', () => {
  git('init', '--quiet');
  commit({ [WORKFLOW]: 'one', 'test/replay/histories/0.9.0-a.json': '{}' }, 'v0.9.0');
  commit({ [WORKFLOW]: 'two' }, 'v0.10.0');
  expect(check().status).toBe(0);
  write('src/domain/dates.ts', 'new');
  git('add', '--all');
  expect(check()).toMatchObject({ status: 1, said: expect.stringContaining('no history of 0.10.0') as string });
});
