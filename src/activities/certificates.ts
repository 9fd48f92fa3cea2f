import type { Readable } from 'node:stream';
import { DocumentError } from '../documents/stored-document';
import type { StoredDocument } from '../documents/document-store';
import { compareFilingDates, filingDateFromAnything, filingDateInKolkata, type FilingDate } from '../domain/dates';
import { readDetailsToRead } from '../ledger/certificates/certificates';
import { markArchived, postponePdf, readMissing, readPdfToFetch } from '../ledger/certificates/pdfs';
import { lockFiling } from '../ledger/filings/filing-lock';
import { certifyByDetails } from '../ledger/gates/certify';
import { countOpenRows } from '../ledger/rows/filing-rows';
import { withTransaction } from '../ledger/pool';
import type { CredentialVersion } from '../ledger/vault/credentials';
import { readSubmissions } from '../ledger/submissions/submissions';
import { withHeartbeat, withStepHeartbeat, stepId } from './call-context';
import { withCredentials } from './exporters/credential-guard';
import { now, type Deps } from './dependencies';
import { hold, moveOnSettled, recordEnd, type Decided, type FilingNow } from './filings/moves';
import { readDetails } from './read-details';
import type pg from 'pg';
import { endOf, mayFollow } from '../domain/filing/states';
import { readNow } from '../ledger/filings/filing-now';

export interface FetchedCertificates {
  withoutDetail: number;
  open: number;
  problem: string | null;
  /** The first certificates without a PDF, if asked for here, because a separate step is another billable action. */
  toArchive: Awaited<ReturnType<typeof readMissing>>['toArchive'] | null;
  filing: FilingNow | null;
}

/** A truncated body, or one that is no PDF, is the portal's fault; it is requested again with growing pauses. */
const INITIAL_PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 6 * 60 * 60_000;

/** POST /genebrc/fetch-details for the days of a filing's certificates; certifies rows without a number. */
async function fetchCertificates(
  deps: Deps,
  args: {
    filingId: string;
    exporterId: string;
    /** The submission to settle, whose open rows are counted. Default: the whole filing. */
    submission?: number;
    pdfs?: number;
  },
): Promise<FetchedCertificates> {
  const { filingId, exporterId, submission, pdfs } = args;
  const { pool, clock } = deps;
  const missing = async () => {
    const { withoutDetail, toArchive } = await readMissing(pool, { filingId, limit: pdfs ?? 0, at: now(deps) });
    return { withoutDetail, toArchive: pdfs === undefined ? null : toArchive };
  };
  const toRead = await readDetailsToRead(pool, { filingId, exporterId, submission: submission ?? null });
  const issued = toRead.issued.flatMap((date) => filingDateFromAnything(date) ?? []).sort(compareFilingDates);
  const open = toRead.open > 0;
  const first = issued[0];
  const last = issued.at(-1);
  // Rows without a number may have been certified on any day since the send.
  const from = open || !first ? await sentOn(deps, filingId) : first;
  const to = open || !last ? filingDateInKolkata(clock()) : last;
  const span = { from: compareFilingDates(from, to) <= 0 ? from : to, to };
  const at = now(deps);
  const { problem: incomplete, iecCode } = await readDetails(deps, { exporterId, caller: toRead, ...span });
  if (iecCode === null) return { open: toRead.open, problem: incomplete, ...(await missing()), filing: null };
  const filing = open && incomplete === null ? await fillRows(deps, { filingId, exporterId, at }) : null;
  return {
    open: open ? await countOpenRows(pool, filingId, submission) : 0,
    problem: null,
    ...(await missing()),
    filing,
  };
}

/** GET /genebrc/download-pdf into the store. `sha256` null: no complete PDF came. `end`: ends the filing if it can. */
async function downloadCertificate(
  deps: Deps,
  args: {
    exporterId: string;
    eBRCNumber: string;
    /** The filing, if it waits only for PDFs and has all the certificate details that it will get. */
    end?: Decided;
  },
): Promise<{ sha256: string | null; ended: FilingNow | null }> {
  const { pool, logger } = deps;
  const { exporterId, eBRCNumber, end } = args;
  const { sha256: known, credentials } = await readPdfToFetch(pool, exporterId, eBRCNumber);
  if (known !== null) return { sha256: known, ended: end ? await archiveLast(pool, end, now(deps)) : null };
  try {
    const stored = (await storedPdf(deps, eBRCNumber)) ?? (await fetchPdf(deps, exporterId, eBRCNumber, credentials));
    const { sha256, bytes } = stored;
    const pdf = { exporterId, eBRCNumber, document: stored.name, sha256, bytes, at: now(deps) };
    if (end) return { sha256, ended: await archiveLast(pool, end, pdf.at, (client) => markArchived(client, pdf)) };
    await markArchived(pool, pdf);
    return { sha256, ended: null };
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    const pause = { firstMs: INITIAL_PAUSE_MS, longestMs: MAX_PAUSE_MS };
    const nextInMs = await postponePdf(pool, { exporterId, eBRCNumber, at: now(deps), ...pause });
    logger.warn({ eBRCNumber, nextInMs, err: error }, 'what came is not a whole PDF');
    return { sha256: null, ended: null };
  }
}

async function sentOn({ pool, clock }: Deps, filingId: string): Promise<FilingDate> {
  const submissions = await readSubmissions(pool, filingId);
  const sent = submissions.flatMap((submission) => (submission.submittedAt ? [submission.submittedAt.getTime()] : []));
  return filingDateInKolkata(Math.min(clock(), ...sent));
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

/** Certifies rows of processed requests whose certificates the status did not name. */
async function fillRows(
  { pool, settings }: Deps,
  // A window that ends during the look is not over for it.
  { filingId, exporterId, at }: { filingId: string; exporterId: string; at: Date },
): Promise<FilingNow | null> {
  let moved: FilingNow | null = null;
  for (const { submission, state, submittedAt } of await readSubmissions(pool, filingId)) {
    if (submittedAt === null || state === 'settled' || state === 'released') continue;
    const args = { filingId, submission, exporterId, settleMs: settings.settleAfterMs, at };
    await withStepHeartbeat(() =>
      withTransaction(pool, async (client) => {
        const filing = await lockFiling(client, filingId);
        const { openRows } = await certifyByDetails(client, args);
        if (filing && openRows === 0) moved = await moveOnSettled(client, settings, filing, args.at);
      }),
    );
  }
  return moved;
}

/** Records a PDF (unless it is recorded), and the end of a filing that has all PDFs. @returns null: it goes on */
function archiveLast(
  pool: pg.Pool,
  decided: Decided,
  at: Date,
  record?: (client: pg.PoolClient) => Promise<void>,
): Promise<FilingNow | null> {
  const { filingId } = decided;
  return withTransaction(pool, async (client) => {
    // The filing's lock comes first, so that of two concurrent PDFs the second sees the first.
    const held = await hold(client, decided);
    await record?.(client);
    if (held === 'differs') return null;
    const before = await readNow(client, filingId, stepId());
    if (held === 'repeated') return before;
    const state = before.counts.archived < before.counts.certified ? null : endOf(before.counts);
    if (state === null || !mayFollow(held.state, state)) return null;
    return recordEnd(client, held, { filingId, state, now: before }, at);
  });
}

export const certificateActivities = {
  fetchCertificates,
  downloadCertificate,

  /** The next certificates of a filing whose PDFs are missing and can be requested now. */
  listToArchive: async (deps: Deps, of: { filingId: string; limit: number }) =>
    (await readMissing(deps.pool, { ...of, at: now(deps) })).toArchive,
};
