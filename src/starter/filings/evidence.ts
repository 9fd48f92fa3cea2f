/** The evidence of a filing as one zip: what the ledger and the document store hold of it, with a hash of each file. */
import { createHash } from 'node:crypto';
import { DAY_MS } from '../../domain/dates';
import { pushMessageOf } from '../../domain/filing/mapping';
import { writeOutputFile, zipStream, type ZippedFile } from '../../documents/output-file';
import { KEPT_DAYS, readBundle } from '../../ledger/views/bundle';
import type { FilingRecord } from '../../ledger/filings/filing';
import type { EbrcClientDependencies } from '../dependencies';
import { fileNamePart } from './export-certificates';
import { filingOf, unknownFiling } from '../lookup';

type EvidenceDependencies = Pick<EbrcClientDependencies, 'pool' | 'documents' | 'mode'>;

export interface WrittenEvidence {
  path: string;
  filingId: string;
  files: string[];
  /** Files that retention removed, or that are no longer stored. */
  removed: { file: string; why: string }[];
  /** Files that differ from what was recorded when they were written. */
  differs: { file: string; why: string }[];
}

/** Writes the evidence of a filing to a `.zip`. @throws RefusedError if there is no such filing */
export async function writeEvidence(deps: EvidenceDependencies, name: string, path: string): Promise<WrittenEvidence> {
  const filing = await filingOf(deps, name);
  const { zip, ...about } = await evidenceBundle(deps, filing);
  await writeOutputFile(path, zip);
  return { path, filingId: filing.filingId, ...about };
}

/**
 * A filing's evidence without passwords, as a zip that is made while it is read.
 * @returns the zip; the lists beside it are complete once it has been read
 * @throws RefusedError for an unknown filing
 */
export async function evidenceBundle(deps: EvidenceDependencies, filing: FilingRecord) {
  const { pool, mode, documents } = deps;
  const { filingId, madeAt } = filing;
  const bundle = await readBundle(pool, filingId);
  if (!bundle) throw unknownFiling(filingId, mode);
  const now = Date.now();
  const removed: WrittenEvidence['removed'] = Object.entries(KEPT_DAYS)
    .filter(([, { days }]) => madeAt.getTime() < now - days * DAY_MS)
    .map(([file, { days, what }]) => ({ file, why: `${what} are kept for ${days} days; older ones were removed` }));
  const differs: WrittenEvidence['differs'] = [];
  const sums: string[] = [];
  const files: string[] = [];

  /** A file of the document store; none if it is no longer stored. */
  const stored = async (name: string, document: string | null, sha256: string | null = null): Promise<ZippedFile[]> => {
    if (document === null) return [];
    if (!(await documents.exists(document))) {
      const hash = sha256 ? `, SHA-256 ${sha256},` : '';
      removed.push({ file: name, why: `${document}${hash} is not in the document store any more` });
      return [];
    }
    const content = async () => {
      const bytes = await documents.read(document);
      if (sha256 && sha256Of(bytes) !== sha256) differs.push({ file: name, why: `its SHA-256 was ${sha256}` });
      return bytes;
    };
    return [{ name, content, compressed: true }];
  };

  /** What an attempt sent: the workbook as it is stored, or the message as it is made of the rows. */
  const sent = async ({ number, payloadHash, document }: (typeof bundle.attempts)[number]): Promise<ZippedFile[]> => {
    if (filing.channel === 'bulk') return stored(`sent/attempt-${number}.xlsx`, document, payloadHash);
    if (payloadHash === null) return [];
    const name = `sent/attempt-${number}.json`;
    const content = () => {
      const message = JSON.stringify(pushMessageOf(filing, bundle.rows));
      if (sha256Of(message) !== payloadHash) {
        differs.push({ file: name, why: `it is made of the rows, and what was sent had SHA-256 ${payloadHash}` });
      }
      return message;
    };
    return [{ name, content }];
  };

  const entries: ZippedFile[] = bundle.files.map(({ name, content }) => ({ name, content: () => content }));
  entries.push({ name: 'events.chain', content: () => bundle.chain ?? '' });
  const source = `input/${fileNamePart(bundle.sourceName ?? 'workbook.xlsx')}`;
  entries.push(...(await stored(source, bundle.sourceDocument)));
  entries.push(...(await stored('input/annotated.xlsx', bundle.annotated)));
  for (const attempt of bundle.attempts) entries.push(...(await sent(attempt)));
  for (const { eBRCNumber, document, sha256 } of bundle.certificates) {
    entries.push(...(await stored(`certificates/${fileNamePart(eBRCNumber)}.pdf`, document, sha256)));
  }
  const { ledgerId, restoredAt, unchained } = bundle;
  const { reference, n } = filing;
  const about = { version: 2, mode, filingId, reference, n, madeAt: new Date(now), ledgerId, restoredAt, unchained };
  // After the files above, because differences are found while those are read.
  entries.push({
    name: 'about.json',
    content: () => `${JSON.stringify({ ...about, contents: CONTENTS, removed, differs }, null, 2)}\n`,
  });
  const summed = entries.map((entry): ZippedFile => ({
    ...entry,
    async content() {
      const content = await entry.content();
      sums.push(`${sha256Of(content)}  ${entry.name}\n`);
      files.push(entry.name);
      return content;
    },
  }));
  const zip = await zipStream([...summed, { name: 'SHA256SUMS', content: () => sums.join('') }]);
  return { zip, files, removed, differs };
}

const sha256Of = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');

const CONTENTS = {
  'filing.json': 'the filing, as every .json of this folder: rows of the ledger’s table of that name',
  'input.json':
    'the rows as they were handed in, with what the check warned of; input/ has the workbook, and the annotated one',
  'declaration.json': 'what was declared, by whom, and who made it',
  'consents.json': 'who consented to handing in the portal’s credentials',
  'attempts.json':
    'each try to send, with the service’s answer without secrets and the evidence found; sent/ has what was sent',
  'decisions.json': 'what persons decided, what they were shown, and what came of it',
  'readings.json': 'when the company’s certificates and IRMs were read meanwhile, and whether whole',
  'certificates.json': 'what the authority said of certificates of its documents; certificates/ has its own PDFs',
  'findings.json': 'differences that were found',
  'events.json': 'what happened, oldest first',
  'events.chain':
    'the same, chained: each line is a SHA-256 and an event, and the SHA-256 is that of the line before’s, a blank, and the event; docs/reliability.md has a check',
  'calls.json': 'calls of the service for its exporter while it was open, without their content',
  SHA256SUMS: 'the SHA-256 of every other file, for sha256sum -c',
};
