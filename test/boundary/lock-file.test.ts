import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT, readProject } from './project';
import { testFolder } from '../support/folder';

const folder = testFolder();

interface Locked {
  version?: string;
  link?: boolean;
  integrity?: string;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const { packages } = JSON.parse(readProject('package-lock.json')) as { packages: Record<string, Locked> };
const locked = new Set(
  Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)),
);

// `npm ci` refuses a lock file that lacks them, on every machine. They go missing when `npm install` runs against a
// registry that does not serve the packages of other platforms.
it('lists every package that another one needs, those of other platforms too', () => {
  const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !locked.has(name))
      .map((name) => `${path} needs ${name}`),
  );
  expect(missing).toEqual([]);
});

// Without it npm takes whatever it is sent. Only binaries for other platforms may lack it: the registries that this
// file is made with do not serve all of those.
it('has the hash of every package that a platform of CI and of the image installs', () => {
  const fits = (wanted: string[] | undefined, ours: string) => wanted === undefined || wanted.includes(ours);
  const unknown = Object.entries(packages)
    .filter(([path, { link, integrity }]) => path.startsWith('node_modules/') && !link && integrity === undefined)
    .filter(
      ([, { optional, os, cpu }]) => !optional || (fits(os, 'linux') && (fits(cpu, 'x64') || fits(cpu, 'arm64'))),
    );
  expect(unknown.map(([path]) => path)).toEqual([]);
});

it('pins what the project itself depends on', () => {
  const { dependencies, devDependencies } = JSON.parse(readProject('package.json')) as Record<
    string,
    Record<string, string>
  >;
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    // An alias is npm:PACKAGE@VERSION.
    expect([name, version.replace(/^npm:.+@/, '')]).toEqual([name, packages[`node_modules/${name}`]?.version]);
  }
});

it('ships nothing under a licence that is not allowed, and would report it', async () => {
  const run = promisify(execFile);
  const script = join(ROOT, 'scripts/check-licences.mjs');
  expect((await run(process.execPath, [script])).stdout).toMatch(/^\d{3} packages are shipped, 0 under/);
  const lock = join(folder, 'package-lock.json');
  const of = (license?: string) => ({ 'node_modules/a/node_modules/b': { version: '1.0.0', license } });
  const judged = async (license?: string) => {
    await writeFile(lock, JSON.stringify({ packages: { '': {}, ...of(license) } }));
    return run(process.execPath, [script, lock]).then(
      () => 'allowed',
      ({ stderr }: { stderr: string }) => stderr,
    );
  };
  expect(await judged('(MIT OR GPL-3.0-only)')).toBe('allowed');
  expect(await judged('MIT AND ISC')).toBe('allowed');
  expect(await judged('(MIT AND ISC)')).toBe('allowed');
  // What is nested is left to a person.
  const nested = '(MIT OR Apache-2.0) AND (GPL-3.0-only OR AGPL-3.0-only)';
  expect(await judged(nested)).toBe(`b@1.0.0: ${nested}\n`);
  expect(await judged('MIT AND GPL-3.0-only')).toBe('b@1.0.0: MIT AND GPL-3.0-only\n');
  expect(await judged()).toBe('b@1.0.0: no licence is declared\n');
});
