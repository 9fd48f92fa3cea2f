/** A stranger codes from the description: every shape has a name, examples are taken, a generated client compiles. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { testFolder } from '../support/folder';
import { KAVERI, onboard, useHttpStage } from './http-stage';

const run = promisify(execFile);
const ROOT = join(__dirname, '..', '..');
const KEPT = join(ROOT, 'schemas', 'openapi.json');

interface Schema {
  $ref?: string;
  examples?: unknown[];
  properties?: Record<string, Schema & { enum?: string[] }>;
  maxItems?: number;
}
type Content = Record<string, { schema: Schema }>;
interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content }>;
}
interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
  tags: { name: string }[];
}

const read = async () => JSON.parse(await readFile(KEPT, 'utf8')) as Description;
const operations = ({ paths }: Description) => Object.values(paths).flatMap((methods) => Object.values(methods));

it('gives every body, answer and problem a name, and every route its codes', async () => {
  const description = await read();
  const { schemas } = description.components;
  const tags = description.tags.map(({ name }) => name);
  const all = operations(description);
  expect(all.length).toBeGreaterThan(35);
  expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length);
  for (const { operationId, summary, tags: own, requestBody, responses } of all) {
    expect([operationId, summary.length > 5, own.every((tag) => tags.includes(tag))]).toEqual([
      operationId,
      true,
      true,
    ]);
    const contents = [
      requestBody?.content ?? {},
      ...Object.entries(responses).map(([status, { content = {} }]) => (status === '304' ? {} : content)),
    ];
    const shapes = contents
      .flatMap((content) => Object.entries(content))
      .filter(([type]) => /json$|form-data$/u.test(type));
    const unnamed = shapes.filter(([, { schema }]) => !schema.$ref?.startsWith('#/components/schemas/'));
    expect([operationId, unnamed]).toEqual([operationId, []]);
    const name = responses['default']?.content?.['application/problem+json']?.schema.$ref?.split('/').at(-1) ?? '';
    expect(schemas[name]?.properties?.['code']?.enum).toContain('unauthorized');
  }
  expect(schemas['FileProblem']?.properties?.['code']?.enum).toEqual(
    expect.arrayContaining(['reference_taken', 'mapping_held', 'over_balance', 'encrypted']),
  );
  expect(schemas['ListFilingsProblem']?.properties?.['code']?.enum).not.toContain('mapping_held');
  expect(Object.keys(schemas['PushMessageItem']?.properties ?? {})).toEqual(
    expect.arrayContaining(['serialNo', 'irmIfscCode', 'sbCumInvoiceValueinFCC', 'mappedIRMAmountFCC', 'isGstAvail']),
  );
  expect(schemas['PushMessage']?.properties?.['ebrcBulkGenDtos']?.maxItems).toBe(999);
});

describe('with the sandbox', () => {
  const stage = useHttpStage(onboard);
  const example = async (name: string) => (await read()).components.schemas[name]?.examples?.[0];

  it.each([
    ['OnboardExporterRequest', 'POST', '/v1/exporters', 202],
    ['ChangeExporterRequest', 'PATCH', `/v1/exporters/${KAVERI.email}`, 200],
    ['CheckRequest', 'POST', '/v1/checks', 200],
    ['FileRequest', 'POST', '/v1/filings', 201],
    ['ReconcileRequest', 'POST', '/v1/reconciliations', 202],
    ['AddWebhookRequest', 'POST', '/v1/webhooks', 201],
  ])('takes the example of %s', async (name, method, path, status) => {
    const answered = await stage.ask(method, path, { json: await example(name) });
    expect([answered.status, answered.body]).toEqual([status, expect.anything()]);
    if (name === 'CheckRequest') expect(answered.body).toMatchObject({ ok: true, errors: [] });
  });
});

const CLIENT = `import type { components, paths } from './api';
type Body = paths['/v1/filings']['post']['requestBody']['content']['application/json'];
type Answer = paths['/v1/filings']['post']['responses'][201]['content']['application/json'];
type Code = components['schemas']['FileProblem']['code'];
const body: Body = EXAMPLE;
export async function file(): Promise<Answer | Code> {
  const answer = await fetch('/v1/filings', { method: 'POST', body: JSON.stringify(body) });
  if (answer.ok) return (await answer.json()) as Answer;
  const { code } = (await answer.json()) as components['schemas']['FileProblem'];
  return code === 'reference_taken' || code === 'mapping_held' ? code : 'unexpected';
}
export const certified = ({ state, counts }: Answer): boolean => state === 'certified' && counts.open === 0;
export const first = (rows: components['schemas']['ListRowsAnswer']): string | null | undefined => rows.items[0]?.eBRCNumber;
`;

describe('a client generated in TypeScript', () => {
  const folder = testFolder();
  const compile = () => {
    const tsc = join(ROOT, 'node_modules', 'typescript-7', 'bin', 'tsc');
    const options = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom', '--types', ''];
    return run(process.execPath, [tsc, ...options, 'client.ts'], { cwd: folder }).then(
      () => 'compiles',
      ({ stdout }: { stdout: string }) => stdout,
    );
  };

  it('compiles without a cast of what it sends, and not with a wrong name', async () => {
    const generator = join(ROOT, 'node_modules', 'openapi-typescript', 'bin', 'cli.js');
    await run(process.execPath, [generator, KEPT, '-o', join(folder, 'api.ts')]);
    const example = JSON.stringify((await read()).components.schemas['FileRequest']?.examples?.[0]);
    await writeFile(join(folder, 'client.ts'), CLIENT.replace('EXAMPLE', example));
    expect(await compile()).toBe('compiles');
    const wrong = example.replace('decalarationFlag', 'declarationFlag');
    await writeFile(
      join(folder, 'client.ts'),
      CLIENT.replace('EXAMPLE', wrong).replace("'reference_taken'", "'no_code'"),
    );
    expect(await compile()).toMatch(/declarationFlag[^]*no_code/u);
  });
});
