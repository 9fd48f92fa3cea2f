// Writes the JSON Schemas of the workflows' inputs and results into schemas/, from the built package. A test fails if
// they differ.
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const { jsonSchemas } = createRequire(import.meta.url)(join(ROOT, 'dist', 'starter', 'json-schemas.js'));

mkdirSync(join(ROOT, 'schemas'), { recursive: true });
for (const [name, content] of jsonSchemas()) {
  writeFileSync(join(ROOT, 'schemas', name), content);
  process.stdout.write(`schemas/${name}\n`);
}
