import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { jsonSchemas } from '../../src/starter/json-schemas';

const FOLDER = join(__dirname, '..', '..', 'schemas');

it('keeps the schemas of schemas/ as the contracts have them; `npm run schemas` writes them', () => {
  const kept = readdirSync(FOLDER).filter((name) => name.endsWith('.schema.json'));
  expect(kept.sort()).toEqual([...jsonSchemas().keys()].sort());
  for (const [name, content] of jsonSchemas()) expect(readFileSync(join(FOLDER, name), 'utf8')).toBe(content);
});

it('takes a filing as a program in another language would start it, and refuses a misspelt one', () => {
  const ajv = addFormats(new Ajv2020({ strict: false }));
  const schema = JSON.parse(jsonSchemas().get('fileRemittances.input.schema.json') ?? '{}') as object;
  const valid = ajv.compile(schema);
  const input = { mode: 'test', exporterId: 'e-1', declaration: 'Y', inputRef: 'abc' };
  expect(valid(input)).toBe(true);
  expect(valid({ ...input, decalaration: 'Y' })).toBe(false);
  expect(valid({ ...input, mode: 'dev' })).toBe(false);
  expect(valid({ ...input, n: 3_000_000_000 })).toBe(false);
  const message = JSON.parse(jsonSchemas().get('pushMessage.schema.json') ?? '{}') as object;
  const validMessage = ajv.compile(message);
  const example = JSON.parse(readFileSync(join(FOLDER, '..', 'examples', 'push-message.json'), 'utf8')) as object;
  expect([validMessage(example), validMessage.errors]).toEqual([true, null]);
  expect(validMessage({ ...example, declarationFlag: 'Y' })).toBe(false);
});
