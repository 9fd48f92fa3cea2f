import { summaryText } from '../../domain/text';
import { setTimeout as sleep } from 'node:timers/promises';
import { setMaxListeners } from 'node:events';
import { ApplicationFailure, WorkflowFailedError } from '@temporalio/client';
import { endpointOf, extractionWorkflowId } from './contracts';
import type { ExtractionKind, ExtractDocumentInput, ExtractDocumentResult } from './contracts';
import { readExtraction, readWaitingReason } from './extractions';
import type { EbrcClientDependencies } from '../../starter/dependencies';
import { UsageError } from '../../starter/errors';
import { silenceNotice } from '../../temporal/workers-present';
import { forEachLimited } from '../../domain/values';
import { createHash } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MAX_EXTRACTION_BYTES, pdfProblem } from '../../domain/pdf';

export interface ExtractWait {
  /** Documents without an answer in this time continue in the background; default 15 minutes. */
  withinMs?: number;
  onProgress?: (progress: { done: number; of: number }) => void;
  onNotice?: (notice: string) => void;
}

export interface ExtractedFile {
  file: string;
  /** refused: it cannot be sent, or the service cannot read it; failed: no usable answer; waiting: no answer yet. */
  state: 'extracted' | 'refused' | 'failed' | 'waiting';
  sha256: string | null;
  /** The service's data; null unless extracted. */
  data: Record<string, unknown> | null;
  /** The whole answer, if its shape is not the specification's. */
  answer?: unknown;
  /** Whether the answer came from the ledger, without a call. */
  kept: boolean;
  error: { code: string; message: string } | null;
}

/** Files read concurrently, with up to 5 MB each. */
const MAX_CONCURRENT_READS = 4;
const WITHIN_MS = 15 * 60_000;
const NOTICE_AFTER_MS = 10_000;
/** 24 days. A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Extracts documents (spec: "Extraction service"), each in its own workflow. Repeating it never pays twice.
 * @throws UsageError for a missing file, `full` with an invoice, or workers without extraction
 */
export async function extractFiles(
  deps: EbrcClientDependencies,
  args: {
    kind: ExtractionKind;
    /** PDFs under 5 MB, and folders with PDFs. */
    paths: readonly string[];
    /** Extract everything in a shipping bill, not only the fields that a filing needs. */
    full?: boolean;
    /** Ask again for documents that were refused or failed. */
    again?: boolean;
  },
  { withinMs = WITHIN_MS, onProgress, onNotice }: ExtractWait = {},
): Promise<ExtractedFile[]> {
  const { kind, paths, full = false, again = false } = args;
  if (full && kind === 'invoice')
    throw new UsageError('--full is for shipping bills; an invoice is always read completely.');
  const files = await pdfPaths(paths);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const deadline = sleep(Math.min(withinMs, LONGEST_TIMER_MS), null, { signal: stop.signal }).catch(() => null);
  let done = 0;
  const results: Promise<ExtractedFile>[] = new Array<Promise<ExtractedFile>>(files.length);
  const notice = sleep(NOTICE_AFTER_MS, undefined, { signal: stop.signal }).then(
    async () => {
      if (done === 0) onNotice?.(await silenceNotice(deps.temporal, deps.taskQueue));
    },
    () => undefined,
  );
  const read = async ([index, file]: [number, string]): Promise<void> => {
    const pdf = await readPdf(file);
    const started = await startExtraction(deps, pdf, { kind, full, again });
    const result =
      started === null ? Promise.resolve(refused(pdf)) : awaitResult(deps, pdf, started, { deadline, stop });
    // Awaited below; without this a rejection would count as unhandled until then.
    result.then(() => onProgress?.({ done: (done += 1), of: files.length })).catch(() => undefined);
    results[index] = result;
  };
  try {
    onProgress?.({ done, of: files.length });
    await forEachLimited([...files.entries()], MAX_CONCURRENT_READS, read);
    return await Promise.all(results);
  } finally {
    stop.abort();
    await notice;
  }
}

/** Stores the PDF, and starts its workflow or joins the running one; null if the PDF cannot be sent. */
async function startExtraction(
  { temporal, taskQueue, documents }: EbrcClientDependencies,
  { name, sha256, content, problem }: PdfFile,
  { kind, full, again }: { kind: ExtractionKind; full: boolean; again: boolean },
) {
  if (problem !== null || sha256 === null) return null;
  const stored = await documents.put({ name: `document-${sha256}`, kind: 'pdf', buffer: content });
  const input = { kind, full, document: stored.name, sha256, fileName: name.slice(-255), again };
  const workflowId = extractionWorkflowId(endpointOf(kind, full), sha256);
  await temporal.workflow.start('extractDocument', {
    workflowId,
    taskQueue,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: summaryText(`Extract ${kind} ${input.fileName}`),
    staticDetails: `Document ${stored.name}, stored by its content; its answer is kept in the ledger.`,
  });
  return { workflowId, input };
}

async function awaitResult(
  { temporal, pool }: EbrcClientDependencies,
  { file, sha256 }: PdfFile,
  { workflowId, input }: { workflowId: string; input: ExtractDocumentInput },
  { deadline, stop }: { deadline: Promise<null>; stop: AbortController },
): Promise<ExtractedFile> {
  const handle = temporal.workflow.getHandle(workflowId);
  const ended = temporal.workflow
    .withAbortSignal(stop.signal, () => handle.result() as Promise<ExtractDocumentResult>)
    .then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    );
  const outcome = await Promise.race([ended, deadline]);
  if (outcome === null) {
    const { kind, full = false } = input;
    const why = await readWaitingReason(pool, { endpoint: endpointOf(kind, full), sha256: sha256 ?? '' });
    const message = `${why ?? 'It is still in the queue.'} It continues in the background; repeat the command to see the result.`;
    return { file, state: 'waiting', sha256, data: null, kept: false, error: { code: 'waiting', message } };
  }
  if ('error' in outcome) return failedWith(outcome.error, { file, sha256 });
  const { state, extractionId, kept, error } = outcome.result;
  const row = await readExtraction(pool, extractionId);
  const answer = row?.answer ?? undefined;
  return { file, state, sha256, data: row?.data ?? null, ...(answer !== undefined && { answer }), kept, error };
}

function refused({ file, sha256, problem }: PdfFile): ExtractedFile {
  return { file, state: 'refused', sha256, data: null, kept: false, error: problem };
}

/** @throws UsageError if no document can be extracted at all */
function failedWith(error: unknown, { file, sha256 }: Pick<PdfFile, 'file' | 'sha256'>): ExtractedFile {
  let inner: unknown = error;
  while (inner instanceof Error && !(inner instanceof ApplicationFailure) && inner.cause) inner = inner.cause;
  const code = inner instanceof ApplicationFailure ? (inner.type ?? 'unexpected') : 'unexpected';
  const message = inner instanceof Error ? inner.message : String(inner);
  if (code === 'extraction_unconfigured') throw new UsageError(message, 'configuration');
  if (!(error instanceof WorkflowFailedError)) throw error;
  return { file, state: 'failed', sha256, data: null, kept: false, error: { code, message } };
}

/** A PDF to send, or the reason why it cannot be sent. */
export interface PdfFile {
  file: string;
  name: string;
  /** Null if the file is too large to read. */
  sha256: string | null;
  content: Buffer;
  problem: { code: string; message: string } | null;
}

/** The named files and every .pdf below the folders, once each. @throws UsageError for a missing file or no PDF */
export async function pdfPaths(paths: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const path of paths) {
    const info = await stat(path).catch(() => {
      throw new UsageError(`${path}: there is no such file, or it cannot be read.`, 'no_file');
    });
    if (!info.isDirectory()) {
      found.add(path);
      continue;
    }
    const inside = (await readdir(path, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile() && entry.name.toLowerCase().endsWith('.pdf'))
      .map((entry) => join(entry.parentPath, entry.name));
    if (inside.length === 0) throw new UsageError(`${path}: there is no PDF in this folder.`, 'no_file');
    for (const file of inside.sort()) found.add(file);
  }
  return [...found];
}

/** Reads a file unless it is too large, and checks whether it can be sent. */
export async function readPdf(file: string): Promise<PdfFile> {
  const name = basename(file);
  try {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      const content = size > MAX_EXTRACTION_BYTES ? Buffer.alloc(0) : await handle.readFile();
      const sha256 = size > MAX_EXTRACTION_BYTES ? null : createHash('sha256').update(content).digest('hex');
      return { file, name, sha256, content, problem: pdfProblem(content, Math.max(size, content.length)) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    const problem = { code: 'no_file', message: `the file cannot be read (${code})` };
    return { file, name, sha256: null, content: Buffer.alloc(0), problem };
  }
}
