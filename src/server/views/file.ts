/** Files for a principal, without telling it of filings that it may not see; and workbooks between check and filing. */
import { createHash } from 'node:crypto';
import { DocumentError, documentName, readWithHash, type DocumentStore } from '../../documents/stored-document';
import type { Principal } from '../../domain/principal';
import { filingOfReference } from '../../ledger/filings/filing';
import { RefusedError } from '../../starter/errors';
import { fileFile, type FileRequest } from '../../starter/filings/file';
import type { FilingOutcome } from '../../starter/filings/outcome';
import { maySee } from '../access/scope';
import { Problem } from '../http/problem';
import { depsFor, type Door } from '../http/route';

/** @param request its exporter is one that the principal may see */
export async function fileAs(
  door: Door,
  principal: Principal,
  request: FileRequest & { exporter: string; reference: string },
): Promise<FilingOutcome> {
  const { pool, mode } = door.deps;
  const { exporter, reference, n = 1 } = request;
  const standing = await filingOfReference(pool, { mode, reference, n });
  return fileFile({ ...depsFor(door, exporter), principal }, request).catch((error: unknown) => {
    throw standing && !maySee(principal, standing.exporterId) ? hiddenHolder(error) : error;
  });
}

/** Codes that reveal the reference's holder. A caller that may not see the holder only learns that it is taken. */
const REVEALING_CODES = ['reference_taken', 'exporter_differs', 'wrong_number', 'not_correctable'];

function hiddenHolder(error: unknown): unknown {
  if (!(error instanceof RefusedError) || !REVEALING_CODES.includes(error.errors[0]?.code ?? '')) return error;
  return new Problem(409, 'reference_taken', 'The reference is in use. Choose another one.');
}

/** The key of a workbook that was handed in. It is made of who did so, who alone finds it again. */
const keyOf = ({ principalId }: Principal, bytes: Buffer): string =>
  createHash('sha256').update(`${principalId}\n`).update(bytes).digest('hex');
const nameOf = (key: string): string => `handed-in-${key}`;

/** Keeps a workbook until it is filed. @returns its key; null if it is no workbook */
export async function handIn(
  { documents }: { documents: DocumentStore },
  principal: Principal,
  bytes: Buffer,
): Promise<string | null> {
  const key = keyOf(principal, bytes);
  try {
    await documents.put({ name: nameOf(key), kind: 'xlsx', buffer: bytes });
    return key;
  } catch (error) {
    if (error instanceof DocumentError) return null;
    throw error;
  }
}

/** A workbook that the principal handed in. @throws Problem 404 */
export async function handedIn(
  { documents }: { documents: DocumentStore },
  principal: Principal,
  key: string,
): Promise<Buffer> {
  const found = await readWithHash(documents, documentName(nameOf(key), 'xlsx'));
  if (found && keyOf(principal, found.content) === key) return found.content;
  throw new Problem(404, 'unknown_workbook', 'This workbook is not here any more. Hand it in again.');
}
