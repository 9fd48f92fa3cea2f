import type { z } from 'zod';
import * as values from './values';

const { MINUTE, HOUR, DAY } = values;

/** How to read each variable, and the text that stands for an unset one (none: it has to be given). */
export const VARIABLES = {
  EBRC_API_URL: { value: values.apiUrl },
  EBRC_API_KEY: { value: values.apiKey },
  EBRC_MODE: { value: values.mode },
  EBRC_EXTRACTION_URL: { value: values.extractionUrl },
  EBRC_EXTRACTION_KEY: { value: values.headerKey },
  EBRC_EXTRACTION_MAPPING: { value: values.filePath },
  EBRC_EXTRACTION_VERSION: { value: values.word, default: '1' },
  DATABASE_URL: { value: values.databaseUrl },
  EBRC_CACHED_WORKFLOWS: { value: values.cachedWorkflows, default: '50' },
  EBRC_TASK_QUEUE: { value: values.taskQueue, default: 'ebrc' },
  EBRC_ENCRYPTION_KEY: { value: values.encryptionKeys },
  EBRC_PAYLOAD_KEY: { value: values.encryptionKeys },
  EBRC_DOCUMENTS: { value: values.documents },
  EBRC_METRICS: { value: values.listenAddress },
  EBRC_TOKEN: { value: values.token },
  EBRC_HTTP: { value: values.listenAddress, default: '127.0.0.1:8080' },
  EBRC_HEALTH: { value: values.listenAddress },
  OTEL_EXPORTER_OTLP_ENDPOINT: { value: values.otlpEndpoint },
  EBRC_DEPLOYMENT: { value: values.word },
  EBRC_BUILD_ID: { value: values.word },
  EBRC_CODEC_TOKEN: { value: values.headerKey },
  EBRC_CODEC_ORIGINS: { value: values.origins, default: '' },
  EBRC_POLL_FIRST: { value: values.duration(0, 7 * DAY), default: '15m' },
  EBRC_POLL_MIN: { value: values.duration(100, 7 * DAY), default: '2m' },
  EBRC_POLL_MAX: { value: values.duration(100, 7 * DAY), default: '15m' },
  EBRC_OVERDUE_AFTER: { value: values.duration(1_000, 365 * DAY), default: '4h' },
  EBRC_SETTLE_AFTER: { value: values.duration(1_000, 365 * DAY), default: '4h' },
  EBRC_SINGLE_PERSON: { value: values.yes },
  EBRC_SCHEDULES: { value: values.filePath },
  EBRC_TEMPORAL_UI: { value: values.temporalUi },
  EBRC_HTTP_TIMEOUT: { value: values.duration(100, 10 * MINUTE), default: '60s' },
  EBRC_RATE_WINDOW: { value: values.duration(100, HOUR), default: '60s' },
  LOG_LEVEL: { value: values.logLevel, default: 'info' },
} as const satisfies Record<string, { value: z.ZodType<unknown, string>; default?: string }>;

export type Variable = keyof typeof VARIABLES;
export type ValueOf<V extends Variable> = z.output<(typeof VARIABLES)[V]['value']>;
