import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeApi } from '../../src/server/door';

const KEPT = join(__dirname, '..', '..', 'schemas', 'openapi.json');

it('keeps the description of the API as the routes have it; `npm run schemas` writes it', async () => {
  expect(readFileSync(KEPT, 'utf8')).toBe(await describeApi());
});
