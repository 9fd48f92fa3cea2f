/** What somebody sends who may only read, to make the HTTP API write long answers about it. */
import { onboard, KAVERI, messageOf, useHttpStage, type ProblemBody } from './http-stage';

const stage = useHttpStage(onboard);
const exporter = KAVERI.email;

/** Fields that nobody knows, by number. */
const unknown = (count: number, from = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`x${from + at}`, 1]));

type Errors = (ProblemBody['errors'][number] & { count?: number })[];

/** The answer to a body of a principal that may only read: what it lists, and how many more there are. */
async function asked(path: string, json: unknown) {
  const token = await stage.principal(['viewer', 'maker']);
  const { status, body, bytes } = await stage.ask<ProblemBody>('POST', path, { token, json });
  const errors = body.errors as Errors;
  const { code = '', count = 0 } = errors.at(-1) ?? {};
  expect(bytes.length).toBeLessThan(100_000);
  expect(errors.length).toBeLessThanOrEqual(51);
  return { status, code: body.code, last: code, count };
}

it('lists 50 errors of a message and counts the rest', async () => {
  const [row] = (await messageOf(stage, 'ERRORS-1')).ebrcBulkGenDtos;
  const message = (rows: object[]) => ({
    uploadType: '103',
    decalarationFlag: 'Y',
    recordResCount: rows.length,
    ebrcBulkGenDtos: rows,
  });
  const rows = Array.from({ length: 999 }, (_, at) => ({ ...unknown(45), serialNo: at + 1 }));
  const { status, last, count } = await asked('/v1/checks', { exporter, message: message(rows) });
  expect([status, last]).toEqual([200, 'more_errors']);
  // 45 unknown properties of each, and what is missing.
  expect(count).toBeGreaterThan(999 * 45);
  const filed = await asked('/v1/filings', { exporter, reference: 'ERRORS-1', message: message(rows) });
  expect(filed).toMatchObject({ status: 422, last: 'more_errors', count });
  // A few are all listed.
  const few = await asked('/v1/checks', { exporter, message: message([{ ...row, ...unknown(3) }]) });
  expect(few).toMatchObject({ status: 200, last: 'unknown_property', count: 0 });
});

it('lists 50 wrong fields of a request and counts the rest', async () => {
  expect(await asked('/v1/checks', unknown(900))).toEqual({
    status: 400,
    code: 'invalid_request',
    last: 'more_errors',
    // And the exporter is missing.
    count: 851,
  });
  const allowDuplicate = Array.from({ length: 20_000 }, () => ({}));
  const wrong = await asked('/v1/checks', { exporter, message: {}, allowDuplicate });
  expect(wrong).toMatchObject({ status: 400, last: 'more_errors' });
  expect(wrong.count).toBeGreaterThan(19_000);
  expect(await asked('/v1/checks', { ['n'.repeat(800_000)]: 1 })).toMatchObject({ status: 400, count: 0 });
});

it('reads no object of hundreds of thousands of names', async () => {
  const { body } = await stage.ask<ProblemBody>('POST', '/v1/checks', { json: unknown(60_000) });
  expect(body.code).toBe('not_json');
  const message = { ebrcBulkGenDtos: [unknown(300_000)] };
  expect((await stage.ask<ProblemBody>('POST', '/v1/checks', { json: { exporter, message } })).body.code).toBe(
    'not_json',
  );
});
