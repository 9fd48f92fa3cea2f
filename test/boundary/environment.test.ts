import { parseEnv } from 'node:util';
import { VARIABLES, loadConfig } from '../../src/config/config';
import { readProject } from './project';

/** What users configure other systems with: a name that goes missing here breaks them. */
const CONTRACT = [
  'EBRC_API_URL',
  'EBRC_API_KEY',
  'EBRC_MODE',
  'EBRC_EXTRACTION_URL',
  'EBRC_EXTRACTION_KEY',
  'EBRC_EXTRACTION_MAPPING',
  'EBRC_EXTRACTION_VERSION',
  'DATABASE_URL',
  'DATABASE_POOL',
  'TEMPORAL_ADDRESS',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS',
  'TEMPORAL_PROFILE',
  'EBRC_TASK_QUEUE',
  'EBRC_ENCRYPTION_KEY',
  'EBRC_PAYLOAD_KEY',
  'EBRC_CODEC_ORIGINS',
  'EBRC_CODEC_TOKEN',
  'EBRC_DOCUMENTS',
  'EBRC_SCHEDULES',
  'EBRC_TEMPORAL_UI',
  'EBRC_POLL_FIRST',
  'EBRC_POLL_MIN',
  'EBRC_POLL_MAX',
  'EBRC_OVERDUE_AFTER',
  'EBRC_SETTLE_AFTER',
  'EBRC_SINGLE_PERSON',
  'EBRC_HTTP_TIMEOUT',
  'EBRC_RATE_WINDOW',
  'EBRC_DEPLOYMENT',
  'EBRC_BUILD_ID',
  'EBRC_CACHED_WORKFLOWS',
  'EBRC_METRICS',
  'EBRC_HEALTH',
  'EBRC_HTTP',
  'EBRC_TOKEN',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'LOG_LEVEL',
];

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
