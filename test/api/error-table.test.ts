import { inspect } from 'node:util';
import { OPERATIONS } from '../../src/domain/service/operations';
import { DOCUMENTED_ERRORS, SERVICE_OPERATIONS } from './support/documented-errors';
import { invoke } from './support/invoke';
import { API_KEY, clientOf, errorOf, json, PASSWORD, raw, startService, type Service } from './support/service';

const CASES = DOCUMENTED_ERRORS.flatMap((row) =>
  row.operations.map((operation) => ({
    ...row,
    operation,
    expected: OPERATIONS[operation].submits ? (row.submissionKind ?? row.kind) : row.kind,
  })),
);

describe('every error that the specification documents', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService((_request, response) => json(response, 500, {}));
  });
  afterAll(() => service.close());

  test.each(CASES)('$section: $operation $status $shown is $expected', async (row) => {
    service.answer((_request, response) => json(response, row.status, row.body));
    const { api, budget, audited } = clientOf(service.baseUrl);
    const error = await errorOf(invoke(api, row.operation));
    await api.close();

    expect(error).toMatchObject({ kind: row.expected, status: row.status, operation: row.operation, ...row.carries });
    expect(error.message).toContain(OPERATIONS[row.operation].title);
    expect(audited).toMatchObject([{ operation: row.operation, status: row.status, kind: row.expected }]);
    expect(budget.classes).toEqual([OPERATIONS[row.operation].rateClass]);
    expect(budget.events).toEqual(['acquired', 'written', row.status === 429 ? 'refused' : 'answered']);
  });

  describe('bodies that are not as documented', () => {
    const reads = SERVICE_OPERATIONS.filter((operation) => !OPERATIONS[operation].submits);
    test.each([
      [502, '<html><h1>Bad gateway</h1></html>', 'text/html', 'server_error'],
      [503, '', 'text/plain', 'server_error'],
      [429, '', 'text/plain', 'rate_limited'],
      [401, '<html></html>', 'text/html', 'unauthorized'],
      [403, '{"statusCode":403,"mess', 'application/json', 'forbidden'],
      [404, '<html></html>', 'text/html', 'not_found'],
      [400, '{"statusCode":400,"mess', 'application/json', 'bad_answer'],
      [413, '<html>Request Entity Too Large</html>', 'text/html', 'too_large'],
      [304, '', 'text/plain', 'bad_answer'],
      [302, '', 'text/plain', 'bad_answer'],
    ])('%i with body %j is read by its status', async (status, body, contentType, kind) => {
      service.answer((_request, response) => raw(response, status, body, contentType));
      for (const operation of reads) {
        const { api } = clientOf(service.baseUrl);
        const error = await errorOf(invoke(api, operation));
        await api.close();
        const expected = operation === 'checkCredentials' && status === 500 ? 'credential_check_failed' : kind;
        expect([operation, error.kind]).toEqual([operation, expected]);
        expect(error.message).not.toMatch(/\d{3}: \d{3}/u);
      }
    });

    test.each([
      ['a message that is a list', { statusCode: 400, message: ['name should not be empty'], error: 'Bad Request' }],
      [
        'an error object',
        { error: { code: 'BAD', message: 'Validation failed', errors: ['name should not be empty'] } },
      ],
      ['code and message', { code: 'BAD', message: 'Validation failed', errors: ['name should not be empty'] }],
    ])('%s is understood', async (_what, body) => {
      service.answer((_request, response) => json(response, 400, body));
      const { api } = clientOf(service.baseUrl);
      const error = await errorOf(invoke(api, 'createCustomer'));
      await api.close();
      expect(error.kind).toBe('validation_failed');
      expect(error.fieldErrors).toEqual([{ field: 'name', message: 'name should not be empty' }]);
    });

    test.each([
      ['by field', { errors: { address: { pin: ['is too long', 'is no number'] } } }],
      ['in a list', { errors: [{ field: 'address', message: { pin: ['is too long', 'is no number'] } }] }],
    ])('nested errors %s are plain text', async (_what, body) => {
      service.answer((_request, response) => json(response, 400, { message: 'Validation failed', ...body }));
      const { api } = clientOf(service.baseUrl);
      const error = await errorOf(invoke(api, 'createCustomer'));
      await api.close();
      expect(error.fieldErrors).toEqual([{ field: 'address', message: 'pin: is too long; is no number' }]);
    });

    test('Retry-After of something in between is kept', async () => {
      service.answer((_request, response) => {
        response.setHeader('retry-after', '7');
        json(response, 503, { message: 'busy' });
      });
      const { api } = clientOf(service.baseUrl);
      expect((await errorOf(invoke(api, 'status'))).retryAfterMs).toBe(7_000);
      service.answer((_request, response) => {
        response.setHeader('retry-after', '86400');
        json(response, 503, { message: 'busy' });
      });
      expect((await errorOf(invoke(api, 'status'))).retryAfterMs).toBe(15 * 60_000);
      await api.close();
    });
  });

  test('no secret is in any error, whatever the service answers', async () => {
    const echo = [API_KEY, PASSWORD, JSON.stringify(PASSWORD), encodeURIComponent(PASSWORD)].join(' ');
    const bodies = [
      JSON.stringify({ message: echo, errors: [echo, { field: echo, message: echo }], causes: [echo], path: echo }),
      `<html>${echo}</html>`,
      `{"success":true,"data":{"broken":"${echo}`,
    ];
    for (const status of [200, 400, 401, 409, 500]) {
      for (const body of bodies) {
        for (const operation of ['createCustomer', 'checkCredentials'] as const) {
          service.answer((_request, response) => raw(response, status, body, 'application/json'));
          const { api } = clientOf(service.baseUrl);
          const error = await errorOf(invoke(api, operation));
          await api.close();
          const whole = inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error);
          for (const secret of [
            API_KEY,
            PASSWORD,
            JSON.stringify(PASSWORD).slice(1, -1),
            encodeURIComponent(PASSWORD),
          ]) {
            expect(whole).not.toContain(secret);
          }
        }
      }
    }
  });
});
