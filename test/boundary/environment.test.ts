import { parseEnv } from 'node:util';
import { VARIABLES, loadConfig } from '../../src/config/config';
import { readProject, ROOT, anchorsOf } from './project';
import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { join, dirname } from 'node:path';
import ts from 'typescript';
import { LOG_FIELDS } from '../../src/telemetry/log-fields';
import { execFileSync } from 'node:child_process';

/** What users configure other systems with: a name that goes missing here breaks them. */
const CONTRACT = `
  EBRC_API_URL EBRC_API_KEY EBRC_MODE EBRC_EXTRACTION_URL EBRC_EXTRACTION_KEY EBRC_EXTRACTION_MAPPING
  EBRC_EXTRACTION_VERSION DATABASE_URL DATABASE_POOL TEMPORAL_ADDRESS TEMPORAL_NAMESPACE TEMPORAL_API_KEY
  TEMPORAL_TLS TEMPORAL_PROFILE EBRC_TASK_QUEUE EBRC_ENCRYPTION_KEY EBRC_PAYLOAD_KEY EBRC_PAYLOADS EBRC_CODEC_ORIGINS
  EBRC_CODEC_TOKEN EBRC_DOCUMENTS EBRC_SCHEDULES EBRC_TEMPORAL_UI EBRC_POLL_FIRST EBRC_POLL_MIN EBRC_POLL_MAX
  EBRC_OVERDUE_AFTER EBRC_SETTLE_AFTER EBRC_HISTORY EBRC_SINGLE_PERSON EBRC_HTTP_TIMEOUT EBRC_RATE_WINDOW EBRC_DEPLOYMENT
  EBRC_CANCEL_WITHIN EBRC_QUOTA_CERTIFICATES EBRC_QUOTA_EXPORTERS EBRC_BUILD_ID EBRC_CACHED_WORKFLOWS EBRC_METRICS EBRC_HEALTH EBRC_HTTP EBRC_PAGES EBRC_PAGES_URL EBRC_OIDC_ISSUER EBRC_OIDC_CLIENT_ID EBRC_OIDC_CLIENT_SECRET
  EBRC_OIDC_ROLE_CLAIM EBRC_TOKEN EBRC_WEBHOOK_HOSTS OTEL_EXPORTER_OTLP_ENDPOINT
  LOG_LEVEL
`
  .trim()
  .split(/\s+/u);

const example = parseEnv(readProject('.env.example')) as Record<string, string>;

it('shows every variable in .env.example, and no other', () => {
  expect(Object.keys(example).sort()).toEqual([...CONTRACT].sort());
});

it('reads every variable of its own in config.ts; the ones of Temporal, but its key, are read by its library', () => {
  const own = CONTRACT.filter((name) => !name.startsWith('TEMPORAL_') || name === 'TEMPORAL_API_KEY');
  expect(Object.keys(VARIABLES).sort()).toEqual(own.sort());
});

it('starts with .env.example as it is', () => {
  expect(loadConfig({ ...example, HOME: '/nonexistent' })).toMatchObject({ mode: 'test', taskQueue: 'ebrc' });
});

it('shows the defaults that config.ts has', () => {
  for (const [name, variable] of Object.entries(VARIABLES)) {
    if ('default' in variable) expect([name, example[name]]).toEqual([name, variable.default]);
  }
});

const LEVELS = new Set(['debug', 'info', 'warn', 'error', 'fatal']);

/** What a source gives to a logger, each with its file: the names of fields, and messages that are no constant text. */
function loggedBy(file: string): { fields: string[]; composed: string[] } {
  const source = ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.ES2022, true);
  const found: string[] = [];
  const composed: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression, name } = node.expression;
      const [fields, second] = node.arguments;
      // Workflows give the message first.
      const message = fields && ts.isStringLiteralLike(fields) ? fields : (second ?? fields);
      const isLogger = /(^|\.)(logger|log)$/u.test(expression.getText(source).replace(/\?$/u, ''));
      if (isLogger && LEVELS.has(name.text) && fields && ts.isObjectLiteralExpression(fields)) {
        found.push(...fields.properties.flatMap((each) => (each.name ? [each.name.getText(source)] : [])));
      }
      if (isLogger && LEVELS.has(name.text) && message && !isConstant(message)) composed.push(message.getText(source));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const of = (texts: string[]) => texts.map((text) => `${file}: ${text}`);
  return { fields: of(found), composed: of(composed) };
}

/** A message is one of a few texts, so that nothing of a filing can be in it; what it is about are fields. */
function isConstant(message: ts.Expression): boolean {
  if (ts.isConditionalExpression(message)) return isConstant(message.whenTrue) && isConstant(message.whenFalse);
  if (ts.isBinaryExpression(message)) return isConstant(message.left) && isConstant(message.right);
  return ts.isStringLiteralLike(message);
}

const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/^sandbox\//u.test(name))
  .map((name) => `src/${name}`);

it('allows every field that the worker logs to leave', () => {
  const logged = files.filter((name) => !name.startsWith('src/workflows/')).flatMap((file) => loggedBy(file).fields);
  expect(logged.length).toBeGreaterThan(40);
  const refused = logged.filter((each) => !LOG_FIELDS.has(each.split(': ')[1] ?? '') && !each.endsWith(': err'));
  expect(refused).toEqual([]);
});

it('logs constant texts: what they are about stands in fields', () => {
  expect(files.flatMap((file) => loggedBy(file).composed)).toEqual([]);
});

const tracked = (pattern: string) =>
  execFileSync('git', ['ls-files', '--', pattern], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
const pages = tracked('*.md');
const NAMED_PATH = /`((?:src|test|docs|ops|model|bench|chaos|scripts|dev|schemas|migrations|examples)\/[\w./-]+)`/g;

it.each(pages)('%s links to files and sections that exist', (page) => {
  const broken = [...readProject(page).matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]*))?\)/g)]
    .map(([, path = '', anchor]) => ({ path: path === '' ? page : join(dirname(page), path), anchor }))
    .filter(
      ({ path, anchor }) => !existsSync(join(ROOT, path)) || (anchor !== undefined && !anchorsOf(path).has(anchor)),
    );
  expect(broken).toEqual([]);
});

it.each(pages)('%s names paths of the project that exist', (page) => {
  const named = [...readProject(page).matchAll(NAMED_PATH)].map(([, path = '']) => path);
  const found = (path: string) => ['', '.ts', '.test.ts'].some((end) => existsSync(join(ROOT, path + end)));
  expect(named.filter((path) => !found(path))).toEqual([]);
});
