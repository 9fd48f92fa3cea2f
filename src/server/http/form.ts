/** multipart/form-data: a file, and the fields that a JSON body has beside it. */
import type { FastifyRequest } from 'fastify';
import { parseBoundedJson } from '../../domain/bounded-json';
import { MAX_BODY_BYTES } from './limits';
import { badRequest, Problem } from './problem';

export interface Upload {
  name: string;
  bytes: Buffer;
}

const LIMITS = { fileSize: MAX_BODY_BYTES, files: 1, fields: 20, fieldSize: 100_000, parts: 21, headerPairs: 100 };

/** Fields whose text is JSON: what is no text in a JSON body. */
const AS_JSON = new Set(['allowDuplicate', 'n', 'approval', 'uploadType']);

/** @throws Problem 400 for a form that cannot be read, a field that stands twice, or is no JSON where it has to be */
export async function readForm(
  request: FastifyRequest,
): Promise<{ fields: Record<string, unknown>; upload: Upload | null }> {
  try {
    return await readParts(request);
  } catch (error) {
    // The parser's own errors have no status.
    if (error instanceof Problem || (error as { statusCode?: number }).statusCode !== undefined) throw error;
    throw badRequest(
      'bad_form',
      'The form cannot be read; allowed: multipart/form-data with its boundary, to the end.',
    );
  }
}

async function readParts(request: FastifyRequest): Promise<{ fields: Record<string, unknown>; upload: Upload | null }> {
  const fields = new Map<string, unknown>();
  let upload: Upload | null = null;
  for await (const part of request.parts({ limits: LIMITS })) {
    if (part.type === 'file') {
      const bytes = await part.toBuffer();
      if (part.fieldname !== 'file') {
        throw badRequest(
          'unknown_field',
          `The part ${part.fieldname} has a file; allowed: a part \`file\`.`,
          part.fieldname,
        );
      }
      upload = { name: part.filename || 'file.xlsx', bytes };
      continue;
    }
    const { fieldname, value, valueTruncated } = part;
    if (valueTruncated) throw badRequest('too_large', `${fieldname} is too long.`, fieldname);
    if (fields.has(fieldname)) throw badRequest('invalid_field', `${fieldname} is given twice.`, fieldname);
    fields.set(fieldname, AS_JSON.has(fieldname) ? asJson(fieldname, String(value)) : value);
  }
  return { fields: Object.fromEntries(fields), upload };
}

function asJson(field: string, text: string): unknown {
  try {
    return parseBoundedJson(text);
  } catch {
    throw badRequest('invalid_field', `${field} is not JSON; allowed: what the field has in a JSON body.`, field);
  }
}
