/** Request bodies: JSON, or multipart/form-data with a file and the other fields of the JSON body. */
import type { FastifyRequest } from 'fastify';
import { InexactNumberError, parseBoundedJson } from '../../domain/json';
import { badRequest, Problem } from './problem';

/** 6 MB; the service takes workbooks of up to 5 MB. */
export const MAX_BODY_BYTES = 6 * 1024 * 1024;

/** Parses a JSON body; an empty one becomes `{}`. @throws Problem 400 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  // The signature of a zip, and so of a workbook.
  if (bytes.subarray(0, 2).toString('latin1') === 'PK') {
    const detail = 'The body is a workbook, not JSON. Send it as the part `file` of multipart/form-data.';
    throw badRequest('not_json', detail);
  }
  let text: string;
  try {
    // `fatal`: otherwise an invalid byte silently becomes another character.
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badRequest('not_utf8', 'The body is not UTF-8, the encoding of JSON.');
  }
  try {
    return parseBoundedJson(text);
  } catch (error) {
    if (error instanceof InexactNumberError) throw badRequest('number_not_exact', `${error.message}.`);
    // The parser's message quotes parts of the body, which may be a password.
    throw badRequest(
      'not_json',
      'The body is not JSON, has a name twice in one object, or has more values or levels than any request.',
    );
  }
}

/** The fields of a form; one that is there several times is a list. */
export function fieldsOfForm(form: URLSearchParams): Record<string, string | string[]> {
  const names = [...new Set(form.keys())];
  return Object.fromEntries(
    names.map((name) => {
      const values = form.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}

export interface Upload {
  name: string;
  bytes: Buffer;
}

export async function bodyOf(
  request: FastifyRequest,
  takesFile: boolean,
): Promise<{ fields: unknown; upload: Upload | null }> {
  if (!request.isMultipart()) return { fields: request.body ?? {}, upload: null };
  if (takesFile) return readForm(request);
  throw new Problem(415, 'unsupported_media_type', 'This request takes application/json.');
}

const LIMITS = { fileSize: MAX_BODY_BYTES, files: 1, fields: 20, fieldSize: 100_000, parts: 21, headerPairs: 100 };

/** Form fields that hold JSON, because they are not texts in a JSON body. */
const JSON_FIELDS = new Set(['allowDuplicate', 'n', 'approval', 'uploadType']);

/** @throws Problem 400 if the form cannot be read, or a field is repeated or is not the JSON that it must be */
async function readForm(request: FastifyRequest): ReturnType<typeof bodyOf> {
  try {
    return await readParts(request);
  } catch (error) {
    // Errors of the multipart parser have no status.
    if (error instanceof Problem || (error as { statusCode?: number }).statusCode !== undefined) throw error;
    const detail = 'The form cannot be read; allowed: multipart/form-data with its boundary, to the end.';
    throw badRequest('bad_form', detail);
  }
}

async function readParts(request: FastifyRequest): ReturnType<typeof bodyOf> {
  const fields = new Map<string, unknown>();
  let upload: Upload | null = null;
  for await (const part of request.parts({ limits: LIMITS })) {
    if (part.type === 'file') {
      const bytes = await part.toBuffer();
      if (part.fieldname !== 'file') {
        const detail = `The part ${part.fieldname} has a file; allowed: a part \`file\`.`;
        throw badRequest('unknown_field', detail, part.fieldname);
      }
      upload = { name: part.filename || 'file.xlsx', bytes };
      continue;
    }
    const { fieldname, value, valueTruncated } = part;
    if (valueTruncated) throw badRequest('too_large', `${fieldname} is too long.`, fieldname);
    if (fields.has(fieldname)) throw badRequest('invalid_field', `${fieldname} is given twice.`, fieldname);
    fields.set(fieldname, JSON_FIELDS.has(fieldname) ? jsonField(fieldname, String(value)) : value);
  }
  return { fields: Object.fromEntries(fields), upload };
}

function jsonField(field: string, text: string): unknown {
  try {
    return parseBoundedJson(text);
  } catch {
    throw badRequest('invalid_field', `${field} is not JSON; allowed: what the field has in a JSON body.`, field);
  }
}
