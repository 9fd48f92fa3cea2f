/**
 * Answers of the extraction service: `status: error` in whatever HTTP status, and shapes that the specification does
 * not show.
 */
import { createExtractionApi } from '../../src/api/endpoints/extraction';
import type { ApiError } from '../../src/api/errors/api-error';
import { scriptedPdf } from '../support/scripted-pdf';
import { startService, type Service } from './support/service';

const KEY = 'extract_key_that_nobody_may_see';

let service: Service;
beforeAll(async () => {
  service = await startService((_request, response) => void response.end());
});
afterAll(() => service.close());

async function answered(status: number, body: unknown) {
  service.answer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  const api = createExtractionApi({ baseUrl: new URL(service.baseUrl).origin, apiKey: KEY, httpTimeoutMs: 5_000 });
  try {
    return await api.extract('extractInvoice', { file: scriptedPdf({}), fileName: 'a.pdf' });
  } finally {
    await api.close();
  }
}

const refusal = (status: number, body: unknown) =>
  answered(status, body).then(
    () => {
      throw new Error('it was taken');
    },
    (error: unknown) => error as ApiError,
  );

it.each([
  [200, { status: 'error', data: { message: 'blurred' } }],
  [200, { status: 'ERROR', message: 'blurred' }],
  [400, { status: 'error', error: 'blurred' }],
  [422, { status: 'error', data: { error: 'blurred' } }],
  [500, { status: 'error', message: 'blurred', statusCode: 500 }],
])('status error in %i is an answer with its reason', async (status, body) => {
  expect(await refusal(status, body)).toMatchObject({
    kind: 'refused',
    status,
    message: expect.stringMatching(/blurred/),
  });
});

it.each([
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [429, 'rate_limited'],
  [502, 'server_error'],
  [503, 'server_error'],
  [504, 'server_error'],
  [500, 'server_error'],
])('%i says nothing of the document', async (status, kind) => {
  const body = status === 500 ? { message: 'down' } : { status: 'error', message: 'no' };
  expect(await refusal(status, body)).toMatchObject({ kind, status });
});

it('keeps an answer of another shape complete, and reports the shape', async () => {
  for (const body of [{ result: [1], version: 7 }, { status: 'success', data: ['a'] }, [1, 2], { status: 'success' }]) {
    expect(await answered(200, body)).toMatchObject({
      data: null,
      answer: body,
      problem: expect.stringMatching(/another shape/),
    });
  }
});

it('does not take an answer that is not there yet for an empty one', async () => {
  expect(await answered(200, { status: 'processing', data: {} })).toMatchObject({
    data: null,
    problem: expect.stringMatching(/processing/),
  });
  expect(await answered(200, { status: 'success', data: {} })).toMatchObject({ data: {}, problem: null });
});

it('takes a plain answer and one in the envelope, and lets no key through', async () => {
  const data = { note: `key ${KEY}`, total: 12.5 };
  for (const body of [
    { status: 'success', data },
    { success: true, statusCode: 200, data: { status: 'success', data } },
  ]) {
    const { data: got, problem } = await answered(200, body);
    expect([got?.total, problem]).toEqual([12.5, null]);
    expect(JSON.stringify(got)).not.toContain(KEY);
  }
  expect((await refusal(500, { status: 'error', message: `bad ${KEY}` })).message).not.toContain(KEY);
});
