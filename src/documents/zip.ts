import { Readable } from 'node:stream';

/** A file of a zip; `content` is asked for when its turn has come, so that one is in memory at a time. */
export interface ZippedFile {
  name: string;
  content: () => Promise<Buffer | string> | Buffer | string;
  /** Whether it is small already, as PDFs and workbooks are. */
  compressed?: boolean;
}

/** A zip, written while it is read. A file that cannot be read fails the stream. */
export async function zipStream(entries: readonly ZippedFile[]): Promise<Readable> {
  const { default: JsZip } = await import('jszip');
  const zip = new JsZip();
  for (const { name, content, compressed = false } of entries) {
    const pieces = async function* () {
      yield Buffer.from(await content());
    };
    const compression = compressed ? 'STORE' : 'DEFLATE';
    zip.file(name, Readable.from(pieces(), { objectMode: false }), { compression, createFolders: false });
  }
  return new Readable().wrap(zip.generateNodeStream({ streamFiles: true }));
}
