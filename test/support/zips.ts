import { createHash } from 'node:crypto';
import JsZip from 'jszip';

/** The files of a zip, by name. */
export async function contentsOfZip(bytes: Buffer): Promise<Map<string, Buffer>> {
  const zip = await JsZip.loadAsync(bytes, { checkCRC32: true });
  const files = Object.values(zip.files).filter(({ dir }) => !dir);
  return new Map(await Promise.all(files.map(async (each) => [each.name, await each.async('nodebuffer')] as const)));
}

/** Files whose hash in SHA256SUMS is missing or another one, and names there without a file. */
export function unsummed(files: ReadonlyMap<string, Buffer>): string[] {
  const lines = (files.get('SHA256SUMS')?.toString() ?? '').trimEnd().split('\n');
  const sums = new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
  const names = new Set([...files.keys(), ...sums.keys()].filter((name) => name !== 'SHA256SUMS'));
  return [...names].filter((name) => {
    const content = files.get(name);
    return !content || createHash('sha256').update(content).digest('hex') !== sums.get(name);
  });
}
