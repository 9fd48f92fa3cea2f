import { basename, dirname } from 'node:path';
import type { ExtractionKind } from '../extraction/contracts';
import { mapDocument, type ExtractionMapping } from '../extraction/mapping';
import { type ReadDocument, documentKey } from './join';
import { groupBy } from '../../domain/values';
import { extractedEndpoints } from '../extraction/extractions';
import type { EbrcClientDependencies } from '../../starter/dependencies';
import { extractFiles, type ExtractedFile, type ExtractWait, pdfPaths, readPdf } from '../extraction/extract';

export interface DraftFile {
  file: string;
  /** Null if the kind is not known. */
  kind: ExtractionKind | null;
  state: ExtractedFile['state'];
  /** Why the file is not in the draft; null if it is. */
  error: { code: string; message: string } | null;
}

/** Names of files and folders that tell the kind of a PDF. */
const BY_NAME: readonly (readonly [ExtractionKind, RegExp])[] = [
  ['shipping-bill', /shipping[-_ ]?bills?|(^|[^a-z])sbs?([^a-z]|$)/i],
  ['invoice', /invoices?|(^|[^a-z])inv([^a-z]|$)/i],
];

/** Takes documents from the ledger, and extracts others if a name tells their kind. No failure affects another file. */
export async function readDocuments(
  deps: EbrcClientDependencies,
  { paths, mapping, iec }: { paths: readonly string[]; mapping: ExtractionMapping; iec: string | null },
  wait: ExtractWait,
): Promise<{ documents: ReadDocument[]; files: DraftFile[] }> {
  const sources = await sourcesOf(deps, await pdfPaths(paths));
  const extracted = new Map<string, ExtractedFile>();
  for (const group of groupBy(sources, ({ kind, full }) => (kind ? `${kind} ${full}` : undefined)).values()) {
    const [{ kind, full }] = group;
    if (!kind) continue;
    const request = { kind, full, paths: group.map(({ file }) => file) };
    for (const each of await extractFiles(deps, request, wait)) extracted.set(each.file, each);
  }
  const documents: ReadDocument[] = [];
  const seen = new Map<string, string>();
  const files = sources.map(({ file, kind }): DraftFile => {
    const result = extracted.get(file);
    if (!kind || !result) return { file, kind, state: 'refused', error: UNKNOWN_KIND };
    if (!result.data) return { file, kind, state: result.state, error: result.error };
    const document = { file, ...mapDocument(kind, result.data, mapping) };
    const problem = reasonToSkip(document, { iec, seen });
    if (!problem) documents.push(document);
    return { file, kind, state: result.state, error: problem };
  });
  return { documents, files };
}

const UNKNOWN_KIND = {
  code: 'unknown_kind',
  message:
    'Its kind is not known: put it into a folder called shipping-bills or invoices, or read it with `ebrc extract` first.',
};

async function sourcesOf(
  { pool }: EbrcClientDependencies,
  files: readonly string[],
): Promise<{ file: string; sha256: string | null; kind: ExtractionKind | null; full: boolean }[]> {
  const hashes = new Map<string, string | null>();
  // Contents are not kept, because there may be hundreds of files; each is read again when it is sent.
  for (const file of files) hashes.set(file, (await readPdf(file)).sha256);
  const known = await extractedEndpoints(
    pool,
    [...hashes.values()].filter((hash) => hash !== null),
  );
  return files.map((file) => {
    const sha256 = hashes.get(file) ?? null;
    const endpoint = known.get(sha256 ?? '');
    if (endpoint)
      return {
        file,
        sha256,
        kind: endpoint === 'invoice' ? 'invoice' : 'shipping-bill',
        full: endpoint === 'shipping-bill-full',
      };
    return { file, sha256, kind: kindByName(file), full: false };
  });
}

/** The kind by the file's name, else by its folder's. */
function kindByName(file: string): ExtractionKind | null {
  for (const text of [basename(file), dirname(file)]) {
    const kinds = BY_NAME.filter(([, pattern]) => pattern.test(text));
    if (kinds.length === 1) return kinds[0]?.[0] ?? null;
  }
  return null;
}

/** Why a document is left out: it belongs to another exporter, or is a second copy. */
function reasonToSkip(
  { file, kind, values }: ReadDocument,
  { iec, seen }: { iec: string | null; seen: Map<string, string> },
): DraftFile['error'] {
  if (iec !== null && values.iec !== undefined && values.iec !== iec) {
    return { code: 'other_exporter', message: `It names IEC ${values.iec}, and the exporter's is ${iec}.` };
  }
  const key =
    values.number === undefined ? null : `${kind} ${documentKey({ number: values.number, date: values.date ?? null })}`;
  const before = key === null ? undefined : seen.get(key);
  if (before !== undefined) return { code: 'second_copy', message: `It is the same document as ${before}.` };
  if (key !== null) seen.set(key, file);
  return null;
}
