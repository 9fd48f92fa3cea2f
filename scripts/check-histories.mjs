// `npm run histories:check [-- FOLDER]`: checks that the replay tests cover what the last release left open. Fails if a
// workflow has changed since the last tag `vMAJOR.MINOR.PATCH` and no history of that version is recorded, or if a
// recording of a released version has changed since (test/replay/README.md).
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url))));
const HISTORIES = 'test/replay/histories';
/** The sources of the workflow bundle. */
const WORKFLOWS = ['src/workflows', 'src/domain'];

const { stderr } = spawnSync('git', ['rev-parse'], {
  cwd: ROOT,
  encoding: 'utf8',
  env: { ...process.env, LC_ALL: 'C' },
});
if (stderr?.includes('not a git repository')) pass('no git repository, so there is no release to compare with');

const released = lines(git('tag', '--list', 'v*'))
  .filter((tag) => /^v\d+\.\d+\.\d+$/u.test(tag))
  .sort(byVersion);
const last = released.at(-1);
if (!last) {
  const shallow = git('rev-parse', '--is-shallow-repository') === 'true';
  pass(shallow ? 'no tag of a release here: fetch them (`git fetch --unshallow --tags`)' : 'nothing is released yet');
}

const version = last.slice(1);
const recorded = existsSync(join(ROOT, HISTORIES)) ? readdirSync(join(ROOT, HISTORIES)) : [];
const changed = lines(git('diff', '--name-only', last, '--', ...WORKFLOWS));
if (changed.length > 0 && !recorded.some((file) => file.startsWith(`${version}-`))) {
  fail(
    `${last} was released and its workflows have changed since (${changed.join(', ')}), but no history of ${version} is recorded:\n` +
      `no test replays what is open when the next version is deployed. Check out ${last} and run\n` +
      `  npm run histories:record -- --all\n` +
      `then bring ${HISTORIES}/${version}-*.json here.`,
  );
}

const rewritten = released.flatMap((tag) => {
  const files = recorded.filter((file) => file.startsWith(`${tag.slice(1)}-`)).map((file) => `${HISTORIES}/${file}`);
  return files.length === 0 ? [] : lines(git('diff', '--name-only', '--diff-filter=M', tag, '--', ...files));
});
if (rewritten.length > 0) {
  fail(
    `Recordings of released versions have been rewritten: ${rewritten.join(', ')}.\n` +
      'Open workflows of that version have these histories: restore the files, and keep the old path behind `patched`.',
  );
}
pass(`${changed.length} files of workflows changed since ${last}; its recordings are there, as they were released`);

function byVersion(one, other) {
  const [a, b] = [one, other].map((tag) => tag.slice(1).split('.').map(Number));
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

function git(...args) {
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) fail(`git ${args.join(' ')}: ${error?.message ?? stderr.trim()}`);
  return stdout.trim();
}

function lines(text) {
  return text.split('\n').filter((line) => line !== '');
}

function pass(why) {
  process.stdout.write(`histories: ${why}\n`);
  process.exit(0);
}

function fail(why) {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}
