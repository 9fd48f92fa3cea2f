import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { z } from 'zod';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../domain/dates';
import * as values from './values';

/** How to parse each variable, and its default text, if any. A secret may also be given as NAME_FILE. */
export const VARIABLES = {
  EBRC_API_URL: { value: values.apiUrl },
  EBRC_API_KEY: { value: values.apiKey, secret: true },
  EBRC_MODE: { value: values.mode },
  EBRC_EXTRACTION_URL: { value: values.webAddress },
  EBRC_EXTRACTION_KEY: { value: values.headerKey, secret: true },
  EBRC_EXTRACTION_MAPPING: { value: values.filePath },
  EBRC_EXTRACTION_VERSION: { value: values.word, default: '1' },
  DATABASE_URL: { value: values.databaseUrl, secret: true },
  DATABASE_POOL: { value: values.databasePool, default: '8' },
  EBRC_CACHED_WORKFLOWS: { value: values.cachedWorkflows, default: '50' },
  EBRC_TASK_QUEUE: { value: values.taskQueue, default: 'ebrc' },
  EBRC_ENCRYPTION_KEY: { value: values.encryptionKeys, secret: true },
  EBRC_PAYLOADS: { value: values.payloads },
  EBRC_PAYLOAD_KEY: { value: values.encryptionKeys, secret: true },
  EBRC_DOCUMENTS: { value: values.documents, default: './documents' },
  EBRC_METRICS: { value: values.listenAddress },
  EBRC_TOKEN: { value: values.token, secret: true },
  EBRC_HTTP: { value: values.listenAddress, default: '127.0.0.1:8080' },
  EBRC_PAGES: { value: values.yes },
  EBRC_PAGES_URL: { value: values.pagesUrl },
  EBRC_OIDC_ISSUER: { value: values.issuer },
  EBRC_OIDC_CLIENT_ID: { value: values.claim },
  EBRC_OIDC_CLIENT_SECRET: { value: values.headerKey, secret: true },
  EBRC_OIDC_ROLE_CLAIM: { value: values.claim, default: 'ebrc_roles' },
  EBRC_WEBHOOK_HOSTS: { value: values.hosts, default: '' },
  EBRC_HEALTH: { value: values.listenAddress },
  OTEL_EXPORTER_OTLP_ENDPOINT: { value: values.webAddress },
  EBRC_DEPLOYMENT: { value: values.word },
  EBRC_BUILD_ID: { value: values.word },
  EBRC_CODEC_TOKEN: { value: values.headerKey, secret: true },
  EBRC_CODEC_ORIGINS: { value: values.origins, default: '' },
  TEMPORAL_API_KEY: { value: values.headerKey, secret: true },
  EBRC_POLL_FIRST: { value: values.duration(0, 7 * DAY_MS), default: '15m' },
  EBRC_POLL_MIN: { value: values.duration(100, 7 * DAY_MS), default: '2m' },
  EBRC_POLL_MAX: { value: values.duration(100, 7 * DAY_MS), default: '15m' },
  EBRC_OVERDUE_AFTER: { value: values.duration(1_000, 365 * DAY_MS), default: '4h' },
  EBRC_SETTLE_AFTER: { value: values.duration(1_000, 365 * DAY_MS), default: '4h' },
  EBRC_HISTORY: { value: values.duration(DAY_MS, 3_650 * DAY_MS), default: '550d' },
  EBRC_CANCEL_WITHIN: { value: values.duration(DAY_MS, 3_650 * DAY_MS), default: '120d' },
  EBRC_QUOTA_CERTIFICATES: { value: values.quota, default: '250' },
  EBRC_QUOTA_EXPORTERS: { value: values.quota, default: '10' },
  EBRC_SINGLE_PERSON: { value: values.yes },
  EBRC_SCHEDULES: { value: values.filePath },
  EBRC_TEMPORAL_UI: { value: values.webAddress },
  EBRC_HTTP_TIMEOUT: { value: values.duration(100, 10 * MINUTE_MS), default: '60s' },
  EBRC_RATE_WINDOW: { value: values.duration(100, HOUR_MS), default: '60s' },
  LOG_LEVEL: { value: values.logLevel, default: 'info' },
} as const satisfies Record<string, { value: z.ZodType<unknown, string>; default?: string; secret?: true }>;

type Variable = keyof typeof VARIABLES;
type ValueOf<V extends Variable> = z.output<(typeof VARIABLES)[V]['value']>;

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ConfigProblem {
  variable: string;
  /** What is wrong and what is allowed. */
  problem: string;
}

/** Reads variables one by one and collects their problems. */
export interface Reader {
  /** The value or its default; undefined if unset, or if wrong, which is reported. */
  optional<V extends Variable>(name: V): ValueOf<V> | undefined;
  /** As `optional`, but reports `missing` if the variable is unset and has no default. */
  required<V extends Variable>(name: V, missing?: string): ValueOf<V> | undefined;
  /** Whether the variable has a text, even an invalid one. */
  isSet(name: Variable): boolean;
  report(variable: string, problem: string): void;
  problems(): ConfigProblem[];
}

export function createReader(env: Environment): Reader {
  const problems = new Map<string, string>();
  const report = (variable: string, problem: string) => {
    if (!problems.has(variable)) problems.set(variable, problem);
  };
  /** The text of a variable; `problem` if its file cannot be read. */
  const lookUp = (name: Variable): { text?: string; problem?: string; file?: string } => {
    const { default: byDefault, secret } = VARIABLES[name] as { default?: string; secret?: true };
    const text = env[name]?.trim();
    const file = secret && env[`${name}_FILE`]?.trim();
    if (text && file) report(`${name}_FILE`, `is set, and so is ${name}; allowed: one of them`);
    if (text || !file) return { text: text || byDefault };
    const read = readSecretFile(file);
    if ('problem' in read) report(`${name}_FILE`, read.problem);
    return { ...read, file };
  };
  const lookedUp = new Map<Variable, ReturnType<typeof lookUp>>();
  const textOf = (name: Variable) => {
    const found = lookedUp.get(name) ?? lookUp(name);
    lookedUp.set(name, found);
    return found;
  };
  const optional = <V extends Variable>(name: V): ValueOf<V> | undefined => {
    const { text } = textOf(name);
    if (!text) return undefined;
    const read = VARIABLES[name].value.safeParse(text);
    if (read.success) return read.data as ValueOf<V>;
    report(name, read.error.issues[0]?.message ?? 'cannot be read');
    return undefined;
  };
  return {
    optional,
    required: (name, missing = 'is missing') => {
      const { text, problem, file } = textOf(name);
      if (!text && !problem) report(name, file ? `is missing: ${file} is empty` : missing);
      return optional(name);
    },
    isSet: (name) => Boolean(textOf(name).text ?? textOf(name).problem),
    report,
    problems: () => [...problems].map(([variable, problem]) => ({ variable, problem })),
  };
}

/** The content of a secret's file, or the problem with the file, without its content. */
function readSecretFile(file: string): { text: string } | { problem: string } {
  const path = resolve(file);
  try {
    return { text: readFileSync(path, 'utf8').trim() };
  } catch (error) {
    return { problem: `names ${path}, ${reasonOf(path, error)}; allowed: a file that this process may read` };
  }
}

function reasonOf(path: string, error: unknown): string {
  const { code = 'an unknown error' } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'which does not exist';
  if (code === 'EISDIR') return 'which is a folder (Docker makes one where the file to mount does not exist)';
  if (code !== 'EACCES') return `which cannot be read (${code})`;
  const who = `user ${process.geteuid?.() ?? '?'}, group ${process.getegid?.() ?? '?'}`;
  try {
    const { mode, uid, gid } = statSync(path);
    const octal = (mode & 0o7777).toString(8).padStart(4, '0');
    return `which ${who} may not read: it belongs to user ${uid}, group ${gid}, with mode ${octal}`;
  } catch {
    return `in a folder that ${who} may not enter`;
  }
}
