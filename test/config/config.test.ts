import { createHash } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { databaseOfEnvironment, environmentFor } from '../../dev/environment';
import { testFolder } from '../support/folder';
import { ConfigError, loadConfig, type Section, VARIABLES } from '../../src/config/config';

/** As random as a drawn one, and the same in every run. */
const drawn = (text: string) => createHash('sha256').update(text).digest();
const KEY = drawn('a key').toString('base64');
const OLD_KEY = drawn('an older key').toString('base64');

/** The least that the worker starts with. HOME is somewhere without a Temporal profile. */
const LEAST = {
  HOME: '/nonexistent',
  EBRC_API_URL: 'http://127.0.0.1:9000/api/v1/',
  EBRC_API_KEY: 'dev_sandbox_key',
  DATABASE_URL: 'postgres://u:secret@127.0.0.1:5432/ebrc',
};

function problemsOf(env: Record<string, string>, need?: Section[]) {
  try {
    if (need) loadConfig(env, { need });
    else loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

/** An environment has exactly one problem, of this variable, with this in its words; none shows a password. */
function expectProblem(variable: string, words: string | RegExp, env: Record<string, string>, need?: Section[]) {
  const problems = problemsOf(env, need);
  expect(problems).toEqual([{ variable, problem: expect.stringMatching(words) as string }]);
  expect(JSON.stringify(problems)).not.toContain('hunter2');
}
const namesOf = (...given: Parameters<typeof problemsOf>) => problemsOf(...given).map(({ variable }) => variable);

const folder = testFolder();

describe('a configuration that works', () => {
  it('encrypts payloads where a key is given', () => {
    const { payloadKeys } = loadConfig({ ...LEAST, EBRC_ENCRYPTION_KEY: `k1:${KEY}` });
    expect(payloadKeys.map(({ id }) => id)).toEqual(['k1']);
    // Whoever holds the key of payloads alone opens the same payloads, and no password.
    const [own] = payloadKeys;
    const derived = `k1:${own?.key.toString('base64')}`;
    const caller = loadConfig({ ...LEAST, EBRC_PAYLOAD_KEY: derived }, { need: ['payloads'] });
    expect(caller.payloadKeys).toEqual(payloadKeys);
    expect(derived).not.toContain(KEY);
    const both = { ...LEAST, EBRC_ENCRYPTION_KEY: `k1:${KEY}` };
    expect(loadConfig({ ...both, EBRC_PAYLOAD_KEY: derived }).payloadKeys).toEqual(payloadKeys);
    const changed = loadConfig({ ...both, EBRC_PAYLOAD_KEY: `p2:${OLD_KEY}` });
    expect(changed.payloadKeys.map(({ id }) => id)).toEqual(['p2', 'k1']);
    expectProblem('EBRC_PAYLOAD_KEY', 'keys payload', { ...both, EBRC_PAYLOAD_KEY: `k1:${OLD_KEY}` });
  });

  it('takes plain text from Temporal only in test mode, unless it is told to', () => {
    const key = { EBRC_PAYLOAD_KEY: `p:${KEY}` };
    const payloads = (env: Record<string, string>) => loadConfig({ ...key, ...env }, { need: ['temporal'] }).payloads;
    const live = { EBRC_MODE: 'live', TEMPORAL_ADDRESS: '127.0.0.1:7233' };
    expect([payloads({ EBRC_MODE: 'test' }), payloads(live)]).toEqual(['any', 'encrypted']);
    expect(payloads({ EBRC_MODE: 'test', EBRC_PAYLOADS: 'encrypted' })).toBe('encrypted');
    expect(payloads({ ...live, EBRC_PAYLOADS: 'any' })).toBe('any');
    expectProblem('EBRC_PAYLOADS', 'there is no key', { ...LEAST, EBRC_PAYLOADS: 'encrypted' });
    expectProblem('EBRC_PAYLOADS', 'allowed: encrypted or any', { ...LEAST, ...key, EBRC_PAYLOADS: 'some' });
  });

  it('reads where to listen, and refuses one port for both', () => {
    const both = { ...LEAST, EBRC_METRICS: '127.0.0.1:9464', EBRC_HEALTH: '[::1]:9465' };
    const [metrics, health] = [
      { host: '127.0.0.1', port: 9464 },
      { host: '::1', port: 9465 },
    ];
    expect(loadConfig(both).observability).toEqual({ metrics, health });
    expectProblem('EBRC_HEALTH', 'has the port of EBRC_METRICS', { ...both, EBRC_HEALTH: '0.0.0.0:9464' });
  });

  it('takes a bucket for documents, with its path style where the AWS SDK has an endpoint', () => {
    const env = { ...LEAST, EBRC_DOCUMENTS: 's3://bucket/ebrc' };
    expect(loadConfig(env).documents).toBe('s3://bucket/ebrc');
    const elsewhere = { ...env, AWS_ENDPOINT_URL_S3: 'http://s3.example:9000' };
    expect(loadConfig(elsewhere).documents).toBe('s3://bucket/ebrc?path-style=true');
    const live = { ...elsewhere, EBRC_API_KEY: 'prod_key', EBRC_ENCRYPTION_KEY: `k1:${KEY}` };
    expectProblem('AWS_ENDPOINT_URL_S3', 'unencrypted connection', live, ['documents']);
  });

  it('fills in the defaults', () => {
    const { encryptionKeys, warnings, ...config } = loadConfig(LEAST);
    expect(config).toEqual({
      payloadKeys: [],
      payloads: 'any',
      databasePool: 8,
      singlePerson: false,
      historyMs: 550 * 86_400_000,
      cancelWithinMs: 120 * 86_400_000,
      quota: { certificates: 250, exporters: 10 },
      http: { host: '127.0.0.1', port: 8080 },
      schedules: resolve('schedules.yaml'),
      codecServer: { token: undefined, origins: [] },
      observability: { metrics: undefined, health: undefined },
      apiUrl: 'http://127.0.0.1:9000/api/v1',
      apiKey: 'dev_sandbox_key',
      mode: 'test',
      databaseUrl: LEAST.DATABASE_URL,
      temporal: {
        address: '127.0.0.1:7233',
        namespace: 'default',
        connectionOptions: expect.objectContaining({ address: '127.0.0.1:7233' }),
      },
      taskQueue: 'ebrc',
      pages: false,
      webhookHosts: [],
      cachedWorkflows: 50,
      documents: resolve('documents'),
      poll: { firstMs: 15 * 60_000, minMs: 2 * 60_000, maxMs: 15 * 60_000 },
      overdueAfterMs: 4 * 3_600_000,
      settleAfterMs: 4 * 3_600_000,
      httpTimeoutMs: 60_000,
      rateWindowMs: 60_000,
      logLevel: 'info',
    });
    expect(encryptionKeys).toHaveLength(1);
    expect(warnings).toEqual([expect.stringMatching(/^EBRC_ENCRYPTION_KEY is not set/)]);
  });

  it('takes what is set, and an empty value for unset', () => {
    const config = loadConfig({
      ...LEAST,
      EBRC_API_URL: 'https://filing.example/api/v1',
      EBRC_API_KEY: 'prod_key',
      EBRC_ENCRYPTION_KEY: `second:${KEY}, first:${OLD_KEY}`,
      EBRC_EXTRACTION_URL: 'https://extraction.example',
      EBRC_EXTRACTION_KEY: 'another',
      EBRC_TASK_QUEUE: 'ebrc-blue',
      EBRC_DOCUMENTS: 'file:///var/lib/ebrc',
      EBRC_POLL_FIRST: '2s',
      EBRC_POLL_MIN: '500ms',
      EBRC_POLL_MAX: '1.5h',
      EBRC_RATE_WINDOW: '',
      LOG_LEVEL: 'DEBUG',
      TEMPORAL_ADDRESS: 'temporal.example:7233',
      TEMPORAL_NAMESPACE: 'filing',
      TEMPORAL_API_KEY: 'cloud-key',
    });
    expect(config).toMatchObject({
      mode: 'live',
      extraction: { url: 'https://extraction.example', key: 'another', version: '1' },
      taskQueue: 'ebrc-blue',
      documents: '/var/lib/ebrc',
      poll: { firstMs: 2_000, minMs: 500, maxMs: 5_400_000 },
      rateWindowMs: 60_000,
      logLevel: 'debug',
      temporal: {
        address: 'temporal.example:7233',
        namespace: 'filing',
        connectionOptions: { apiKey: 'cloud-key', tls: true },
      },
      warnings: [],
    });
    expect(config.encryptionKeys.map(({ id, key }) => [id, key.toString('base64')])).toEqual([
      ['second', KEY],
      ['first', OLD_KEY],
    ]);
  });

  it('reads a Temporal profile', async () => {
    const file = join(folder, 'temporal.toml');
    await writeFile(file, '[profile.blue]\naddress = "blue.example:7233"\nnamespace = "blue"\n');
    const { temporal } = loadConfig({ TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'blue' }, { need: ['temporal'] });
    expect(temporal).toMatchObject({ address: 'blue.example:7233', namespace: 'blue' });
  });

  it('derives one key for a dev_ key wherever it runs, and another for another', () => {
    const keyOf = (apiKey: string) =>
      loadConfig({ ...LEAST, EBRC_API_KEY: apiKey }).encryptionKeys[0].key.toString('hex');
    expect(keyOf('dev_one')).toBe(keyOf('dev_one'));
    expect(keyOf('dev_one')).not.toBe(keyOf('dev_two'));
  });
});

const PROVIDER = {
  EBRC_OIDC_ISSUER: 'https://id.example/realms/office/',
  EBRC_OIDC_CLIENT_ID: 'ebrc',
  EBRC_PAGES_URL: 'https://ebrc.example/',
};

describe('an identity provider', () => {
  const secret = { EBRC_OIDC_CLIENT_SECRET: 'client' };

  it('is what ebrc serve reads, as its issuer is written, and workers do not', () => {
    expect(loadConfig({ ...PROVIDER, ...secret }, { need: ['provider'] }).provider).toEqual({
      ...{ issuer: 'https://id.example/realms/office/', clientId: 'ebrc', clientSecret: 'client' },
      ...{ roleClaim: 'ebrc_roles', pagesUrl: 'https://ebrc.example' },
    });
    const { EBRC_OIDC_ISSUER: _, ...without } = PROVIDER;
    expect(loadConfig(without, { need: ['provider'] })).toEqual({ warnings: [] });
    expect(
      loadConfig({ ...LEAST, ...PROVIDER, EBRC_OIDC_CLIENT_SECRET_FILE: '/nonexistent' }).provider,
    ).toBeUndefined();
  });

  it.each([
    ['EBRC_OIDC_CLIENT_ID', ''],
    ['EBRC_OIDC_CLIENT_SECRET', ''],
    ['EBRC_PAGES_URL', ''],
    ['EBRC_PAGES_URL', 'http://ebrc.example'],
    ['EBRC_PAGES_URL', 'https://ebrc.example/pages'],
    ['EBRC_OIDC_ISSUER', 'http://id.example'],
    ['EBRC_OIDC_ISSUER', 'id.example'],
  ])('is refused with %s=%s', (name, value) => {
    expectProblem(name, /allowed: /u, { ...PROVIDER, ...secret, [name]: value }, ['provider']);
  });
});

describe('a secret in a file', () => {
  const secretFile = (name: string, text: string, mode = 0o600) => {
    writeFileSync(join(folder, name), text, { mode });
    return join(folder, name);
  };
  const SECRETS: Record<string, string> = {
    EBRC_API_KEY: 'dev_from_a_file',
    EBRC_EXTRACTION_KEY: 'extraction',
    DATABASE_URL: LEAST.DATABASE_URL,
    EBRC_ENCRYPTION_KEY: `k1:${KEY}`,
    EBRC_PAYLOAD_KEY: `p1:${OLD_KEY}`,
    EBRC_TOKEN: `ebrc_test_${'a'.repeat(43)}`,
    EBRC_CODEC_TOKEN: 'codec',
    EBRC_OIDC_CLIENT_SECRET: 'client',
    TEMPORAL_API_KEY: 'cloud',
  };
  const others = {
    ...{ HOME: '/nonexistent', EBRC_API_URL: LEAST.EBRC_API_URL, EBRC_EXTRACTION_URL: 'https://x.example' },
    ...PROVIDER,
  };

  it('is read for every secret, as if it were the value', () => {
    const secret = Object.entries(VARIABLES).flatMap(([name, variable]) => ('secret' in variable ? [name] : []));
    expect(Object.keys(SECRETS).sort()).toEqual(secret.sort());
    const files = Object.fromEntries(
      Object.entries(SECRETS).map(([name, text]) => [`${name}_FILE`, secretFile(name, `${text}\n`)]),
    );
    const config = loadConfig({ ...others, ...files });
    expect(config).toEqual(loadConfig({ ...others, ...SECRETS }));
    expect(loadConfig({ ...others, ...files }, { need: ['provider'] }).provider?.clientSecret).toBe('client');
    expect(config.temporal.connectionOptions).toMatchObject({ apiKey: 'cloud', tls: true });
    expect(databaseOfEnvironment(files)).toBe(LEAST.DATABASE_URL);
    for (const [name, text] of Object.entries(SECRETS)) {
      const both = { ...others, ...files, [name]: text };
      const need: Section[] | undefined = name === 'EBRC_OIDC_CLIENT_SECRET' ? ['provider'] : undefined;
      expectProblem(`${name}_FILE`, `is set, and so is ${name}; allowed: one of them`, both, need);
    }
  });

  it('is unset where the file is empty, and says so where it is needed', () => {
    const empty = secretFile('empty', '\n');
    expect(loadConfig({ ...LEAST, TEMPORAL_API_KEY_FILE: empty }).temporal.connectionOptions.apiKey).toBeUndefined();
    expectProblem('DATABASE_URL', `is missing: ${empty} is empty`, { DATABASE_URL_FILE: empty }, ['database']);
  });

  it('names a file that it cannot read, with its owner and mode, and nothing of what is in it', () => {
    const wrong = secretFile('wrong', 'mysql://u:hunter2@h/d');
    expectProblem('DATABASE_URL', '', { DATABASE_URL_FILE: wrong }, ['database']);
    const none = join(folder, 'none');
    expectProblem('DATABASE_URL_FILE', 'which does not exist', { DATABASE_URL_FILE: none }, ['database']);
    expectProblem('DATABASE_URL_FILE', 'which is a folder', { DATABASE_URL_FILE: folder }, ['database']);
    chmodSync(folder, 0o755);
    const locked = secretFile('locked', 'k1:x', 0o200);
    const root = process.geteuid?.() === 0;
    if (root) process.seteuid?.(65_534);
    try {
      const owner = /user \d+, group \d+, with mode 0200;/;
      expectProblem('EBRC_ENCRYPTION_KEY_FILE', owner, { ...LEAST, EBRC_ENCRYPTION_KEY_FILE: locked });
    } finally {
      if (root) process.seteuid?.(0);
    }
  });
});

it('a command is refused for what it needs, and not for what it does not need', () => {
  const nonsense = { EBRC_API_URL: 'nonsense', LOG_LEVEL: 'warn' };
  expect(loadConfig(nonsense, { need: ['log'] })).toEqual({ logLevel: 'warn', warnings: [] });
  expect(namesOf({ HOME: '/nonexistent' }, ['temporal', 'mode'])).toEqual(['EBRC_API_KEY']);
});

describe('a configuration that is wrong', () => {
  it('names every variable at once, in one error', () => {
    const env = { EBRC_POLL_MIN: 'ten', LOG_LEVEL: 'loud', HOME: '/nonexistent' };
    const names = ['EBRC_API_URL', 'EBRC_API_KEY', 'DATABASE_URL', 'EBRC_POLL_MIN', 'LOG_LEVEL'];
    expect(namesOf(env)).toEqual(names);
    expect(new ConfigError(problemsOf(env)).message).toContain(
      '  EBRC_POLL_MIN "ten" is not a duration; allowed: a number with ms, s, m, h or d, such as 90s or 1.5h, from 100ms to 7d',
    );
  });

  it.each<[string, string, RegExp]>([
    ['EBRC_API_URL', 'filing.example', /is not a web address/],
    ['EBRC_API_URL', 'https://filing.example/v1', /does not end in \/api\/v1/],
    ['EBRC_API_URL', 'https://u:hunter2@filing.example/api/v1', /has a user/],
    ['EBRC_API_KEY', 'live_key', /starts with dev_ or prod_/],
    ['EBRC_API_KEY', 'prod_', /prefix without a key/],
    ['EBRC_API_KEY', 'dev_ key', /characters that a key cannot have/],
    ['EBRC_EXTRACTION_URL', 'https://extraction.example', /both or neither/],
    ['DATABASE_URL', 'mysql://u:hunter2@h/d', /not the address of a PostgreSQL database/],
    ['EBRC_TASK_QUEUE', 'a queue', /cannot name a task queue/],
    ['EBRC_CACHED_WORKFLOWS', '19', /a whole number from 20/],
    ['EBRC_ENCRYPTION_KEY', 'hunter2', /key 1 of 1 cannot be read/],
    ['EBRC_ENCRYPTION_KEY', `a:${KEY},b:${KEY.slice(4)}`, /key 2 of 2 cannot be read/],
    ['EBRC_ENCRYPTION_KEY', `a:${KEY},a:${OLD_KEY}`, /two keys "a"/],
    ['EBRC_DOCUMENTS', 'gs://bucket/ebrc', /cannot keep documents/],
    ['EBRC_DOCUMENTS', 's3://bucket/ebrc?sse=none', /is not the address of a bucket/],
    ['EBRC_POLL_MIN', '20m', /longer than EBRC_POLL_MAX/],
    ['EBRC_HTTP_TIMEOUT', '60', /is not a duration/],
    ['EBRC_HTTP_TIMEOUT', '0s', /out of range/],
    ['EBRC_RATE_WINDOW', '-60s', /is not a duration/],
    ['TEMPORAL_ADDRESS', 'http://temporal:7233', /is not an address/],
    ['TEMPORAL_PROFILE', 'nowhere', /cannot be used/],
    ['TEMPORAL_TLS', 'yes', /neither yes nor no/],
    ...['ui.example', 'http://ui.example/path', 'http://a.example,https//b'].map(
      (origins): [string, string, RegExp] => ['EBRC_CODEC_ORIGINS', origins, /is not an origin/],
    ),
    ...['9464', 'localhost', '127.0.0.1:70000', 'http://127.0.0.1:9464'].map((address): [string, string, RegExp] => [
      'EBRC_METRICS',
      address,
      /is not an address to listen on/,
    ]),
  ])('%s=%s', (variable, value, message) => {
    const env = { ...LEAST, [variable]: value };
    expectProblem(namesOf(env)[0] ?? '', message, env);
    expect(problemsOf(env)[0]?.problem).toMatch(/allowed: /);
  });

  it('refuses a live key without an encryption key, and one that would travel in clear', () => {
    const live = { ...LEAST, EBRC_API_KEY: 'prod_key', EBRC_API_URL: 'http://filing.example/api/v1' };
    expect(namesOf(live)).toEqual(['EBRC_API_URL', 'EBRC_ENCRYPTION_KEY']);
  });
});

describe('a prod_ key', () => {
  const LIVE = {
    HOME: '/nonexistent',
    EBRC_API_URL: 'https://filing.example/api/v1',
    EBRC_API_KEY: 'prod_key',
    EBRC_ENCRYPTION_KEY: `a:${KEY}`,
    EBRC_EXTRACTION_URL: 'https://extraction.example',
    EBRC_EXTRACTION_KEY: 'another',
    DATABASE_URL: 'postgres://u:hunter2@db.example:5432/ebrc?sslmode=verify-full',
    TEMPORAL_ADDRESS: 'temporal.example:7233',
    TEMPORAL_TLS: 'true',
  };
  const withKeys = (...keys: Buffer[]) => keys.map((key, nth) => `k${nth}:${key.toString('base64')}`).join(',');

  it('starts where every link has TLS', () => expect(loadConfig(LIVE)).toMatchObject({ mode: 'live', warnings: [] }));

  it('starts without TLS where every link stays on this machine', () => {
    const local = {
      ...LIVE,
      EBRC_API_URL: 'http://127.0.0.1:1/api/v1',
      EBRC_EXTRACTION_URL: 'http://localhost:2',
      TEMPORAL_ADDRESS: '[::1]:7233',
      TEMPORAL_TLS: '',
    };
    for (const DATABASE_URL of [
      'postgres://u:p@127.0.0.1/ebrc',
      'postgres://u:p@localhost/ebrc?sslmode=disable',
      'postgres://u:p@[::1]:5432/ebrc',
      'postgres:///ebrc?host=/var/run/postgresql',
      'postgres://u:p@%2Fvar%2Frun%2Fpostgresql/ebrc',
    ])
      expect(problemsOf({ ...local, DATABASE_URL })).toEqual([]);
  });

  it.each([
    ['EBRC_API_URL', 'http://filing.example/api/v1'],
    ['EBRC_EXTRACTION_URL', 'http://extraction.example'],
    ['DATABASE_URL', 'postgres://u:hunter2@db.example/ebrc'],
    ['DATABASE_URL', 'postgres://u:hunter2@db.example/ebrc?sslmode=prefer'],
    ['DATABASE_URL', 'postgres://u:hunter2@db.example/ebrc?sslmode=no-verify'],
    ['DATABASE_URL', 'postgres://u:hunter2@db.example/ebrc?sslmode=require'],
    ['DATABASE_URL', 'postgres://u:hunter2@127.0.0.1/ebrc?host=db.example'],
    ['DATABASE_URL', 'postgres://u:hunter2@db.example/ebrc?sslmode=verify-full&sslmode=disable'],
    ['DATABASE_URL', 'postgres://u:hunter2@db.example/ebrc?ssl=true&sslmode=no-verify'],
    ['DATABASE_URL', 'postgres://u:hunter2@db.example/ebrc?host=127.0.0.1&host=db.example'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://traces.example:4318'],
    ['TEMPORAL_TLS', 'false'],
    ['NODE_TLS_REJECT_UNAUTHORIZED', '0'],
    ['EBRC_ENCRYPTION_KEY', withKeys(Buffer.alloc(32))],
    ['EBRC_ENCRYPTION_KEY', withKeys(drawn('x'), Buffer.alloc(32, 0xff))],
    ['EBRC_ENCRYPTION_KEY', withKeys(Buffer.from(Array.from({ length: 32 }, (_unused, n) => n)))],
    ['EBRC_ENCRYPTION_KEY', withKeys(Buffer.from('0123456789abcdef0123456789abcdef'))],
    ['EBRC_ENCRYPTION_KEY', withKeys(Buffer.from('Correct-Horse-Battery-Staple-4u!'))],
    ['EBRC_ENCRYPTION_KEY', withKeys(drawn('x'), drawn('x'))],
  ])('refuses %s=%s', (variable, value) => {
    const named = variable === 'TEMPORAL_TLS' ? 'TEMPORAL_ADDRESS' : variable;
    expectProblem(named, 'allowed', { ...LIVE, [variable]: value });
  });

  it('is read as the driver reads it: ssl=0 switches off what PGSSLMODE asks for', () => {
    const env = { ...LIVE, DATABASE_URL: 'postgres://u:p@db.example/ebrc', PGSSLMODE: 'verify-full' };
    expect(problemsOf(env)).toEqual([]);
    expectProblem('DATABASE_URL', 'sslmode disable', { ...env, DATABASE_URL: `${env.DATABASE_URL}?ssl=0` });
  });

  it('is assumed where only the key of payloads is known, as by a codec server', () => {
    const env = { HOME: '/nonexistent', EBRC_PAYLOAD_KEY: `p:${Buffer.alloc(32).toString('base64')}` };
    expectProblem('EBRC_PAYLOAD_KEY', 'can be guessed', env, ['payloads', 'codecServer']);
  });

  it('is asked for by commands that need the ledger or Temporal alone', () => {
    const open = { ...LIVE, DATABASE_URL: 'postgres://u:p@db.example/ebrc', TEMPORAL_TLS: '' };
    expect(namesOf(open, ['database', 'temporal'])).toEqual(['DATABASE_URL', 'TEMPORAL_ADDRESS']);
  });
});

describe('a dev_ key', () => {
  it('warns of an http address of another machine, and starts', () => {
    const env = { ...LEAST, EBRC_API_URL: 'http://filing.example/api/v1', EBRC_ENCRYPTION_KEY: `a:${KEY}` };
    expect(loadConfig(env).warnings).toEqual([expect.stringContaining('the dev_ key travels unencrypted')]);
    expect(loadConfig({ ...env, EBRC_API_URL: LEAST.EBRC_API_URL }).warnings).toEqual([]);
  });

  it('works with any link and any key', () => {
    const env = {
      ...LEAST,
      DATABASE_URL: 'postgres://u:p@db.example/ebrc',
      TEMPORAL_ADDRESS: 'temporal.example:7233',
      EBRC_ENCRYPTION_KEY: `a:${Buffer.alloc(32).toString('base64')}`,
    };
    expect(problemsOf(env)).toEqual([]);
  });
});

it('gives a program of the demo what it sets, and nothing of a developer’s own', () => {
  const own = {
    EBRC_SOMETHING_NEW: 'x',
    DATABASE_URL: 'postgres://real',
    TEMPORAL_API_KEY: 'real',
    PGPASSWORD: 'real',
  };
  const developer = { PATH: '/usr/bin', EBRC_API_KEY: 'prod_real', LOG_LEVEL: 'trace', ...own };
  const set = { EBRC_API_KEY: 'dev_demo' };
  expect(environmentFor(set, developer)).toEqual({ PATH: '/usr/bin', ...set });
});

describe('EBRC_MODE', () => {
  it('stands in the place of a key, which decides where there is one', () => {
    const need: Section[] = ['mode'];
    expect(loadConfig({ EBRC_MODE: 'live' }, { need }).mode).toBe('live');
    expect(loadConfig({ EBRC_API_KEY: 'dev_x', EBRC_MODE: 'test' }, { need }).mode).toBe('test');
    const other = { EBRC_API_KEY: 'dev_x', EBRC_MODE: 'live' };
    expectProblem('EBRC_MODE', 'EBRC_API_KEY is a key of test mode', other, need);
    expectProblem('EBRC_MODE', '"prod" is no mode; allowed: test or live', { EBRC_MODE: 'prod' }, need);
    expectProblem('EBRC_API_KEY', /EBRC_MODE \(test or live\) is enough/, {}, need);
  });

  it('holds the links of live data to what a prod_ key asks of them', () => {
    const env = { EBRC_MODE: 'live', DATABASE_URL: 'postgres://u@db.example/ebrc' };
    expect(namesOf(env, ['mode', 'database'])).toEqual(['DATABASE_URL']);
  });
});
