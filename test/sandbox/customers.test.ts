import { DEFAULT_SEED } from '../../sandbox/authority/default-seed';
import { HOUR, createClient, link, seedWith, startSandbox, type Harness } from './support';

let harness: Harness;
beforeEach(async () => {
  harness = await startSandbox({
    seed: seedWith({
      keys: [
        ...DEFAULT_SEED.keys,
        { key: 'dev_viewer', kind: 'other' },
        { key: 'dev_no_nda', ndaSigned: false },
        { key: 'dev_no_mpa', masterAgreementSigned: false },
        { key: 'dev_revoked', revoked: true },
        { key: 'dev_neighbour', platformId: 'another-platform' },
      ],
    }),
  });
});

const valid = { name: 'Acme', email: 'a@example.com', type: 'customer' };

describe('keys and agreements', () => {
  test.each([
    [null, 401, 'No API key provided'],
    ['dev_unknown', 401, 'Invalid API key'],
    ['dev_revoked', 401, 'Invalid API key'],
    ['dev_viewer', 403, 'Only platform users can access this resource'],
    ['dev_no_nda', 403, 'NDA and agreement not signed yet'],
    ['dev_no_mpa', 403, 'Master Platform Agreement not signed yet'],
  ])('%s is refused with %i %s', async (key, status, message) => {
    const refused = await harness.with(key).post('/platform-customers', valid);
    expect(refused.status).toBe(status);
    expect(refused.body).toEqual({ statusCode: status, message });
  });

  test('a client is reachable only with a key of its mode and its platform', async () => {
    const id = await createClient(harness);
    expect((await harness.api.get(`/platform-customers/${id}`)).status).toBe(200);
    const live = await harness.prod.get(`/platform-customers/${id}`);
    expect(live.status).toBe(404);
    expect(live.body.message).toBe(`Platform customer with id ${id} not found`);
    expect((await harness.with('dev_neighbour').get(`/platform-customers/${id}`)).status).toBe(404);
  });
});

describe('create', () => {
  test('answers 201 with the client object in the envelope', async () => {
    const created = await harness.api.post('/platform-customers', { ...valid, iec: ' aagcm4521k ', isActive: true });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      success: true,
      statusCode: 201,
      timestamp: new Date(harness.now()).toISOString(),
      data: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        name: 'Acme',
        email: 'a@example.com',
        type: 'customer',
        companyName: null,
        iec: 'AAGCM4521K',
        address: null,
        platformId: 'platform-sandbox',
        mode: 'test',
        isActive: false,
        hasDgftCredentials: false,
        createdAt: new Date(harness.now()).toISOString(),
        updatedAt: new Date(harness.now()).toISOString(),
      },
    });
  });

  test('names every wrong field at once', async () => {
    const refused = await harness.api.post('/platform-customers', { email: 'no', type: 'x', iec: '12', shoeSize: 42 });
    expect(refused.status).toBe(400);
    expect(refused.body).toEqual({
      statusCode: 400,
      message: 'Validation failed',
      errors: [
        'name: name must be a string',
        'email: email must be an email',
        'type: type must be one of the following values: customer',
        'iec: iec must be exactly 10 alphanumeric characters',
        'shoeSize: property shoeSize should not exist',
      ],
    });
  });

  test('e-mail and username are unique in a platform and mode', async () => {
    await harness.api.post('/platform-customers', { ...valid, dgftUsername: 'acme', dgftPassword: 'x' });
    const sameEmail = await harness.api.post('/platform-customers', { ...valid, email: 'A@example.com' });
    expect(sameEmail.body).toEqual({ statusCode: 400, message: 'User with email already exists' });
    const sameUser = await harness.api.post('/platform-customers', { ...valid, email: 'b@x.io', dgftUsername: 'acme' });
    expect(sameUser.body).toEqual({ statusCode: 400, message: 'DGFT username already in use' });
    expect((await harness.prod.post('/platform-customers', valid)).status).toBe(201);
  });

  test('credentials in the body are on file but unverified, and never returned', async () => {
    const created = await harness.api.post('/platform-customers', {
      ...valid,
      dgftUsername: 'acme',
      dgftPassword: 'Secret#9',
    });
    expect(created.data).toMatchObject({ isActive: false, hasDgftCredentials: true });
    expect(JSON.stringify(created.body)).not.toContain('Secret#9');
    const refused = await harness.api.post('/irm/refresh', { platformCustomerId: created.data.id });
    expect([refused.status, refused.body.errorCode]).toEqual([422, 'DGFT_CREDENTIALS_MISSING']);
  });
});

describe('get, update and list', () => {
  test('get omits the mode and refuses an id that is not a UUID', async () => {
    const id = await createClient(harness);
    expect((await harness.api.get(`/platform-customers/${id}`)).data).not.toHaveProperty('mode');
    const refused = await harness.api.get('/platform-customers/42');
    expect(refused.body).toEqual({ statusCode: 400, message: 'Invalid platform customer ID format' });
  });

  test('update changes only what was sent and answers with the mode', async () => {
    const id = await createClient(harness, { companyName: 'Acme Pvt Ltd' });
    const updated = await harness.api.patch(`/platform-customers/${id}`, { address: 'Pune' });
    expect(updated.status).toBe(200);
    expect(updated.data).toMatchObject({ address: 'Pune', companyName: 'Acme Pvt Ltd', mode: 'test' });
  });

  test.each(['iec', 'email', 'type', 'isActive', 'mode', 'dgftUsername', 'dgftPassword', 'id'])(
    'update refuses %s and changes nothing',
    async (property) => {
      const id = await createClient(harness);
      const refused = await harness.api.patch(`/platform-customers/${id}`, { name: 'New', [property]: 'x' });
      expect(refused.status).toBe(400);
      expect(refused.body.errors).toEqual([`${property}: property ${property} should not exist`]);
      expect((await harness.api.get(`/platform-customers/${id}`)).data.name).toBe('Acme Exports');
    },
  );

  test('list pages, searches name and e-mail, and leaves out mode and API status', async () => {
    for (let n = 0; n < 12; n++) await createClient(harness, { name: `Client ${n}`, email: `c${n}@list.io` });
    await link(harness, (await harness.api.get('/platform-customers?search=C11@list')).data.data[0].id);
    const first = await harness.api.get('/platform-customers');
    expect(first.data.meta).toEqual({ total: 12, page: 1, limit: 10, totalPages: 2 });
    expect(first.data.data).toHaveLength(10);
    const second = await harness.api.get('/platform-customers?page=2&limit=10');
    expect(second.data.data).toHaveLength(2);
    expect(second.data.data[1]).toMatchObject({ name: 'Client 11', isActive: true });
    expect(second.data.data[1]).not.toHaveProperty('mode');
    expect(second.data.data[1]).not.toHaveProperty('dgftApiStatus');
    const refused = await harness.api.get('/platform-customers?limit=101');
    expect(refused.body.errors).toEqual(['limit: limit must not be greater than 100']);
  });
});

describe('check-dgft-credentials', () => {
  test('the same username with a new password replaces it and keeps the activation; another username is refused', async () => {
    const id = await createClient(harness);
    const first = await link(harness, id);
    await harness.control('PATCH', '/accounts/acme', { password: 'New#2' });
    harness.advance(HOUR);
    const again = await link(harness, id, { dgftPassword: 'New#2' });
    expect(again.status).toBe(201);
    expect(again.data.dgftApiStatus).toEqual(first.data.dgftApiStatus);
    const other = await link(harness, id, { dgftUsername: 'other', dgftPassword: 'Other#1' });
    expect(other.body).toEqual({ statusCode: 400, message: 'DGFT credentials are already set for this customer' });
  });

  test('a username of another client is refused, in other words once it is connected', async () => {
    await createClient(harness, { dgftUsername: 'other', dgftPassword: 'unverified' });
    const second = await createClient(harness);
    const stored = await link(harness, second, { dgftUsername: 'other', dgftPassword: 'Other#1' });
    expect(stored.body.message).toBe('DGFT username already in use');
    await link(harness, second);
    const third = await createClient(harness);
    const connected = await link(harness, third);
    expect(connected.body.message).toBe('DGFT username already aligned with another platform customer');
  });

  test('a portal that cannot be checked answers 500', async () => {
    const id = await createClient(harness);
    await harness.control('POST', '/portal', { down: true });
    const failed = await link(harness, id);
    expect(failed.body).toEqual({ statusCode: 500, message: 'Error checking DGFT credentials' });
  });

  test('five failures in fifteen minutes refuse for fifteen more, on the sandbox clock', async () => {
    const limited = await startSandbox({ rateWindowMs: 1 });
    const id = await createClient(limited);
    for (let n = 0; n < 5; n++) {
      expect((await link(limited, id, { dgftPassword: 'wrong' })).status).toBe(400);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const refused = await link(limited, id);
    expect(refused.body).toEqual({ statusCode: 429, message: 'Too many requests. Please try again later.' });
    limited.advance(HOUR / 4);
    expect((await link(limited, id)).status).toBe(201);
  });
});
