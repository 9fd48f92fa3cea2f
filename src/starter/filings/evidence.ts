/** The evidence of a filing as one zip: what the ledger and the document store hold of it, with a hash of each file. */
import { createHash } from 'node:crypto';
import { DAY_MS } from '../../domain/dates';
import { pushMessageOf } from '../../domain/filing/mapping';
import { writeOutputFile, zipStream, type ZippedFile } from '../../documents/output-file';
import { documentName } from '../../documents/stored-document';
import type { FilingRecord } from '../../ledger/filings/filings';
import { KEPT_DAYS, movesStand, readFilingEvidence } from '../../ledger/filings/filing-evidence';
import { readRows } from '../../ledger/rows/filing-rows';
import { movesAtSend } from '../../ledger/sends/send-record';
import { readSend } from '../../ledger/sends/sends';
import type { EbrcClientDependencies } from '../dependencies';
import { unknownFiling, filingOf } from '../lookup';
import { fileNamePart } from '../export-certificates';

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
export async function writeEvidence(
  deps: EvidenceDependencies,
  idOrReference: string,
  path: string,
): Promise<WrittenEvidence> {
  const filing = await filingOf(deps, idOrReference);
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
  const { pool, mode } = deps;
  const { filingId, madeAt } = filing;
  const evidence = await readFilingEvidence(pool, filingId);
  if (!evidence) throw unknownFiling(filingId, mode);
  const now = Date.now();
  const removed: WrittenEvidence['removed'] = Object.entries(KEPT_DAYS)
    .filter(([, { days }]) => madeAt.getTime() < now - days * DAY_MS)
    .map(([file, { days, what }]) => ({ file, why: `${what} are kept for ${days} days; older ones were removed` }));
  const differs: WrittenEvidence['differs'] = [];
  const sums: string[] = [];
  const files: string[] = [];
  const about = { removed, differs };
  const context = { ...deps, filing, ledgerId: evidence.ledgerId, about };

  const entries: ZippedFile[] = evidence.files.map(({ name, content }) => ({ name, content: () => content }));
  const { sourceDocument, sourceName, annotated } = evidence;
  const source = `input/${fileNamePart(sourceName ?? 'workbook.xlsx')}`;
  if (sourceDocument !== null) entries.push(...(await storedFile(context, { name: source, document: sourceDocument })));
  if (annotated !== null)
    entries.push(...(await storedFile(context, { name: 'input/annotated.xlsx', document: annotated })));
  for (const attempt of evidence.attempts) entries.push(...(await sentFiles(context, attempt)));
  for (const { eBRCNumber, document, sha256 } of evidence.certificates) {
    const name = `certificates/${fileNamePart(eBRCNumber)}.pdf`;
    entries.push(...(await storedFile(context, { name, document, sha256 })));
  }
  const head = { version: 1, mode, filingId, reference: filing.reference, n: filing.n, madeAt: new Date(now) };
  const { ledgerId, restoredAt } = evidence;
  // After the files above, because differences are found while those are read.
  entries.push({
    name: 'about.json',
    content: () => `${JSON.stringify({ ...head, ledgerId, restoredAt, contents: CONTENTS, ...about }, null, 2)}\n`,
  });
  const summed = entries.map((entry): ZippedFile => ({
    ...entry,
    async content() {
      const content = await entry.content();
      sums.push(`${createHash('sha256').update(content).digest('hex')}  ${entry.name}\n`);
      files.push(entry.name);
      return content;
    },
  }));
  const zip = await zipStream([...summed, { name: 'SHA256SUMS', content: () => sums.join('') }]);
  return { zip, files, ...about };
}

type EvidenceContext = EvidenceDependencies & {
  filing: FilingRecord;
  ledgerId: string;
  about: Pick<WrittenEvidence, 'removed' | 'differs'>;
};

/** A file of the document store; empty if it is no longer stored. */
async function storedFile(
  { documents, about }: EvidenceContext,
  { name, document, sha256 }: { name: string; document: string; sha256?: string | null },
): Promise<ZippedFile[]> {
  if (!(await documents.exists(document))) {
    const hash = sha256 ? `, SHA-256 ${sha256},` : '';
    about.removed.push({ file: name, why: `${document}${hash} is not in the document store any more` });
    return [];
  }
  const content = async () => {
    const bytes = await documents.read(document);
    if (sha256 && sha256Of(bytes) !== sha256) about.differs.push({ file: name, why: `its SHA-256 was ${sha256}` });
    return bytes;
  };
  return [{ name, content, compressed: true }];
}

/** What an attempt sent, and the stored records of its sends, whose moves are compared with the ledger. */
async function sentFiles(
  context: EvidenceContext,
  attempt: { attemptId: string; submission: number; payloadHash: string | null; sends: number[] },
): Promise<ZippedFile[]> {
  const { attemptId, submission, payloadHash, sends } = attempt;
  const { pool, documents, filing, ledgerId, about } = context;
  if (payloadHash === null) return [];
  const folder = `sends/${attemptId}`;
  const entries: ZippedFile[] = [];
  if (filing.channel === 'bulk') {
    const document = documentName(attemptId, 'xlsx');
    entries.push(...(await storedFile(context, { name: `${folder}/request.xlsx`, document, sha256: payloadHash })));
  } else {
    const name = `${folder}/request.json`;
    const content = async () => {
      const message = JSON.stringify(pushMessageOf(filing, await readRows(pool, filing.filingId, submission)));
      if (sha256Of(message) !== payloadHash) {
        about.differs.push({ file: name, why: `it is made of the rows, and what was sent had SHA-256 ${payloadHash}` });
      }
      return message;
    };
    entries.push({ name, content });
  }
  for (const number of sends) {
    const name = `${folder}/record-${number}.json`;
    const record = await readSend(documents, ledgerId, number);
    if (record === null) {
      about.removed.push({ file: name, why: 'the document store has no readable record of this send' });
      continue;
    }
    const head = movesAtSend(record);
    if (head && !(await movesStand(pool, filing.filingId, head))) {
      const why = `the filing’s moves up to number ${head.seq} are not those that stood at this send`;
      about.differs.push({ file: 'events.json', why });
    }
    entries.push({ name, content: () => `${JSON.stringify(record, null, 2)}\n` });
  }
  return entries;
}

const sha256Of = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');

const CONTENTS = {
  'filing.json': 'the filing, as every .json of this folder: rows of the ledger’s table of that name',
  'input.json':
    'the rows as they were handed in, with what the check warned of; input/ has the workbook, and the annotated one',
  'declaration.json': 'what was declared, by whom, who made it and who approved it',
  'consents.json': 'who consented to handing in the portal’s credentials',
  'grants.json': 'what principals answer for: SHA-256 over what was shown to them',
  'words.json': 'what persons said, and what became of it',
  'events.json': 'what happened, oldest first',
  'attempts.json':
    'each try to send, with the service’s answer without secrets; sends/ has what was sent, and its record',
  'releases.json': 'why rows were freed',
  'calls.json': 'calls of the service about its requests, without their content',
  'certificates.json': 'what the authority said of its certificates; certificates/ has the PDFs',
  SHA256SUMS: 'the SHA-256 of every other file, for sha256sum -c',
};
