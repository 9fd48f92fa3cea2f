import type { FastifyRequest } from 'fastify';

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
