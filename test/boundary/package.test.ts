/** What `npm pack` puts into a user's hands. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { builtPackage } from '../support/built-package';
import { readProject, ROOT } from './project';

const run = promisify(execFile);

let folder: string;
let files: string[];
jest.setTimeout(300_000);

beforeAll(async () => {
  await builtPackage();
  folder = await mkdtemp(join(tmpdir(), 'ebrc-pack-'));
  const args = ['pack', '--json', '--ignore-scripts', '--silent', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  files = packed?.files.map(({ path }) => path) ?? [];
  await run('tar', ['-xzf', packed?.filename ?? '', '-C', folder], { cwd: folder });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('holds programs, types, schemas, migrations and rules, and nothing else', async () => {
  const migrations = (await readdir(join(ROOT, 'migrations'))).map((name) => `migrations/${name}`);
  expect(files).toEqual(
    expect.arrayContaining([
      'dist/worker.js',
      'dist/starter/cli.js',
      'dist/starter/client.d.ts',
      'dist/workflow-bundle.js',
      'dist/workflow-bundle-encrypted.js',
      'dist/workflow-bundle-traced.js',
      'dist/workflow-bundle-encrypted-traced.js',
      'schedules.yaml',
      'realisation-rules.yaml',
      'README.md',
      'LICENSE',
      ...migrations,
    ]),
  );
  const tops = [...new Set(files.map((path) => path.split('/')[0]))].sort();
  expect(tops).toEqual(expect.arrayContaining(['dist', 'migrations', 'schemas']) as string[]);
  expect(
    tops.filter((top) =>
      /^(src|test|dev|bench|chaos|model|scripts|node_modules|documents|\.state|\.env)$/.test(top ?? ''),
    ),
  ).toEqual([]);
});

it('is installed as `ebrc`, which no text runs through npx', async () => {
  // Outside a checkout npx asks the public registry, and runs what somebody else has published there under that name.
  const { stdout } = await run('git', ['grep', '-lEi', 'npx +ebrc', '--', ':!test/boundary'], { cwd: ROOT }).catch(
    (error: { code: number; stdout: string }) => {
      if (error.code !== 1) throw error as unknown as Error;
      return error;
    },
  );
  expect(stdout).toBe('');
  const prefix = join(folder, 'prefix');
  await run('npm', ['link'], { cwd: ROOT, env: { ...process.env, npm_config_prefix: prefix } });
  const { stdout: version } = await run(join(prefix, 'bin', 'ebrc'), ['--version'], { cwd: folder });
  expect(version.trim()).toMatch(/^\d+\.\d+\.\d+/);
  for (const path of ['README.md', 'dev/dev.ts']) expect(readProject(path)).toContain('npm link');
  expect(readProject('Dockerfile')).toMatch(/ln -s \/app\/dist\/starter\/cli\.js \/usr\/local\/bin\/ebrc/);
  // A scope of ours: nobody else can publish a package of this name.
  expect(JSON.parse(readProject('package.json'))).toMatchObject({ name: expect.stringMatching(/^@ebrc\//) as string });
});

it('runs from where it was unpacked', async () => {
  await symlink(join(ROOT, 'node_modules'), join(folder, 'package', 'node_modules'));
  const program = join(folder, 'package', 'dist', 'starter', 'cli.js');
  const { stdout } = await run(process.execPath, [program, '--version'], { cwd: folder });
  expect(stdout.trim()).toMatch(/^\d+\.\d+\.\d+/);
  // Every command is found, although each loads what it needs only when it runs.
  const help = await run(process.execPath, [program, '--help'], { cwd: folder });
  expect(help.stdout).toMatch(/file .*\n[^]*reconcile/);
});
