import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './run.mjs';

const NAME = 'packages';

/**
 * Why `npm ci` has to run, or null when node_modules agrees with package-lock.json.
 * @public its test runs it in a process of its own
 */
export async function whyInstall(root) {
  const lock = join(root, 'package-lock.json');
  const installed = join(root, 'node_modules', '.package-lock.json');
  const [lockFile, installedFile] = await Promise.all([lock, installed].map((path) => stat(path).catch(() => null)));
  if (!installedFile) return 'node_modules is missing';
  if (lockFile.mtimeMs <= installedFile.mtimeMs) return null;
  // An older node_modules may still be the same: `git checkout` and `npm install` both touch the lock file last.
  const [wanted, found] = await Promise.all(
    [lock, installed].map(async (path) => JSON.parse(await readFile(path, 'utf8')).packages),
  );
  const differs = Object.entries(wanted).some(([path, { version, optional }]) => {
    if (path === '' || (optional && !found[path])) return false;
    return found[path]?.version !== version;
  });
  return differs ? 'node_modules is older than package-lock.json' : null;
}

/** Runs `npm ci` if it is needed. */
export async function installDependencies(root, report) {
  const reason = await whyInstall(root);
  if (!reason) return;
  report.say(NAME, `${reason}, running npm ci …`);
  // The npm that runs us, where one does; a bare `npm` is a batch file on Windows, which cannot be started directly.
  const npm = process.env.npm_execpath;
  const [command, first] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
  await report.during(`${NAME} (npm ci)`, () =>
    run(command, [...first, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root, withinMs: 15 * 60_000 }),
  );
  report.say(NAME, 'installed');
}
