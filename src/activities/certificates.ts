import type { Readable } from 'node:stream';
import { ApiError } from '../api/errors/api-error';
import { DocumentError } from '../documents/stored-document';
import type { StoredDocument } from '../documents/document-store';
import { markArchived, postponePdf, readPdfToFetch } from '../ledger/certificates/pdfs';
import type { CredentialVersion } from '../ledger/vault/credentials';
import { withHeartbeat } from './call-context';
import type { Deps } from './dependencies';
import { withCredentials } from './exporters/credential-guard';

/** A truncated body, or one that is no PDF, is the portal's fault; it is requested again with growing pauses. */
const PAUSES = { firstMs: 30_000, longestMs: 6 * 60 * 60_000 };

/**
 * GET /genebrc/download-pdf into the store. `sha256` null: no complete PDF came, or the ledger does not have the
 * certificate, or a call failed after `until` (epoch ms).
 */
async function downloadCertificate(
  deps: Deps,
  { exporterId, eBRCNumber, until }: { exporterId: string; eBRCNumber: string; until?: number },
): Promise<{ sha256: string | null }> {
  const { pool, logger, clock } = deps;
  const known = await readPdfToFetch(pool, exporterId, eBRCNumber);
  if (known === null || known.sha256 !== null) return { sha256: known?.sha256 ?? null };
  const certificate = { mode: known.mode, iec: known.iec, eBRCNumber };
  try {
    const stored =
      (await storedPdf(deps, eBRCNumber)) ?? (await fetchPdf(deps, exporterId, eBRCNumber, known.credentials));
    const { name: document, sha256, bytes, note } = stored;
    await markArchived(pool, certificate, { document, sha256, bytes, note });
    return { sha256 };
  } catch (error) {
    // Its filing waits for it no longer: the daily job fetches it.
    if (error instanceof ApiError && until !== undefined && clock() >= until) return { sha256: null };
    if (!(error instanceof DocumentError)) throw error;
    const nextInMs = await postponePdf(pool, certificate, PAUSES);
    logger.warn({ eBRCNumber, nextInMs, err: error }, 'what came is not a whole PDF');
    return { sha256: null };
  }
}

/** A complete PDF that an earlier try stored and could not record. */
function storedPdf({ documents, mode }: Deps, eBRCNumber: string): Promise<StoredDocument | null> {
  return documents.find({ name: eBRCNumber, kind: 'pdf', mode });
}

async function fetchPdf(
  deps: Deps,
  exporterId: string,
  eBRCNumber: string,
  credentials: CredentialVersion | null,
): Promise<StoredDocument> {
  const { documents, mode, api } = deps;
  const put = (stream: Readable, expectedBytes?: number) =>
    documents.put({ name: eBRCNumber, kind: 'pdf', mode, stream, expectedBytes });
  try {
    const call = () =>
      withHeartbeat(exporterId, (context) =>
        api.downloadPdf({ eBRCNumber, platformCustomerId: exporterId }, put, context),
      );
    return await withCredentials(deps, exporterId, call, credentials);
  } catch (error) {
    // Of two concurrent downloads the first PDF is kept; the service renders it anew each time, so they differ.
    const first =
      error instanceof DocumentError && error.kind === 'conflict' ? await storedPdf(deps, eBRCNumber) : null;
    if (first) return first;
    throw error;
  }
}

export const certificateActivities = { downloadCertificate };
