import { parseBoundedJson } from '../../domain/bounded-json';
import { badRequest } from './problem';

/** Reads a JSON body; an empty one is an empty object. @throws Problem 400 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  // A workbook that is sent as JSON.
  if (bytes.subarray(0, 2).toString('latin1') === 'PK') {
    throw badRequest(
      'not_json',
      'The body is a workbook, not JSON. Send it as the part `file` of multipart/form-data.',
    );
  }
  let text: string;
  try {
    // An invalid byte would silently become another character.
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badRequest('not_utf8', 'The body is not UTF-8, the encoding of JSON.');
  }
  try {
    return parseBoundedJson(text);
  } catch {
    // The reason of the parser repeats parts of the body, which may be a password.
    throw badRequest('not_json', 'The body is not JSON, or has more values or levels than any request.');
  }
}
