import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { parseEnv } from 'node:util';
import { parse } from 'yaml';
import { VARIABLES, loadConfig } from '../../src/config/config';
import { SEARCH_ATTRIBUTES } from '../../src/domain/names';
import { shutdownTimes, START_WITHIN_MS } from '../../src/worker/lifecycle';
import { testFolder } from '../support/folder';
import { ROOT, readProject } from './project';

interface Service {
  image: string;
  command?: string[];
  build?: { context: string; dockerfile: string };
  /** Null: passed on from where Compose runs. */
  environment?: Record<string, string | null>;
  ports?: string[];
  volumes?: string[];
  healthcheck?: { test?: string[]; disable?: boolean };
  profiles: string[];
  secrets?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  ulimits?: { core?: number };
  security_opt?: string[];
  logging?: unknown;
  entrypoint?: string[];
  depends_on?: Record<string, { condition: string }>;
}

const text = readProject('docker-compose.yml');
const compose = parse(text, { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  secrets: Record<string, { file: string }>;
};
const folder = testFolder();
const DOCKERFILE = readProject('Dockerfile');
const services = Object.entries(compose.services);
const service = (name: string): Service => {
  const found = compose.services[name];
  if (!found) throw new Error(`there is no service ${name}`);
  return found;
};

/** The value that a `${NAME:-default}` has where nothing is set. */
const byDefault = (value: string) => value.replace(/\$\{\w+:-([^}]*)\}/g, '$1');
const environmentOf = (name: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(service(name).environment ?? {}).flatMap(([variable, value]) =>
      value === null ? [] : [[variable, byDefault(value)]],
    ),
  );

it('pins every image to a version', () => {
  for (const [name, { image }] of services)
    expect([name, image]).toEqual([name, expect.stringMatching(/:v?\d+\.\d+[\w.-]*$/)]);
  const bases = [...DOCKERFILE.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  expect(new Set(bases).size).toBe(1);
  expect(bases[0]).toMatch(/^node:\d+\.\d+\.\d+-/);
});

it('names the image after the version of the package, wherever it is named, and a release does', () => {
  const { version } = JSON.parse(readProject('package.json')) as { version: string };
  const overlays = ['production', 'sandbox'].map((name) => `ops/kubernetes/overlays/${name}/kustomization.yaml`);
  const release = readProject('scripts/release.mjs');
  for (const file of ['docker-compose.yml', ...overlays]) {
    const named = [...readProject(file).matchAll(/(?:ebrc-worker:|newTag: )([\d.]+)/g)].map(([, tag]) => tag);
    expect([file, new Set(named), release.includes(`'${file}'`)]).toEqual([file, new Set([version]), true]);
  }
});

it('checks the health of everything that stays up, and waits for what it needs', () => {
  // The image asks for the health of a worker, which is what it runs where nothing else is said.
  const hasHealth = ({ healthcheck, command }: Service) =>
    healthcheck !== undefined ||
    `CMD ${JSON.stringify(command)}`.replace(',', ', ') === DOCKERFILE.trimEnd().split('\n').at(-1);
  const waitedFor = services.flatMap(([, { depends_on = {} }]) => Object.entries(depends_on));
  for (const [name, { condition }] of waitedFor) {
    const ends = condition === 'service_completed_successfully';
    expect([name, ends || hasHealth(service(name))]).toEqual([name, true]);
  }
  const ends = ['temporal-schema', 'temporal-namespace', 'ledger-migrate', 'migrate'];
  const staysUp = services.filter(([name]) => !ends.includes(name));
  for (const [name, each] of staysUp) expect([name, hasHealth(each)]).toEqual([name, true]);
});

it('mounts and builds what the project has', () => {
  const volumes = services.flatMap(([, { volumes = [] }]) =>
    volumes.map((volume) => byDefault(volume).split(':')[0] ?? ''),
  );
  for (const source of volumes) {
    if (source.startsWith('.')) expect([source, existsSync(join(ROOT, source))]).toEqual([source, true]);
    else expect(Object.keys(compose.volumes)).toContain(source);
  }
  // One service of each profile builds the image.
  const builds = services.flatMap(([, { profiles, build }]) => (build ? [{ ...build, profiles }] : []));
  expect(builds.map(({ profiles }) => profiles)).toEqual([['sandbox'], ['production']]);
  for (const { context, dockerfile } of builds) expect(existsSync(join(ROOT, context, dockerfile))).toBe(true);
  for (const script of ['create-schema.sh', 'create-namespace.sh', 'dynamic-config.yaml']) {
    expect(existsSync(join(ROOT, 'docker/temporal', script))).toBe(true);
    expect(text).toContain(`/${script}`);
  }
});

it('runs programs that the build makes', () => {
  for (const [name, { image, command = [], entrypoint = [] }] of services) {
    if (!byDefault(image).startsWith('ebrc-worker:')) continue;
    const [program = '', script = ''] = [...entrypoint, ...command];
    expect([name, ['ebrc', 'node', '/bin/sh'].includes(program)]).toEqual([name, true]);
    if (program === 'node') expect(script).toBe('dist/worker.js');
  }
  expect(DOCKERFILE).toContain('/usr/local/bin/ebrc');
});

it('says that all is well, with a token, only where the principal was made or is there', () => {
  const welcome = (code: number, answer: string) => {
    const ebrc = join(folder, 'ebrc');
    writeFileSync(ebrc, `#!/bin/sh\necho '${answer}'\nexit ${code}\n`, { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env['PATH']}`, HTTP_URL: 'http://127.0.0.1:8080' };
    return spawnSync('sh', [join(ROOT, 'docker/sandbox/welcome.sh')], { env, encoding: 'utf8' });
  };
  expect(welcome(0, '{"token":"ebrc_test_x"}').stdout).toMatch(/Token +ebrc_test_x\n/);
  expect(welcome(3, '{}').stdout).toMatch(/Token +as printed at the first start/);
  expect(welcome(1, '{}')).toMatchObject({ status: 1, stdout: '' });
});

it('starts the sandbox with options that it has', () => {
  const options = (service('sandbox').command ?? []).flatMap((word) => /^--[\w-]+/.exec(word) ?? []);
  expect(options).toContain('--state');
  const command = readProject('src/starter/cli/commands/operations/serve.ts');
  for (const option of options) expect([option, command.includes(`'${option} <`)]).toEqual([option, true]);
});

it('gives the worker an environment that it starts with', () => {
  const environment = environmentOf('worker-sandbox');
  const known = [...Object.keys(VARIABLES), 'TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE'];
  for (const name of Object.keys(environment)) expect(known).toContain(name);
  const config = loadConfig({ ...environment, HOME: '/nonexistent' });

  // Every address names a service of this file and the port that it listens on.
  expect(new URL(config.apiUrl).hostname).toBe('sandbox');
  expect(service('sandbox').command).toContain(`--port=${new URL(config.apiUrl).port}`);
  expect(service('sandbox').ports).toEqual([expect.stringMatching(new RegExp(`:${new URL(config.apiUrl).port}$`))]);
  expect(config.temporal.address).toBe('temporal:7233');
  expect(service('temporal').ports).toEqual([expect.stringMatching(/:7233$/)]);
  const database = new URL(config.databaseUrl);
  expect([database.hostname, database.port]).toEqual(['postgres', '5432']);
  const ledger = readProject('docker/postgres/create-ledger.sql');
  expect(ledger).toContain(`CREATE USER ${database.username} PASSWORD '${database.password}' IN ROLE ebrc_run`);
  const httpApi = new URL(environmentOf('http-api-sandbox')['DATABASE_URL'] ?? '');
  expect(ledger).toContain(`CREATE USER ${httpApi.username} PASSWORD '${httpApi.password}' IN ROLE ebrc_serve`);
  expect(ledger).toContain(`TO ${database.username}, ${httpApi.username},`);
  for (const name of ['ledger-migrate', 'welcome']) {
    const owner = new URL(environmentOf(name)['DATABASE_URL'] ?? '');
    expect(ledger).toContain(`CREATE USER ${owner.username} PASSWORD '${owner.password}' IN ROLE ebrc_migrate`);
    expect(ledger).toContain(`CREATE DATABASE ${database.pathname.slice(1)} OWNER ${owner.username}`);
  }
  const temporal = environmentOf('temporal');
  expect(ledger).toContain(`CREATE USER ${temporal['POSTGRES_USER']} PASSWORD '${temporal['POSTGRES_PWD']}'`);
  expect(service('worker-sandbox').volumes).toEqual([`documents:${config.documents}`]);
  expect(DOCKERFILE).toContain(config.documents);
});

it('passes every variable of .env.example, secrets as files, each to who needs it', () => {
  const example = Object.keys(parseEnv(readProject('.env.example')));
  const variablesOf = (name: string) =>
    new Set(Object.keys(service(name).environment ?? {}).map((each) => each.replace(/_FILE$/, '')));
  const worker = variablesOf('worker');
  // Of the HTTP API, and of people and the codec server, who use the command line.
  const others: Record<string, string> = {
    EBRC_HTTP: 'http-api',
    EBRC_PAGES: 'http-api',
    EBRC_PAGES_URL: 'http-api',
    EBRC_OIDC_ISSUER: 'http-api',
    EBRC_OIDC_CLIENT_ID: 'http-api',
    EBRC_OIDC_CLIENT_SECRET: 'http-api',
    EBRC_OIDC_ROLE_CLAIM: 'http-api',
    EBRC_TOKEN: 'ebrc-production',
    EBRC_CODEC_TOKEN: 'ebrc-production',
  };
  for (const name of example) {
    const reached = variablesOf(others[name] ?? 'worker').has(name);
    expect([name, reached]).toEqual([name, true]);
  }
  expect(example.length).toBeGreaterThan(35);
  expect([...worker].filter((name) => /^AWS_|^TEMPORAL_TLS_|^NODE_EXTRA/.test(name)).length).toBeGreaterThan(8);

  for (const name of ['worker', 'http-api', 'migrate', 'ebrc-production']) {
    const { environment = {}, secrets = [], volumes = [] } = service(name);
    expect(Object.values(environment).join(' ')).not.toMatch(/sandbox|postgres:/);
    for (const secret of Object.keys(VARIABLES).filter((each) => 'secret' in VARIABLES[each as keyof typeof VARIABLES]))
      expect(environment).not.toHaveProperty(secret);
    // No secret without its variable; a variable of a secret that the service does not have is not read by it.
    const files = Object.entries(environment).flatMap(
      ([, value]) => /^\/run\/secrets\/(\w+)$/.exec(value ?? '')?.[1] ?? [],
    );
    expect(secrets.filter((secret) => !files.includes(secret))).toEqual([]);
    for (const secret of secrets) expect(Object.keys(compose.secrets)).toContain(secret);
    expect(volumes).toContain('./docker/files:/etc/ebrc:ro');
  }
  // The keys of the service and of passwords are the worker's alone, and the owner's password that of who migrates.
  const holders = (secret: string) =>
    services.flatMap(([name, { secrets }]) => (secrets?.includes(secret) ? [name] : []));
  for (const secret of ['EBRC_API_KEY', 'EBRC_ENCRYPTION_KEY']) expect(holders(secret)).toEqual(['worker']);
  expect(holders('DATABASE_URL_OWNER')).toEqual(['migrate']);
  expect(holders('DATABASE_URL_SERVE')).toEqual(['http-api']);
  expect(service('http-api').environment?.['DATABASE_URL_FILE']).toBe('/run/secrets/DATABASE_URL_SERVE');
});

it('starts the production worker with what its files and `.env` say', () => {
  const given = {
    EBRC_API_URL: 'https://api.example/api/v1',
    EBRC_API_KEY: 'prod_key',
    EBRC_ENCRYPTION_KEY: `k1:${createHash('sha256').update('drawn').digest('base64')}`,
    DATABASE_URL: 'postgres://w:p@db.example/ebrc?sslmode=verify-full',
    TEMPORAL_ADDRESS: 'temporal.example:7233',
  };
  const read = Object.fromEntries(Object.entries(environmentOf('worker')).filter(([name]) => !name.endsWith('_FILE')));
  expect(loadConfig({ ...read, ...given, HOME: '/nonexistent' })).toMatchObject({ mode: 'live' });
});

it('locks our own programs, and bounds the logs of all', () => {
  for (const [name, { logging }] of services) expect([name, logging !== undefined]).toEqual([name, true]);
  const own = services.flatMap(([name, { image }]) => (image.startsWith('ebrc-worker:') ? [name] : []));
  for (const name of [...own, 'prometheus', 'grafana']) {
    const { read_only, cap_drop, security_opt, ulimits } = service(name);
    expect([name, ulimits]).toEqual([name, { core: 0 }]);
    expect([name, read_only, cap_drop, security_opt]).toEqual([name, true, ['ALL'], ['no-new-privileges:true']]);
  }
});

it('asks the worker for its readiness where it answers', () => {
  const address = environmentOf('worker')['EBRC_HEALTH'] ?? 'none';
  expect(DOCKERFILE).toContain(`http://${address}/readyz`);
  expect(DOCKERFILE).toContain(`EBRC_HEALTH=${address}`);
  // A worker waits for PostgreSQL, and twice for Temporal.
  const [, seconds] = /--start-period=(\d+)s /.exec(DOCKERFILE) ?? [];
  expect(Number(seconds) * 1_000).toBeGreaterThan(3 * START_WITHIN_MS);
});

it('opens ports of this machine alone', () => {
  for (const [name, { ports = [] }] of services) {
    for (const port of ports)
      expect([name, byDefault(port)]).toEqual([name, expect.stringMatching(/^127\.0\.0\.1:\d+:\d+$/)]);
  }
});

it('gives the worker more time to end than it takes at most', () => {
  const { stop_grace_period: grace } = service('worker') as Service & { stop_grace_period: string };
  const { httpTimeoutMs } = loadConfig({}, { need: ['tuning'] });
  expect(Number(/^(\d+)s$/.exec(grace)?.[1]) * 1000).toBeGreaterThan(shutdownTimes(httpTimeoutMs).boundMs);
});

it('gives the server the fairness settings and the namespace the search attributes', () => {
  expect(parse(readProject('docker/temporal/dynamic-config.yaml'))).toEqual({
    'matching.useNewMatcher': [{ value: true }],
    'matching.enableFairness': [{ value: true }],
    'matching.numTaskqueueReadPartitions': [{ value: 1 }],
    'matching.numTaskqueueWritePartitions': [{ value: 1 }],
  });
  const script = readProject('docker/temporal/create-namespace.sh');
  const made = [...script.matchAll(/(Ebrc\w+):(\w+)/g)].map(([, name, type]) => [name, type]);
  expect(Object.fromEntries(made)).toEqual(SEARCH_ATTRIBUTES);
});

it('copies into the image what the Dockerfile names, and nothing that .dockerignore keeps out', () => {
  const kept = readProject('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  const copied = [...DOCKERFILE.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources]) =>
    (sources ?? '').split(' '),
  );
  expect([...new Set(copied.map((path) => path.split('/')[0]))].sort()).toEqual([...kept].sort());
  for (const path of copied) expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);

  // What the sources name beside themselves is needed to build them.
  const references = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => {
      const named = [...readProject(`src/${name}`).matchAll(/^\/\/\/ <reference path="([^"]+)"/gm)];
      return named.map(([, path = '']) => relative(ROOT, resolve(ROOT, 'src', dirname(name), path)).split(sep)[0]);
    });
  expect(references.length).toBeGreaterThan(0);
  for (const folder of references) expect(copied).toContain(folder);
});

it('does not run as root', () => {
  const last = DOCKERFILE.split(/^FROM /m).at(-1);
  expect(last).toMatch(/^USER ebrc$/m);
});
