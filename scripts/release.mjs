// Makes a release: `npm run release -- 0.2.0 [--dry-run]`. Moves the entries under "Unreleased" in the CHANGELOG to a
// section with the version and today's date, sets the version (of the image too), records the histories of its
// workflows (they are kept: later versions replay them), runs all checks and tests on that, commits and tags. It does
// not push. A dry run prints the steps and changes nothing.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const CHANGELOG = join(ROOT, 'CHANGELOG.md');
const UNRELEASED = /^## Unreleased.*$/mu;
/** Files that name the version of the image. */
const DEPLOYMENTS = [
  'docker-compose.yml',
  'ops/kubernetes/overlays/production/kustomization.yaml',
  'ops/kubernetes/overlays/sandbox/kustomization.yaml',
];

const [version, option] = process.argv.slice(2);
const dryRun = option === '--dry-run';
if (!/^\d+\.\d+\.\d+$/u.test(version ?? '') || (option !== undefined && !dryRun)) {
  fail('Usage: npm run release -- MAJOR.MINOR.PATCH [--dry-run]', 2);
}

const changes = readFileSync(CHANGELOG, 'utf8');
const today = new Date().toISOString().slice(0, 10);
checkBefore();

step(`CHANGELOG.md: "Unreleased" becomes "${version} (${today})"`, () =>
  writeFileSync(CHANGELOG, changes.replace(UNRELEASED, `## Unreleased\n\n## ${version} (${today})`)),
);
step(`package.json and package-lock.json: ${version}`, () =>
  run('npm', ['version', version, '--no-git-tag-version', '--allow-same-version']),
);
step(`${DEPLOYMENTS.join(', ')}: ${version}`, () => {
  for (const path of DEPLOYMENTS.map((name) => join(ROOT, name))) {
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(ebrc-worker:|newTag: )[\d.]+/gu, `$1${version}`));
  }
});
step('build, and record the histories of this version', () => {
  run('npm', ['run', '--silent', 'build']);
  run('npm', ['run', '--silent', 'histories:record', '--', '--all', '--replace']);
});
step('.ci/run: checks and tests', () =>
  run('.ci/run', [], 'Nothing was committed: `git stash --include-untracked` puts the steps away.'),
);
step('commit', () => {
  run('git', ['add', 'CHANGELOG.md', 'package.json', 'package-lock.json', ...DEPLOYMENTS, 'test/replay/histories']);
  run('git', ['commit', '--quiet', '--message', `Release ${version}`]);
});
step(`tag v${version}`, () => run('git', ['tag', '--annotate', `v${version}`, '--message', `Release ${version}`]));
process.stdout.write(
  dryRun
    ? 'Nothing was changed.\n'
    : 'Next: git push --follow-tags. The release workflow makes package and image; by hand `npm pack` and `docker build`.\n',
);

function checkBefore() {
  if (output('git', ['status', '--porcelain']) !== '') fail('The checkout has changes: commit them first.');
  if (output('git', ['tag', '--list', `v${version}`]) !== '') fail(`v${version} has been released.`);
  const [, after] = changes.split(UNRELEASED);
  const entries = after?.split(/^## /mu)[0]?.trim() ?? '';
  if (entries === '') fail('CHANGELOG.md has no entries under "## Unreleased".');
  process.stdout.write(
    `${entries.split('\n').filter((line) => line.startsWith('- ')).length} changes since the last release\n`,
  );
}

function step(what, make) {
  process.stdout.write(`• ${what}\n`);
  if (!dryRun) make();
}

function run(command, args, next = '') {
  const { status } = spawnSync(command, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) fail(`${[command, ...args].join(' ')} failed. ${next}`);
}

function output(command, args) {
  const { status, stdout } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) fail(`${command} ${args.join(' ')} failed`);
  return stdout.trim();
}

function fail(message, code = 1) {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}
