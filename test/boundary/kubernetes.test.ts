/** The manifests: checked against Kubernetes' own types, and put together by kustomize where kubectl is installed. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../src/config/config';
import { shutdownTimes, START_WITHIN_MS } from '../../src/worker/lifecycle';
import { ROOT, readProject } from './project';

const FOLDER = 'ops/kubernetes';

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  automountServiceAccountToken?: boolean;
  spec?: { template?: { spec: PodSpec }; podSelector?: unknown; selector?: unknown };
}
interface PodSpec {
  terminationGracePeriodSeconds?: number;
  serviceAccountName?: string;
  containers: {
    image: string;
    command?: string[];
    env?: { name: string; value: string }[];
    startupProbe?: { httpGet: { path: string }; periodSeconds: number; failureThreshold: number };
    readinessProbe?: { httpGet: { path: string } };
    livenessProbe?: { httpGet: { path: string } };
    securityContext: unknown;
  }[];
  volumes: { name: string; secret?: SecretSource; projected?: { sources: { secret: SecretSource }[] } }[];
}
interface SecretSource {
  optional?: boolean;
  items?: { key: string; path: string }[];
}

const manifestsOf = (yaml: string) =>
  // As kubectl reads it: 0440 is a number in octal.
  parseAllDocuments(yaml, { version: '1.1' }).map((each) => each.toJS() as Manifest);

const files = ['base', 'overlays/sandbox', 'overlays/production'].flatMap((folder) =>
  readdirSync(join(ROOT, FOLDER, folder))
    .filter((name) => name !== 'kustomization.yaml')
    .map((name) => `${folder}/${name}`),
);
const manifests = files.flatMap((file) => manifestsOf(readProject(`${FOLDER}/${file}`)));
const podOf = (name: string): PodSpec => {
  const found = manifests.find((each) => each.metadata.name === name && each.spec?.template);
  if (!found?.spec?.template) throw new Error(`there are no pods of ${name}`);
  return found.spec.template.spec;
};

/** Where `kubernetes-types` has a kind; what extends Kubernetes is not in it. */
const moduleOf = ({ apiVersion }: Manifest) =>
  `kubernetes-types/${apiVersion === 'v1' ? 'core/v1' : apiVersion.replace('.k8s.io', '')}`;

/** What the compiler says of manifests that are written as objects of their types: wrong types and unknown fields. */
function compilerErrors(list: readonly Manifest[]): string[] {
  const lines = list.map((each, nth) => {
    const type = `import('${moduleOf(each)}').${each.kind}`;
    return `export const m${nth}: ${type} = ${JSON.stringify(each)};`;
  });
  const name = join(ROOT, 'manifests.ts');
  const options: ts.CompilerOptions = { strict: true, noEmit: true, skipLibCheck: true, types: [] };
  const host = ts.createCompilerHost(options);
  const getSourceFile = host.getSourceFile.bind(host);
  host.getSourceFile = (path, ...rest) =>
    path === name ? ts.createSourceFile(path, lines.join('\n'), ts.ScriptTarget.ES2022) : getSourceFile(path, ...rest);
  const program = ts.createProgram([name], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

it('has manifests of the types of Kubernetes', async () => {
  const builtIn = manifests.filter(({ kind }) => kind !== 'PodMonitor');
  expect(builtIn.length).toBeGreaterThan(12);
  expect(compilerErrors(builtIn)).toEqual([]);
  const [worker] = builtIn.filter(({ metadata }) => metadata.name === 'ebrc-worker');
  const wrong = { ...worker, spec: { ...worker?.spec, replica: 2 } } as unknown as Manifest;
  expect(compilerErrors([wrong])).toEqual([expect.stringContaining('replica')]);

  for (const overlay of ['sandbox', 'production']) {
    const rendered = await promisify(execFile)('kubectl', ['kustomize', join(ROOT, FOLDER, 'overlays', overlay)]).catch(
      (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? null : Promise.reject(error)),
    );
    if (!rendered) {
      process.stderr.write('kubectl is not installed: the overlays were not put together.\n');
      return;
    }
    const all = manifestsOf(rendered.stdout);
    expect(compilerErrors(all.filter(({ kind }) => kind !== 'PodMonitor'))).toEqual([]);
    const { version } = JSON.parse(readProject('package.json')) as { version: string };
    const images = all.flatMap(({ spec }) => spec?.template?.spec.containers.map(({ image }) => image) ?? []);
    const withRole = all.filter(({ kind, metadata }) => kind === 'ServiceAccount' && metadata.annotations);
    const ofDocuments = overlay === 'production' ? ['ebrc-http-api', 'ebrc-worker'] : [];
    expect(withRole.map(({ metadata }) => metadata.name).sort()).toEqual(ofDocuments);
    const registry = overlay === 'production' ? 'registry.example/' : '';
    expect(new Set(images)).toEqual(new Set([`${registry}ebrc-worker:${version}`]));
  }
});

it('gives a worker the time that it takes to start and to end, and asks the right paths', () => {
  const { terminationGracePeriodSeconds: grace = 0, containers } = podOf('ebrc-worker');
  const { httpTimeoutMs } = loadConfig({}, { need: ['tuning'] });
  expect(grace * 1_000).toBeGreaterThan(shutdownTimes(httpTimeoutMs).boundMs);
  const [worker] = containers;
  const { periodSeconds = 0, failureThreshold = 0 } = worker?.startupProbe ?? {};
  expect(periodSeconds * failureThreshold * 1_000).toBeGreaterThan(3 * START_WITHIN_MS);
  expect(worker).toMatchObject({
    startupProbe: { httpGet: { path: '/startedz' } },
    readinessProbe: { httpGet: { path: '/readyz' } },
    livenessProbe: { httpGet: { path: '/healthz' } },
  });
});

it('starts with a configuration that it takes, and gives the keys of the service and of passwords to workers alone', () => {
  const overlay = parse(readProject(`${FOLDER}/overlays/production/kustomization.yaml`)) as {
    configMapGenerator: { literals: string[] }[];
  };
  const literals = overlay.configMapGenerator.flatMap((each) => each.literals);
  const settings = Object.fromEntries(literals.map((each) => each.split(/=(.*)/s).slice(0, 2)));
  const env = (podOf('ebrc-worker').containers[0]?.env ?? []).filter(({ name }) => !name.endsWith('_FILE'));
  const given = {
    DATABASE_URL: 'postgres://w:p@db.example/ebrc?sslmode=verify-full',
    EBRC_API_KEY: 'prod_key',
    EBRC_ENCRYPTION_KEY: `k1:${createHash('sha256').update('drawn').digest('base64')}`,
  };
  const config = loadConfig({
    ...settings,
    ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
    ...given,
  });
  expect(config).toMatchObject({ mode: 'live', observability: { health: { port: 9465 } } });

  /** A source without items is everything that the secret has. */
  const keysOf = (name: string, optional = false) =>
    podOf(name).volumes.flatMap(({ secret, projected }) =>
      [...(secret ? [secret] : []), ...(projected?.sources ?? []).map((each) => each.secret)]
        .filter((source) => Boolean(source.optional) === optional)
        .flatMap(({ items }) => items?.map(({ key, path }) => (key === path ? key : `${key} as ${path}`)) ?? ['all']),
    );
  const ofTemporal = ['TEMPORAL_API_KEY', 'temporal-client.pem', 'temporal-client.key'];
  const own = ['DATABASE_URL', 'EBRC_API_KEY', 'EBRC_ENCRYPTION_KEY', 'EBRC_PAYLOAD_KEY'];
  expect(keysOf('ebrc-worker')).toEqual(own);
  expect(keysOf('ebrc-worker', true)).toEqual(['EBRC_EXTRACTION_KEY', ...ofTemporal]);
  expect(keysOf('ebrc-http-api')).toEqual(['DATABASE_URL_SERVE', 'EBRC_PAYLOAD_KEY']);
  expect(keysOf('ebrc-http-api', true)).toEqual(['EBRC_OIDC_CLIENT_SECRET', ...ofTemporal]);
  expect([keysOf('ebrc-migrate'), keysOf('ebrc-migrate', true)]).toEqual([['DATABASE_URL_OWNER'], []]);
  // What the overlay says of them is where they are.
  const told = [
    ...readProject(`${FOLDER}/overlays/production/kustomization.yaml`).matchAll(/\/run\/secrets\/ebrc\/([\w.-]+)/g),
  ];
  expect(new Set(told.map(([, key]) => key))).toEqual(
    new Set(['EBRC_EXTRACTION_KEY', 'EBRC_OIDC_CLIENT_SECRET', ...ofTemporal]),
  );
  for (const name of ['ebrc-worker', 'ebrc-http-api', 'ebrc-migrate', 'ebrc-sandbox']) {
    expect(podOf(name)).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } });
    for (const { securityContext } of podOf(name).containers) {
      const locked = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
      expect(securityContext).toEqual(locked);
    }
  }
});

it('gives each program an account of its own, and none a token', () => {
  const accounts = manifests.filter(({ kind }) => kind === 'ServiceAccount');
  const programs = ['ebrc-worker', 'ebrc-http-api', 'ebrc-migrate'];
  expect(accounts.map(({ metadata }) => metadata.name)).toEqual(programs);
  for (const { automountServiceAccountToken } of accounts) expect(automountServiceAccountToken).toBe(false);
  for (const name of programs) expect(podOf(name).serviceAccountName).toBe(name);
});

it('lets no pod go where it likes: each has a policy for both directions, and namespaces enforce `restricted`', () => {
  const selected = (kind: string) =>
    manifests.filter((each) => each.kind === kind).map(({ spec }) => JSON.stringify(spec?.podSelector ?? null));
  const pods = manifests.filter(({ spec }) => spec?.template).map(({ metadata }) => metadata.name);
  for (const name of pods) expect(selected('NetworkPolicy')).toContain(JSON.stringify({ matchLabels: { app: name } }));
  for (const { kind, spec, metadata } of manifests) {
    const { policyTypes } = (spec ?? {}) as { policyTypes?: string[] };
    if (kind === 'NetworkPolicy')
      expect([metadata.name, policyTypes]).toEqual([metadata.name, expect.arrayContaining(['Egress'])]);
    const { labels = {} } = metadata as { labels?: Record<string, string> };
    if (kind === 'Namespace') expect(labels['pod-security.kubernetes.io/enforce']).toBe('restricted');
  }
  expect(manifests.filter(({ kind }) => kind === 'Namespace')).toHaveLength(2);
});
