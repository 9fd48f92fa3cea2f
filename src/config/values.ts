/** Parsers of the kinds of values. Messages say what is wrong and what is allowed, and never repeat a secret. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { isLoopbackHost, parseListenAddress, type ListenAddress } from './listen-address';
import { isS3, parseS3Location, S3_FORM } from '../documents/s3-location';
import { DURATION_FORM, formatDuration, parseDuration } from '../domain/dates';
import type { Mode } from '../domain/names';
import type { EncryptionKey } from '../encryption/keys';

function wrong(context: z.core.$RefinementCtx<string>, message: string): typeof z.NEVER {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

/** A text that matches `form`; the message for another one is the text and `problem`. */
const formed = (form: RegExp, problem: string) =>
  z.string().regex(form, { error: ({ input }) => `"${String(input)}" ${problem}` });

/** A duration in ms between two bounds, both included. */
export function duration(atLeastMs: number, atMostMs: number) {
  const bounds = `from ${formatDuration(atLeastMs)} to ${formatDuration(atMostMs)}`;
  return z.string().transform((text, context) => {
    const ms = parseDuration(text);
    if (ms === null) return wrong(context, `"${text}" is not a duration; allowed: ${DURATION_FORM}, ${bounds}`);
    if (ms < atLeastMs || ms > atMostMs) return wrong(context, `"${text}" is out of range; allowed: ${bounds}`);
    return ms;
  });
}

/** The root of the service: http or https, path ends in /api/v1. Removes a trailing slash. */
export const apiUrl = z.string().transform((text, context) => {
  const url = httpUrl(text);
  if (typeof url === 'string') return wrong(context, url);
  if (!url.pathname.replace(/\/$/, '').endsWith('/api/v1')) {
    return wrong(context, `"${text}" does not end in /api/v1; allowed: the API root, such as https://HOST/api/v1`);
  }
  return url.href.replace(/\/$/, '');
});

/** An http or https address. Removes a trailing slash. */
export const webAddress = z.string().transform((text, context) => {
  const url = httpUrl(text);
  return typeof url === 'string' ? wrong(context, url) : url.href.replace(/\/$/, '');
});

/** An issuer of OpenID Connect, exactly as it names itself: over TLS beyond this machine. */
export const issuer = z.string().transform((text, context) => {
  const url = httpUrl(text);
  if (typeof url === 'string') return wrong(context, url);
  return isTls(url) ? text : wrong(context, `"${text}" is not encrypted; allowed: an https address`);
});

/** Where people open the pages: an address without a path, over TLS beyond this machine. Removes a trailing slash. */
export const pagesUrl = z.string().transform((text, context) => {
  const url = httpUrl(text);
  if (typeof url === 'string') return wrong(context, url);
  if (url.pathname === '/' && isTls(url)) return url.origin;
  return wrong(context, `"${text}" cannot be used; allowed: https://HOST, without a path`);
});

const isTls = ({ protocol, hostname }: URL): boolean => protocol === 'https:' || isLoopbackHost(hostname);

/** The parsed address, or what is wrong with it. */
function httpUrl(text: string): URL | string {
  const allowed = 'allowed: an http or https address without user, query and fragment';
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol)) return `"${text}" is not a web address; ${allowed}`;
  // Do not repeat the text, because it may contain a password.
  if (url.username || url.password || url.search || url.hash) return `has a user, a query or a fragment; ${allowed}`;
  return url;
}

/** A key that can be sent in an HTTP header. */
export const headerKey = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'has characters that a key cannot have; allowed: the key alone, without spaces and quotes');

/** A principal's token. */
export const token = z
  .string()
  .regex(/^ebrc_(test|live)_[\w-]{43}$/, 'is no token; allowed: what `ebrc principals add` or `rotate` printed');

export const apiKey = headerKey
  .regex(/^(dev|prod)_/, 'has an unknown prefix; allowed: a key that starts with dev_ or prod_')
  .regex(/^[a-z]+_./, 'is a prefix without a key; allowed: a key that starts with dev_ or prod_');

/** A switch: `yes`, or unset. */
export const yes = formed(/^yes$/, 'is not allowed here; allowed: yes, or leave it out').transform(() => true);

export const mode = formed(/^(test|live)$/, 'is no mode; allowed: test or live').transform((text) => text as Mode);

export const payloads = formed(/^(encrypted|any)$/, 'is not allowed here; allowed: encrypted or any').transform(
  (text) => text as 'encrypted' | 'any',
);

export const databaseUrl = z.string().transform((text, context) => {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  if (protocol === 'postgres:' || protocol === 'postgresql:') return text;
  return wrong(
    context,
    'is not the address of a PostgreSQL database; allowed: postgres://USER:PASSWORD@HOST:PORT/DATABASE',
  );
});

export const taskQueue = formed(
  /^[\w./-]{1,100}$/,
  'cannot name a task queue; allowed: 1 to 100 letters, digits, and . _ / -',
);

/** An address `host:port` to listen on; IPv6 hosts in brackets. */
export const listenAddress = z.string().transform((text, context): ListenAddress | typeof z.NEVER => {
  const address = parseListenAddress(text);
  if (address) return address;
  return wrong(context, `"${text}" is not an address to listen on; allowed: host:port, such as 127.0.0.1:9464`);
});

/** The document store: a folder, as an absolute path, or a bucket, as `s3://…`. */
export const documents = z.string().transform((text, context) => {
  if (isS3(text)) {
    return parseS3Location(text)
      ? text
      : wrong(context, `"${text}" is not the address of a bucket; allowed: ${S3_FORM}`);
  }
  // A single letter before the colon is a Windows drive.
  if (!/^[a-z][a-z0-9+.-]+:/i.test(text)) return resolve(text);
  const allowed = 'allowed: a folder, a file: address of one such as file:///var/lib/ebrc, or s3://BUCKET/PREFIX';
  if (!text.startsWith('file:')) return wrong(context, `"${text}" cannot keep documents; ${allowed}`);
  try {
    return fileURLToPath(text);
  } catch {
    return wrong(context, `"${text}" is not the address of a local folder; ${allowed}`);
  }
});

/** Comma-separated web origins: scheme, host and port only. */
export const origins = z.string().transform((text, context) => {
  const list = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const wrongOne = list.find((part) => !URL.canParse(part) || new URL(part).origin !== part);
  if (wrongOne === undefined) return list;
  return wrong(
    context,
    `"${wrongOne}" is not an origin; allowed: http://HOST:PORT or https://HOST, several after commas`,
  );
});

/** Comma-separated names or addresses of hosts, without ports. */
export const hosts = z.string().transform((text, context) => {
  const list = text
    .toLowerCase()
    .split(',')
    .map((part) => part.trim().replace(/^\[|\]$/g, ''))
    .filter((part) => part !== '');
  const wrongOne = list.find((part) => !/^[\w.-]+$/.test(part) && !/^[0-9a-f:.]+$/.test(part));
  if (wrongOne === undefined) return list;
  return wrong(context, `"${wrongOne}" is not a host; allowed: names or addresses without ports, several after commas`);
});

/** The most parallel workflow tasks. With fewer cached workflows, runs and their local activities could be evicted. */
export const CONCURRENT_WORKFLOW_TASKS = 20;

/** An integer between two bounds, both included. */
function wholeNumber(atLeast: number, atMost: number) {
  return z.string().transform((text, context) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= atLeast && number <= atMost) return number;
    return wrong(context, `"${text}" cannot be used; allowed: a whole number from ${atLeast} to ${atMost}`);
  });
}

/** At least six: the leading worker keeps three connections, and one is for the health probe. */
export const databasePool = wholeNumber(6, 100);

export const quota = wholeNumber(1, 1_000_000_000);

export const cachedWorkflows = wholeNumber(CONCURRENT_WORKFLOW_TASKS, 100_000);

/** The name of a claim, which may be an address. */
export const claim = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, 'cannot be used; allowed: 1 to 200 letters, digits and signs without blanks');

/** A short ASCII text without white space. */
export const word = z
  .string()
  .regex(/^[\x21-\x7e]{1,50}$/, 'cannot be used; allowed: 1 to 50 letters, digits and signs without blanks');

/** A file's absolute path; relative paths start at the working directory. */
export const filePath = z.string().transform((text) => resolve(text));

/** Encryption keys as `keyId:base64-of-32-bytes`, comma-separated, the current key first. */
export const encryptionKeys = z.string().transform((text, context) => {
  const allowed = 'allowed: keyId:base64-of-32-bytes, older keys after commas (`openssl rand -base64 32` makes one)';
  const keys = text.split(',').map((entry) => encryptionKey(entry.trim()));
  const position = keys.indexOf(null);
  if (position >= 0) return wrong(context, `key ${position + 1} of ${keys.length} cannot be read; ${allowed}`);
  const found = keys.filter((key) => key !== null);
  const twice = found.find(({ id }, index) => found.findIndex((other) => other.id === id) !== index);
  if (twice) return wrong(context, `names two keys "${twice.id}"; allowed: each key id once`);
  return found as [EncryptionKey, ...EncryptionKey[]];
});

function encryptionKey(entry: string): EncryptionKey | null {
  const parts = /^([\w.-]{1,64}):([A-Za-z0-9+/]{43}=?)$/.exec(entry);
  const key = Buffer.from(parts?.[2] ?? '', 'base64');
  return parts?.[1] && key.length === 32 ? { id: parts[1], key } : null;
}

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export const logLevel = z.string().transform((text, context) => {
  const level = LOG_LEVELS.find((known) => known === text.toLowerCase());
  return level ?? wrong(context, `"${text}" is not a log level; allowed: ${LOG_LEVELS.join(', ')}`);
});
