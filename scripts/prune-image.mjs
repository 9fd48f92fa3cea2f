// Leaves in the node_modules of the image what the built program loads. Run after `npm prune --omit=dev`, in the image's folder alone.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Make the workflow bundle, which the build has made. The SDK's worker loads the first three, and calls none of them. */
const BUNDLERS = ['webpack', 'memfs', 'unionfs', '@swc/core', 'swc-loader', 'source-map-loader'];

/** Bundles for browsers, beside what Node.js loads. */
const BROWSER_BUNDLES = [
  { folder: 'echarts/dist', keep: ['echarts.js', 'package.json'] },
  { folder: 'exceljs/dist', keep: [] },
];

const modules = join(process.cwd(), 'node_modules');
const { packages } = JSON.parse(await readFile(join(modules, '.package-lock.json'), 'utf8'));
const root = JSON.parse(await readFile('package.json', 'utf8'));

/** Where a dependency of the package at `path` is installed, as Node.js looks for it. */
function installed(path, name) {
  for (let folder = path; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('node_modules') - 1, 0))) {
    const found = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (packages[found]) return found;
    if (folder === '') return null;
  }
}

const needed = new Set();
const follow = (path, wanted = {}) => {
  for (const name of Object.keys(wanted).filter((each) => !BUNDLERS.includes(each))) {
    const found = installed(path, name);
    if (found === null || needed.has(found)) continue;
    needed.add(found);
    const { dependencies, optionalDependencies, peerDependencies } = packages[found];
    follow(found, { ...dependencies, ...optionalDependencies, ...peerDependencies });
  }
};
follow('', root.dependencies);

for (const path of Object.keys(packages)) {
  if (!needed.has(path)) await rm(path, { recursive: true, force: true });
}
for (const name of BUNDLERS) {
  const folder = join(modules, name);
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'index.js'),
    '// The workflow bundle was made when the image was built.\nmodule.exports = {};\n',
  );
}

const require = createRequire(join(modules, 'noop.js'));
const { getPrebuiltTargetName } = require('@temporalio/core-bridge/common.js');
const releases = join(modules, '@temporalio/core-bridge/releases');
for (const target of await readdir(releases)) {
  if (target !== getPrebuiltTargetName()) await rm(join(releases, target), { recursive: true });
}
for (const { folder, keep } of BROWSER_BUNDLES) {
  for (const name of await readdir(join(modules, folder))) {
    if (!keep.includes(name)) await rm(join(modules, folder, name), { recursive: true });
  }
}
// Stack traces name the source of our own code, whose maps stay.
for (const entry of await readdir(modules, { recursive: true, withFileTypes: true })) {
  if (entry.isFile() && /\.(map|d\.[cm]?ts)$/.test(entry.name))
    await rm(join(entry.parentPath ?? entry.path, entry.name));
}
