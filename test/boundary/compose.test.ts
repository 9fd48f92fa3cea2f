import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { VARIABLES, loadConfig } from '../../src/config/config';
import { SEARCH_ATTRIBUTES } from '../../src/domain/search-attributes';
import { shutdownTimes } from '../../src/worker/shutdown';
import { ROOT, readProject } from './project';

interface Service {
  image: string;
  command?: string[];
  build?: { context: string; dockerfile: string };
  environment?: Record<string, string>;
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
const compose = parse(text, { merge: true }) as { services: Record<string, Service>; volumes: Record<string, unknown> };
const services = Object.entries(compose.services);
const service = (name: string): Service => {
  const found = compose.services[name];
  if (!found) throw new Error(`there is no service ${name}`);
  return found;
};

/** The value that a `${NAME:-default}` has where nothing is set. */
const byDefault = (value: string) => value.replace(/\$\{\w+:-([^}]*)\}/g, '$1');

it('has the parts that the service needs', () => {
  const of = (profile: string) =>
    services.flatMap(([name, { profiles }]) => (profiles.includes(profile) ? [name] : []));
  expect(of('sandbox').sort()).toEqual(
    [
      ...['postgres', 'temporal', 'temporal-namespace', 'temporal-schema', 'temporal-ui'],
      ...['ledger-migrate', 'sandbox', 'worker-sandbox', 'door-sandbox'],
    ].sort(),
  );
  expect(of('production').sort()).toEqual(['door', 'worker']);
  expect(of('monitoring').sort()).toEqual(['grafana', 'prometheus']);
  expect(services.filter(([, { profiles }]) => profiles.length !== 1)).toEqual([]);
});

it('pins every image to a version', () => {
  for (const [name, { image }] of services)
    expect([name, image]).toEqual([name, expect.stringMatching(/:v?\d+\.\d+[\w.-]*$/)]);
  const bases = [...readProject('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  expect(new Set(bases).size).toBe(1);
  expect(bases[0]).toMatch(/^node:\d+\.\d+\.\d+-/);
});

it('names the image after the version of the package', () => {
  const { version } = JSON.parse(readProject('package.json')) as { version: string };
  expect([service('worker').image, service('sandbox').image]).toEqual([
    `ebrc-worker:${version}`,
    `ebrc-worker:${version}`,
  ]);
});

it('checks the health of everything that stays up, and waits for what it needs', () => {
  const waitedFor = services.flatMap(([, { depends_on = {} }]) => Object.entries(depends_on));
  for (const [name, { condition }] of waitedFor) {
    const ends = condition === 'service_completed_successfully';
    expect([name, ends || service(name).healthcheck !== undefined]).toEqual([name, true]);
  }
  const staysUp = services.filter(
    ([name]) => !['temporal-schema', 'temporal-namespace', 'ledger-migrate'].includes(name),
  );
  for (const [name, { healthcheck }] of staysUp) expect([name, Boolean(healthcheck)]).toEqual([name, true]);
});

it('mounts and builds what the project has', () => {
  const volumes = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')[0] ?? ''));
  for (const source of volumes) {
    if (source.startsWith('.')) expect([source, existsSync(join(ROOT, source))]).toEqual([source, true]);
    else expect(Object.keys(compose.volumes)).toContain(source);
  }
  const { build } = service('worker');
  expect(existsSync(join(ROOT, build?.context ?? '', build?.dockerfile ?? ''))).toBe(true);
  for (const script of ['create-schema.sh', 'create-namespace.sh', 'dynamic-config.yaml']) {
    expect(existsSync(join(ROOT, 'docker/temporal', script))).toBe(true);
    expect(text).toContain(`/${script}`);
  }
});

it('runs programs that the build makes', () => {
  for (const [name, { image, command = [], healthcheck }] of services) {
    if (!image.startsWith('ebrc-worker:')) continue;
    const programs = [...command, ...(healthcheck?.test ?? [])].filter((word) => word.startsWith('dist/'));
    expect([name, programs.length > 0]).toEqual([name, true]);
    for (const program of programs) {
      const source = program.replace(/^dist\//, 'src/').replace(/\.js$/, '.ts');
      expect([source, existsSync(join(ROOT, source))]).toEqual([source, true]);
    }
  }
});

it('starts the sandbox with options that it has', () => {
  const options = (service('sandbox').command ?? []).filter((word) => word.startsWith('--'));
  const command = readProject('src/starter/cli/commands/operations/sandbox.ts');
  for (const option of options) expect([option, command.includes(`'${option} <`)]).toEqual([option, true]);
});

it('gives the worker an environment that it starts with', () => {
  const environment = Object.fromEntries(
    Object.entries(service('worker-sandbox').environment ?? {}).map(([name, value]) => [name, byDefault(value)]),
  );
  const known = [...Object.keys(VARIABLES), 'TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE'];
  for (const name of Object.keys(environment)) expect(known).toContain(name);
  const config = loadConfig({ ...environment, HOME: '/nonexistent' });

  // Every address names a service of this file and the port that it listens on.
  expect(new URL(config.apiUrl).hostname).toBe('sandbox');
  expect(service('sandbox').command).toContain(new URL(config.apiUrl).port);
  expect(service('sandbox').ports).toEqual([expect.stringMatching(new RegExp(`:${new URL(config.apiUrl).port}$`))]);
  expect(config.temporal.address).toBe('temporal:7233');
  expect(service('temporal').ports).toEqual([expect.stringMatching(/:7233$/)]);
  const database = new URL(config.databaseUrl);
  expect([database.hostname, database.port]).toEqual(['postgres', '5432']);
  const ledger = readProject('docker/postgres/create-ledger.sql');
  expect(ledger).toContain(`CREATE USER ${database.username} PASSWORD '${database.password}' IN ROLE ebrc_run`);
  const owner = new URL(service('ledger-migrate').environment?.['DATABASE_URL'] ?? '');
  expect(ledger).toContain(`CREATE USER ${owner.username} PASSWORD '${owner.password}' IN ROLE ebrc_migrate`);
  expect(ledger).toContain(`CREATE DATABASE ${database.pathname.slice(1)} OWNER ${owner.username}`);
  const temporal = service('temporal').environment ?? {};
  expect(ledger).toContain(`CREATE USER ${temporal['POSTGRES_USER']} PASSWORD '${temporal['POSTGRES_PWD']}'`);
  expect(service('worker-sandbox').volumes).toEqual([`documents:${config.documents}`]);
  expect(readProject('Dockerfile')).toContain(config.documents);
});

it('gives the production worker no setting of the sandbox, and its secrets as files', () => {
  const { environment = {}, secrets = [], entrypoint, depends_on } = service('worker');
  expect(depends_on).toBeUndefined();
  expect(Object.values(environment).join(' ')).not.toMatch(/sandbox|postgres:/);
  expect(secrets).toEqual(['DATABASE_URL', 'EBRC_API_KEY', 'EBRC_ENCRYPTION_KEY', 'TEMPORAL_API_KEY']);
  for (const name of secrets) expect(environment).not.toHaveProperty(name);
  expect(entrypoint?.at(-1)).toBe('/ebrc/with-secrets.sh');
  const given = {
    EBRC_API_URL: 'https://api.example/api/v1',
    EBRC_API_KEY: 'prod_key',
    EBRC_ENCRYPTION_KEY: `k1:${createHash('sha256').update('drawn').digest('base64')}`,
    DATABASE_URL: 'postgres://w:p@db.example/ebrc?sslmode=verify-full',
    TEMPORAL_ADDRESS: 'temporal.example:7233',
  };
  const read = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, byDefault(value)]));
  expect(loadConfig({ ...read, ...given, HOME: '/nonexistent' })).toMatchObject({ mode: 'live' });
});

it('makes a variable of every secret file, and keeps the program in its place', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-secrets-'));
  try {
    await writeFile(join(folder, 'EBRC_API_KEY'), 'dev_a "b" $c\n');
    await writeFile(join(folder, 'TEMPORAL_API_KEY'), '');
    const script = readProject('docker/worker/with-secrets.sh').replaceAll('/run/secrets', folder);
    const show =
      'process.stdout.write(JSON.stringify([process.env.EBRC_API_KEY, process.env.TEMPORAL_API_KEY ?? null]))';
    const { stdout } = await promisify(execFile)(
      '/bin/sh',
      ['-c', script, 'with-secrets', process.execPath, '-e', show],
      {
        env: { PATH: process.env['PATH'] },
      },
    );
    expect(JSON.parse(stdout)).toEqual(['dev_a "b" $c', null]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('locks our own programs, and bounds the logs of all', () => {
  for (const [name, { logging }] of services) expect([name, logging !== undefined]).toEqual([name, true]);
  for (const name of ['worker', 'worker-sandbox', 'sandbox', 'ledger-migrate', 'prometheus', 'grafana']) {
    const { read_only, cap_drop, security_opt, ulimits } = service(name);
    expect([name, ulimits]).toEqual([name, { core: 0 }]);
    expect([name, read_only, cap_drop, security_opt]).toEqual([name, true, ['ALL'], ['no-new-privileges:true']]);
  }
});

it('shows a Kubernetes deployment that ends in time and asks the right paths', () => {
  const { spec } = parse(readProject('ops/kubernetes.yaml')) as {
    spec: {
      template: {
        spec: {
          terminationGracePeriodSeconds: number;
          containers: {
            env: { name: string; value: string }[];
            livenessProbe: { httpGet: { path: string } };
            readinessProbe: { httpGet: { path: string } };
          }[];
        };
      };
    };
  };
  const { terminationGracePeriodSeconds: grace, containers } = spec.template.spec;
  const { httpTimeoutMs } = loadConfig({}, { need: ['tuning'] });
  expect(grace * 1_000).toBeGreaterThan(shutdownTimes(httpTimeoutMs).boundMs);
  expect(containers.map(({ livenessProbe, readinessProbe }) => [livenessProbe, readinessProbe])).toMatchObject([
    [{ httpGet: { path: '/healthz' } }, { httpGet: { path: '/readyz' } }],
  ]);
  const known = [...Object.keys(VARIABLES), 'TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'TEMPORAL_TLS', 'AWS_REGION'];
  for (const { name } of containers[0]?.env ?? []) expect(known).toContain(name);
});

it('asks the worker for its readiness where it answers', () => {
  const asked = [service('worker').healthcheck?.test?.at(-1), readProject('Dockerfile')];
  const address = service('worker').environment?.['EBRC_HEALTH'] ?? 'none';
  for (const text of asked) expect(text).toContain(`http://${address}/readyz`);
  expect(readProject('Dockerfile')).toContain(`EBRC_HEALTH=${address}`);
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
  const copied = [...readProject('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources]) =>
    (sources ?? '').split(' '),
  );
  expect([...copied].sort()).toEqual([...kept].sort());
  for (const path of copied) expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
});

it('does not run as root', () => {
  const last = readProject('Dockerfile')
    .split(/^FROM /m)
    .at(-1);
  expect(last).toMatch(/^USER node$/m);
});
