import { setTimeout as sleep } from 'node:timers/promises';
import type { ExporterProgress } from '../../domain/contracts';
import { writeOutputFile } from '../../documents/output-file';
import { firstLine, RefusedError, type Problem } from '../errors';
import { csvOf } from '../input-files';
import { readExporterList } from './list-file';
import type { ExporterOutcome, OnboardRequest } from './operations';
import type { ExporterView } from './views';
import { forEachLimited } from '../../domain/values';

/** Maximum number of concurrent starts or progress queries. */
const MAX_CONCURRENT = 8;
const POLL_EVERY_MS = 3_000;

export interface OnboardedRow {
  row: number;
  /** Null if the row has none that can be shown. */
  email: string | null;
  exporterId: string | null;
  state: ExporterProgress['state'] | 'failed';
  activatesAt: string | null;
  irmCount: number | null;
  message: string | null;
}

export interface OnboardListOptions {
  by: string;
  /** Wait until every exporter is ready, refused, or needs other credentials. */
  wait?: boolean;
  /** File for the outcomes, `.csv` or `.json`; default: the list's path with `.result.csv` appended. */
  result?: string;
  onProgress?: (outcomes: readonly OnboardedRow[]) => void;
}

interface ListClient {
  onboard(request: OnboardRequest): Promise<ExporterOutcome>;
  onboarding(email: string): Promise<ExporterProgress | null>;
  exporters(): Promise<ExporterView[]>;
}

/**
 * Onboards the exporters of a list (list-file.ts). It can be repeated at any time: exporters that are ready are left
 * alone, and one failure affects no other row. The outcomes are written to a file, even after a failure.
 * @param open opens the client
 * @throws the errors of reading the list and of `open`
 */
export async function onboardList(
  open: () => Promise<ListClient>,
  path: string,
  options: OnboardListOptions,
): Promise<{
  /** One per row, in the order of the list. */
  outcomes: OnboardedRow[];
  resultFile: string;
}> {
  const resultFile = options.result ?? `${path}.result.csv`;
  const write = (all: readonly OnboardedRow[]) =>
    writeOutputFile(resultFile, `${resultFile.endsWith('.json') ? JSON.stringify(all, null, 2) : csvOf(all)}\n`);
  let outcomes: OnboardedRow[] = [];
  try {
    const { rows, refused } = await readExporterList(path);
    outcomes = refused.map((entry) => ({
      ...outcomeOf(entry.row, entry.email),
      state: 'refused',
      message: entry.message,
    }));
    for (const { row, email } of rows) outcomes.push(outcomeOf(row, email));
    outcomes.sort((a, b) => a.row - b.row);
    const client = await open();
    await startRows(client, rows, outcomes, options);
    if (options.wait) await write(outcomes);
    await followRows(client, outcomes, options);
  } catch (error) {
    if (error instanceof RefusedError && outcomes.length === 0) {
      outcomes = error.errors.map(({ row, message }) => ({ ...outcomeOf(row ?? 1, null), state: 'refused', message }));
    }
    const message = firstLine(error);
    outcomes = outcomes.map((outcome) => (isPending(outcome) ? { ...outcome, state: 'failed', message } : outcome));
    // If the result file cannot be written either, the first error is the one to throw.
    if (outcomes.length > 0) await write(outcomes).catch(() => undefined);
    throw error;
  }
  await write(outcomes);
  return { outcomes, resultFile };
}

async function startRows(
  client: ListClient,
  rows: Awaited<ReturnType<typeof readExporterList>>['rows'],
  outcomes: OnboardedRow[],
  { by, onProgress }: OnboardListOptions,
): Promise<void> {
  const existing = new Map((await client.exporters()).map((exporter) => [exporter.email.toLowerCase(), exporter]));
  const indexOfRow = new Map(outcomes.map(({ row }, index) => [row, index]));
  await forEachLimited(rows, MAX_CONCURRENT, async ({ row, email, username, password, ...customer }) => {
    const before = existing.get(email.toLowerCase());
    const credentials = username !== undefined && password !== undefined ? { username, password } : undefined;
    outcomes[indexOfRow.get(row) ?? 0] =
      before?.state === 'ready'
        ? { ...outcomeOf(row, email), exporterId: before.exporterId, state: 'ready', message: ALREADY_ONBOARDED }
        : await attempt(row, email, () => client.onboard({ ...customer, email, credentials, by }));
    onProgress?.(outcomes);
  });
}

async function followRows(
  client: ListClient,
  outcomes: OnboardedRow[],
  { wait = false, onProgress }: OnboardListOptions,
): Promise<void> {
  while (wait && outcomes.some(isUnderWay)) {
    await sleep(POLL_EVERY_MS);
    const open = outcomes.flatMap((outcome, index) => (isUnderWay(outcome) ? [{ ...outcome, index }] : []));
    await forEachLimited(open, MAX_CONCURRENT, async ({ row, email, index }) => {
      outcomes[index] = await attempt(row, email, () => client.onboarding(email ?? ''));
    });
    onProgress?.(outcomes);
  }
}

const EMPTY_OUTCOME = {
  exporterId: null,
  state: 'started' as const,
  activatesAt: null,
  irmCount: null,
  message: null,
};

const ALREADY_ONBOARDED = 'Already onboarded, left unchanged; `ebrc credentials` changes its password.';

function outcomeOf(row: number, email: string | null): OnboardedRow {
  return { row, email, ...EMPTY_OUTCOME };
}

/** Whether nothing is known of the row yet. */
function isPending({ state, exporterId, message }: OnboardedRow): boolean {
  return state === 'started' && exporterId === null && message === null;
}

function isUnderWay({ state }: OnboardedRow): boolean {
  return state === 'started' || state === 'activation_pending';
}

async function attempt(
  row: number,
  email: string | null,
  work: () => Promise<ExporterProgress | null>,
): Promise<OnboardedRow> {
  try {
    const progress = await work();
    if (!progress) return outcomeOf(row, email);
    const { exporterId, state, activatesAt, irmCount, message, errors } = progress;
    const why = message ?? (errors.map((error) => error.message).join('; ') || null);
    return { row, email, exporterId, state, activatesAt, irmCount, message: why };
  } catch (error) {
    const refused = error instanceof RefusedError;
    const message = refused ? sentence(error.errors) : firstLine(error);
    return { ...outcomeOf(row, email), state: refused ? 'refused' : 'failed', message };
  }
}

const sentence = (problems: readonly Problem[]) => problems.map(({ message }) => message).join('; ');
