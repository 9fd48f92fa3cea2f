/** What `npm pack` puts into a user's hands. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { testFolder } from '../support/folder';
import { builtPackage } from '../support/built-package';
import { readProject, ROOT } from './project';

const run = promisify(execFile);

const folder = testFolder();
let files: string[];
jest.setTimeout(300_000);

beforeAll(async () => {
  await builtPackage();
  const args = ['pack', '--json', '--ignore-scripts', '--silent', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  files = packed?.files.map(({ path }) => path) ?? [];
  await run('tar', ['-xzf', packed?.filename ?? '', '-C', folder], { cwd: folder });
});

it('holds programs, types, schemas, migrations and rules, and nothing else', async () => {
  const migrations = (await readdir(join(ROOT, 'migrations'))).map((name) => `migrations/${name}`);
  expect(files).toEqual(
    expect.arrayContaining([
      'dist/worker.js',
      'dist/starter/cli.js',
      'dist/index.d.ts',
      'types/ms.d.ts',
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

const CONSUMERS = {
  'esm.mts': `import { openEbrcClient, ConfigError, RefusedError, type FilingView } from '@ebrc/worker';
    const client = await openEbrcClient({}).catch((error: unknown) => {
      if (error instanceof ConfigError) return null;
      throw error;
    });
    const rows = async (): Promise<number | undefined> => {
      const view: FilingView | undefined = await client?.show('JULY');
      return view?.counts.rows;
    };
    console.log(client === null, typeof rows, new RefusedError([]).errors.length);`,
  'cjs.cts': `import ebrc = require('@ebrc/worker');
    import { createEbrcClient } from '@ebrc/worker/client';
    console.log(typeof ebrc.openEbrcClient, typeof createEbrcClient);
    const packages = Object.keys(require.cache).map((file) => /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\/(?!.*node_modules)/.exec(file)?.[1]);
    console.log(JSON.stringify([...new Set(packages)]));`,
  // What the README shows, as a user would copy it.
  'readme.mts': `import { openEbrcClient } from '@ebrc/worker';\n${/```ts\n([^]+?)```/u.exec(readProject('README.md'))?.[1] ?? 'no example'}`,
};

it('is a library for ESM and CommonJS, whose types compile as they are, and loads no renderer and nothing native', async () => {
  const own = join(folder, 'consumer');
  const link = async (name: string) => {
    await mkdir(dirname(join(own, 'node_modules', name)), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), join(own, 'node_modules', name));
  };
  // As an installation of it has them.
  const { packages } = JSON.parse(readProject('package-lock.json')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; link?: boolean }>;
  };
  const installed = Object.entries(packages).filter(
    ([path, { dev, devOptional, link }]) => path.startsWith('node_modules/') && !dev && !devOptional && !link,
  );
  const names = installed.map(([path]) => path.slice('node_modules/'.length));
  for (const name of names.filter((each) => !each.includes('node_modules/'))) await link(name);
  await cp(join(folder, 'package'), join(own, 'node_modules', '@ebrc', 'worker'), {
    recursive: true,
    filter: (path) => !path.endsWith('node_modules'),
  });
  for (const [name, text] of Object.entries(CONSUMERS)) await writeFile(join(own, name), text);
  const tsc = join(ROOT, 'node_modules', 'typescript-7', 'bin', 'tsc');
  const options = ['--strict', '--module', 'node16', '--target', 'es2022', '--types', 'node', '--outDir', 'out'];
  const compiled = await run(process.execPath, [tsc, ...options, ...Object.keys(CONSUMERS)], { cwd: own }).catch(
    (error: { stdout: string }) => error,
  );
  expect(compiled.stdout).toBe('');
  const ran = (file: string) => run(process.execPath, [join('out', file)], { cwd: own });
  expect((await ran('esm.mjs')).stdout).toBe('true function 0\n');
  const [types, loaded] = (await ran('cjs.cjs')).stdout.split('\n');
  expect(types).toBe('function function');
  // The pages find their templates and htmx among what an installation has.
  const pages = join(own, 'node_modules', '@ebrc', 'worker', 'dist', 'server', 'pages');
  const load = `require(${JSON.stringify(join(pages, 'pages.js'))}); console.log(require(${JSON.stringify(join(pages, 'assets.js'))}).ASSETS.htmx.bytes.length > 10_000)`;
  expect((await run(process.execPath, ['-e', load], { cwd: own })).stdout).toBe('true\n');
  const heavy = ['exceljs', 'echarts', 'pdfkit', 'fastify', '@temporalio/worker', '@temporalio/core-bridge'];
  expect((JSON.parse(loaded ?? '[]') as string[]).filter((name) => heavy.includes(name))).toEqual([]);
});
