// Fails if a shipped package has a licence that is not allowed. Reads only the licences declared in the lock file.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Licences that require no more than a notice. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PostgreSQL',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]);

/** Packages whose licence a person has reviewed, because the lock file has none or it requires more than a notice. */
const REVIEWED = {
  'caniuse-lite': 'CC-BY-4.0: data of a build tool, named as its source in the package',
  'png-js': 'MIT, in its LICENSE file',
  unionfs: 'Unlicense, in its LICENSE file',
};

/** Whether an SPDX expression is allowed: any part of an OR, all parts of an AND. One with inner brackets is not. */
function allowed(expression) {
  const text = expression.replace(/^\(([^()]*)\)$/, '$1');
  if (/[()]/.test(text)) return false;
  if (text.includes(' OR ')) return text.split(' OR ').some(allowed);
  if (text.includes(' AND ')) return text.split(' AND ').every(allowed);
  return ALLOWED.has(text.trim());
}

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const file = process.argv[2] ?? join(root, 'package-lock.json');
const { packages } = JSON.parse(await readFile(file, 'utf8'));
const shipped = Object.entries(packages).filter(([path, { dev, link }]) => path !== '' && !dev && !link);
const nameOf = (path) => path.replace(/^.*node_modules\//, '');
const isAllowed = (path, license) => nameOf(path) in REVIEWED || (typeof license === 'string' && allowed(license));
const wrong = shipped.filter(([path, { license }]) => !isAllowed(path, license));
for (const [path, { version, license }] of wrong) {
  process.stderr.write(`${nameOf(path)}@${version}: ${license ?? 'no licence is declared'}\n`);
}
process.stdout.write(`${shipped.length} packages are shipped, ${wrong.length} under a licence that is not allowed\n`);
process.exitCode = wrong.length > 0 ? 1 : 0;
