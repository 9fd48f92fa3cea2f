import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { VARIABLES, loadConfig } from '../../src/config/config';
import { SEARCH_ATTRIBUTES } from '../../src/domain/names';
import { shutdownTimes } from '../../src/worker/shutdown';
import schema from './compose-spec.schema.json';
import { ROOT, readProject } from './project';

interface Service {
  image: string;
  command?: string[];
  build?: { context: string; dockerfile: string };
  environment?: Record<string, string>;
  ports?: string[];
  volumes?: string[];
  healthcheck?: { test: string[] };
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

const validate = (() => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  // Two formats of the schema's own, which say no more than "text".
  ajv.addFormat('ports', true).addFormat('expose', true);
  return ajv.compile(schema);
})();

it('is a Compose file by the specification, and a wrong one would not be', () => {
  validate(compose);
  expect(validate.errors).toBeNull();
  expect(validate({ services: { worker: { image: 'x', port: ['80:80'] } } })).toBe(false);
});

it('has the parts that the service needs', () => {
  expect(Object.keys(compose.services).sort()).toEqual(
    ['postgres', 'sandbox', 'temporal', 'temporal-namespace', 'temporal-schema', 'temporal-ui', 'worker'].sort(),
  );
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
  const staysUp = services.filter(([name]) => !['temporal-schema', 'temporal-namespace'].includes(name));
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
    Object.entries(service('worker').environment ?? {}).map(([name, value]) => [name, byDefault(value)]),
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
  expect(ledger).toContain(`CREATE USER ${database.username} PASSWORD '${database.password}'`);
  expect(ledger).toContain(`CREATE DATABASE ${database.pathname.slice(1)} OWNER ${database.username}`);
  expect(service('worker').volumes).toEqual([`documents:${config.documents}`]);
  expect(readProject('Dockerfile')).toContain(config.documents);
});

it('asks the worker for its readiness where it answers', () => {
  const asked = [service('worker').healthcheck?.test.at(-1), readProject('Dockerfile')];
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
