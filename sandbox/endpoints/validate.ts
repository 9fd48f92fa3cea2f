import { z } from 'zod';
import { isDdmmyyyy } from '../authority/calendar';
import { validationFailed } from '../http/problem';
import type { FastifyRequest } from 'fastify';

/** Collects the `field: text` strings of a validation answer, at most one for each field. */
export class FieldErrors {
  private readonly byField = new Map<string, string>();

  /** Adds an error of a field, unless it has one. */
  add(field: string, text: string): void {
    if (!this.byField.has(field)) this.byField.set(field, `${field}: ${text}`);
  }

  get list(): string[] {
    return [...this.byField.values()];
  }

  /** @throws Problem 400 `Validation failed` when there is an error */
  throwIfAny(): void {
    if (this.byField.size > 0) throw validationFailed(this.list);
  }
}

/** The body as a JSON object; anything else counts as an empty object, so that errors name the required fields. */
export function asObject(body: unknown): Record<string, unknown> {
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Record<string, unknown>) : {};
}

const uuid = z.guid();
/** The service accepts every valid address, with any Unicode characters. */
const emailAddress = z.email({ pattern: z.regexes.unicodeEmail });

export function isUuid(value: unknown): value is string {
  return uuid.safeParse(value).success;
}

export function isEmail(value: unknown): value is string {
  return emailAddress.safeParse(value).success;
}

/** A required, non-empty text; `''` and an entry in `errors` when it is not one. */
export function requiredText(body: Record<string, unknown>, field: string, errors: FieldErrors, path = field): string {
  const value = body[field];
  if (typeof value !== 'string') errors.add(path, `${field} must be a string`);
  else if (value.trim() === '') errors.add(path, `${field} should not be empty`);
  else return value;
  return '';
}

export function requiredUuid(body: Record<string, unknown>, field: string, errors: FieldErrors): string {
  const value = body[field];
  if (isUuid(value)) return value.toLowerCase();
  errors.add(field, `${field} must be a UUID`);
  return '';
}

export function requiredDate(body: Record<string, unknown>, field: string, errors: FieldErrors, path = field): string {
  const value = body[field];
  if (typeof value === 'string' && isDdmmyyyy(value)) return value;
  errors.add(path, `${field} must be a valid date in DDMMYYYY format`);
  return '';
}

export function oneOf<T extends string>(
  body: Record<string, unknown>,
  field: string,
  allowed: readonly T[],
  errors: FieldErrors,
  path = field,
): T {
  const value = body[field];
  const found = allowed.find((word) => word === value);
  if (found === undefined) errors.add(path, `${field} must be one of the following values: ${allowed.join(', ')}`);
  return found ?? (allowed[0] as T);
}

const PAGE_LIMIT_MAX = 100;

/** `page` (from 1) and `limit` (default 10, maximum 100) of a list endpoint. */
export function paging(query: Record<string, unknown>, errors: FieldErrors): { page: number; limit: number } {
  const page = wholeNumber(query['page'], 1);
  const limit = wholeNumber(query['limit'], 10);
  if (page === null || page < 1) errors.add('page', 'page must not be less than 1');
  if (limit === null || limit < 1) errors.add('limit', 'limit must not be less than 1');
  else if (limit > PAGE_LIMIT_MAX) errors.add('limit', `limit must not be greater than ${PAGE_LIMIT_MAX}`);
  return { page: page ?? 1, limit: limit ?? 10 };
}

/** One page of a list with the documented meta object. */
export function pageOf<T>(all: readonly T[], { page, limit }: { page: number; limit: number }) {
  return {
    data: all.slice((page - 1) * limit, page * limit),
    meta: { total: all.length, page, limit, totalPages: Math.ceil(all.length / limit) },
  };
}

function wholeNumber(value: unknown, whenAbsent: number): number | null {
  if (value === undefined) return whenAbsent;
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : null;
}

/** An uploaded `file` part; `tooLarge` when it was cut at the limit. */
export interface Upload {
  fileName: string;
  content: Buffer;
  tooLarge: boolean;
}

/** Reads the part `file` of a multipart body, up to one byte beyond a limit. Null when there is no such part. */
export async function readUpload(request: FastifyRequest, maxBytes: number): Promise<Upload | null> {
  if (!request.isMultipart()) return null;
  for await (const part of request.parts({ limits: { fileSize: maxBytes + 1 } })) {
    if (part.type !== 'file') continue;
    const content = await part.toBuffer();
    if (part.fieldname === 'file') {
      return { fileName: part.filename, content, tooLarge: part.file.truncated || content.length > maxBytes };
    }
  }
  return null;
}
