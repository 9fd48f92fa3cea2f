// Writes the JSON Schemas of the workflows' inputs and results, and the description of the HTTP API, into schemas/, from
// the built package. Tests fail if they differ.
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const built = (path) => createRequire(import.meta.url)(join(ROOT, 'dist', path));
const { jsonSchemas } = built('starter/json-schemas.js');
const { describeApi } = built('server/http-api.js');

mkdirSync(join(ROOT, 'schemas'), { recursive: true });
for (const [name, content] of [...jsonSchemas(), ['openapi.json', await describeApi()]]) {
  writeFileSync(join(ROOT, 'schemas', name), content);
  process.stdout.write(`schemas/${name}\n`);
}
