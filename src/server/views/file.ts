/** Files for a principal, without telling it of filings that it may not see; and workbooks between check and filing. */
import { createHash } from 'node:crypto';
import {
  DocumentError,
  documentName,
  HANDED_IN,
  readWithHash,
  type DocumentStore,
} from '../../documents/stored-document';
import type { Principal } from '../../domain/principal';
import { filingOfReference } from '../../ledger/filings/filing';
import { contentHashOf } from '../../ledger/filings/inputs';
import { fileFile, type FileRequest } from '../../starter/filings/file';
import type { FilingOutcome } from '../../starter/filings/outcome';
import type { FilingFile } from '../../starter/filings/read-file';
import { maySee } from '../access/scope';
import { Problem } from '../http/problem';
import { depsFor, type HttpApi } from '../http/route';

/** @param request its exporter is one that the principal may see */
export async function fileAs(
  httpApi: HttpApi,
  principal: Principal,
  request: FileRequest & { exporter: string; reference: string },
): Promise<FilingOutcome> {
  const { exporter, reference } = request;
  await refuseHiddenHolder(httpApi.deps, principal, reference);
  return fileFile({ ...depsFor(httpApi, exporter), principal }, request).catch(async (error: unknown) => {
    // It may have been filed by another exporter meanwhile.
    await refuseHiddenHolder(httpApi.deps, principal, reference);
    throw error;
  });
}

/**
 * Refuses a reference that another exporter's filings have, whatever their numbers and content: what the caller may not
 * see tells it nothing but that the reference is taken. @throws Problem
 */
async function refuseHiddenHolder(
  { pool, mode }: HttpApi['deps'],
  principal: Principal,
  reference: string,
): Promise<void> {
  const holder = await filingOfReference(pool, { mode, reference });
  if (holder && !maySee(principal, holder.exporterId))
    throw new Problem(409, 'reference_taken', 'The reference is in use. Choose another one.');
}

/** Whether a workbook is filed under the reference, with either declaration. */
export async function isFiled(
  { pool, mode }: HttpApi['deps'],
  { exporterId, reference, file }: { exporterId: string; reference: string; file: FilingFile },
): Promise<boolean> {
  const { rows, uploadType } = file;
  const filing = await filingOfReference(pool, { mode, reference, n: 1 });
  if (filing?.n !== 1 || filing.exporterId !== exporterId || uploadType === undefined) return false;
  return ['Y', 'N'].some(
    (declaration) => contentHashOf({ exporterId, uploadType, declaration, rows }) === filing.contentHash,
  );
}

/** The key of a workbook that was handed in. It is made of who did so, who alone finds it again. */
const keyOf = ({ principalId }: Principal, bytes: Buffer): string =>
  createHash('sha256').update(`${principalId}\n`).update(bytes).digest('hex');
const nameOf = (key: string): string => `${HANDED_IN}${key}`;

/** Keeps a workbook for a day, until it is filed. @returns its key; null if it is no workbook */
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

/** The value of a cell, as it was read or, where it could not be, as the message quotes it. */
export function valueOf(value: unknown, message: string): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  const [, quoted = ''] = /value ("(?:[^"\\]|\\.){0,200}")/.exec(message) ?? [];
  return quoted === '' ? '' : String(JSON.parse(quoted));
}
