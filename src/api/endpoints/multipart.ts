import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Operation } from '../../domain/service/operations';
import { ApiError } from '../errors/api-error';

/**
 * A file part that is read completely (at most 5 MB), so that a file that fails half-way can never cut off a request.
 */
export interface FilePart {
  content: Buffer;
  fileName: string;
  contentType: string;
}

/** The headers and body of a multipart/form-data request with the one part `file`. */
export async function multipartBody(part: FilePart): Promise<{ headers: Record<string, string>; body: Buffer }> {
  const form = new FormData();
  form.set('file', new File([part.content], part.fileName, { type: part.contentType }));
  // The platform's own encoder. The body is encoded before the call, so that the request has a length and cannot break
  // off.
  const encoded = new Response(form);
  return {
    headers: { 'content-type': encoded.headers.get('content-type') ?? 'multipart/form-data' },
    body: Buffer.from(await encoded.arrayBuffer()),
  };
}

/**
 * Reads a file to be sent, from its path, a stream or a buffer. Rejects with an `ApiError` of kind validation_failed if
 * it is empty, longer than `maxBytes` or cannot be read.
 */
export async function readUpload(
  operation: Operation,
  file: string | Readable | Buffer,
  maxBytes: number,
): Promise<Buffer> {
  const content = Buffer.isBuffer(file) ? file : await readAll(operation, file, maxBytes);
  if (content.length === 0) throw unsendable(operation, 'the file is empty');
  if (content.length > maxBytes) {
    throw unsendable(operation, `the file is longer than ${maxBytes} bytes; make it smaller or split it`);
  }
  return content;
}

/** An `ApiError` for a file that cannot be sent. */
export function unsendable(operation: Operation, why: string, cause?: unknown): ApiError {
  return new ApiError({
    kind: 'validation_failed',
    operation,
    message: `${operation} was not sent: ${why}`,
    fieldErrors: [{ field: 'file', message: why }],
    cause,
  });
}

async function readAll(operation: Operation, file: string | Readable, maxBytes: number): Promise<Buffer> {
  try {
    const stream = typeof file === 'string' ? (await open(file, 'r')).createReadStream() : file;
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of stream as AsyncIterable<Buffer | string>) {
      const buffer = typeof piece === 'string' ? Buffer.from(piece) : piece;
      pieces.push(buffer);
      bytes += buffer.length;
      // One byte more than allowed is enough to refuse the file; the rest of a huge file is not read.
      if (bytes > maxBytes) break;
    }
    return Buffer.concat(pieces);
  } catch (cause) {
    throw unsendable(
      operation,
      `the file cannot be read (${cause instanceof Error ? cause.message : String(cause)})`,
      cause,
    );
  }
}
