/** `ebrc ledger restored`: takes what Temporal knows into a ledger that went back. */
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow';
import type pg from 'pg';
import { openInput } from '../activities/filings/open';
import type { WorkerSettings } from '../activities/dependencies';
import type { FileInput, FilingResult } from '../domain/contracts';
import type { Mode } from '../domain/names';
import { filingForRun, openFilings } from '../ledger/runs';
import { answersOfFindings, endMove, endRestore, restoreSends } from '../ledger/restore';
import {
  missingRuns,
  readLedgerStatus,
  readStanding,
  runsOfFindings,
  type LedgerStatus,
  type RecordedRun,
} from '../ledger/went-back';
import { recordedRuns } from '../temporal/comparison';
import { describeRun, FILING_WORKFLOW, pokeOrStart } from '../temporal/runs';

export interface RestoreDependencies {
  pool: pg.Pool;
  temporal: Client;
  mode: Mode;
  taskQueue: string;
  settings: WorkerSettings;
}

export interface Restored extends LedgerStatus {
  /** Filings that were brought back, and what is known of their sends; `recorded`: their own run goes on with them. */
  filings: {
    filingId: string;
    workflowId: string;
    sends: 'accepted' | 'unknown' | 'abandoned' | 'there' | 'recorded';
  }[];
  /** What Temporal could not tell: compare these with the portal. */
  lost: { workflowId: string; state: string; why: string }[];
}

/** Only renews the epoch: a person says that nothing was lost. What is known to be missing stays so. */
export async function nothingLost(deps: Pick<RestoreDependencies, 'pool' | 'mode'>, by: string): Promise<Restored> {
  await endMove(deps.pool, deps.mode, `${by} said that nothing was lost`);
  return { ...(await readLedgerStatus(deps.pool, deps.mode)), filings: [], lost: [] };
}

/**
 * Takes the runs since a time into the ledger that it lacks: their rows are held, their sends accepted or unknown.
 * What was open then and nobody knows is unknown. Idempotent; ends the recovery.
 * @param since the time of the backup, or earlier
 */
export async function restoreLedger(
  deps: RestoreDependencies,
  { since, by }: { since: Date; by: string },
): Promise<Restored> {
  const { pool, mode, temporal, taskQueue, settings } = deps;
  const sinceMs = since.getTime();
  const filings: Restored['filings'] = [];
  const lost: Restored['lost'] = [];
  for (const run of await missingSince(deps, sinceMs)) {
    const { workflowId, state } = run;
    const taken = await takeIn(deps, run, sinceMs).catch((error: unknown) => ({ why: reasonOf(error) }));
    if ('why' in taken) lost.push({ workflowId, state, why: taken.why });
    else filings.push(taken);
  }
  for (const { filingId, requestId, dgftAckId } of await answersOfFindings(pool, mode)) {
    const filing = await filingForRun(pool, filingId);
    const known = { filingId, abandoned: false, requestId, dgftAckId, sentFromMs: sinceMs };
    if (filing)
      filings.push({ filingId, workflowId: filing.workflowId, sends: await restoreSends(pool, known, settings) });
  }
  for (const filing of await unknownToTemporal(deps)) {
    const { filingId, workflowId } = filing;
    const known = { filingId, abandoned: false, requestId: null, dgftAckId: null, sentFromMs: sinceMs };
    filings.push({ filingId, workflowId, sends: await restoreSends(pool, known, settings) });
  }
  await endRestore(
    pool,
    mode,
    `restored by ${by}: ${filings.length} filings were brought back, ${lost.length} could not be`,
  );
  for (const { filingId } of filings) {
    const filing = await filingForRun(pool, filingId);
    if (filing && filing.state !== 'abandoned') await pokeOrStart(temporal, taskQueue, filing);
  }
  return { ...(await readLedgerStatus(pool, mode)), filings, lost };
}

/** The missing runs that started or closed since, the oldest first, so that corrections follow what they correct. */
async function missingSince(deps: RestoreDependencies, sinceMs: number): Promise<RecordedRun[]> {
  const { pool, mode } = deps;
  const { sinceMs: compared } = await readStanding(pool, mode);
  const runs = new Map((await runsOfFindings(pool, mode)).map((run) => [run.runId, run]));
  const all = { sinceMs: Math.min(sinceMs, compared ?? 0), restoredMs: null };
  for await (const run of recordedRuns(deps, all)) runs.set(run.runId, run);
  const missing = await missingRuns(pool, mode, [...runs.values()]);
  return missing.sort((a, b) => a.startedAt.localeCompare(b.startedAt));
}

/** Records a run's filing, and what its result says of its sends. @throws with the reason why it cannot be */
async function takeIn(
  deps: RestoreDependencies,
  run: RecordedRun,
  sinceMs: number,
): Promise<Restored['filings'][number]> {
  const { pool, mode, temporal, settings } = deps;
  const { workflowId, runId, closedAt, completed, startedAt } = run;
  const input = await inputOf(temporal, workflowId);
  const opening = { mode, pool, settings, queueing: () => Promise.resolve(new Map()) };
  const opened = await openInput(opening, { input, workflowId, again: true });
  if (opened.outcome === 'refused') throw new Error(opened.findings.map(({ message }) => message).join(' '));
  if (opened.outcome !== 'recorded' && opened.outcome !== 'standing')
    throw new Error(`The ledger lacks its exporter ${input.exporterId}.`);
  const { filingId } = opened;
  // An open run knows itself what it was told to send, and shows what came of it.
  if (closedAt === null && !run.requestId) return { filingId, workflowId, sends: 'recorded' };
  const result = completed ? ((await temporal.workflow.getHandle(workflowId, runId).result()) as FilingResult) : null;
  const known = {
    ...{ filingId, abandoned: result?.state === 'abandoned' },
    ...{ requestId: result?.requestId ?? run.requestId, dgftAckId: result?.dgftAckId ?? null },
    sentFromMs: Math.max(sinceMs, Date.parse(startedAt)),
  };
  return { filingId, workflowId, sends: await restoreSends(pool, known, settings) };
}

/** The input with the rows, which the first run under an id has; later ones go on from the ledger. */
async function inputOf(temporal: Client, workflowId: string): Promise<FileInput> {
  const runs: { runId: string; startTime: Date }[] = [];
  const query = `WorkflowType = '${FILING_WORKFLOW}' AND WorkflowId = '${workflowId.replaceAll("'", "''")}'`;
  for await (const run of temporal.workflow.list({ query })) runs.push(run);
  runs.sort((a, b) => a.startTime.getTime() - b.startTime.getTime());
  for (const { runId } of runs) {
    const { history } = await temporal.workflowService.getWorkflowExecutionHistory({
      ...{ namespace: temporal.options.namespace, maximumPageSize: 1 },
      execution: { workflowId, runId },
    });
    const started = history?.events?.[0]?.workflowExecutionStartedEventAttributes;
    const [input] = await decodeArrayFromPayloads(temporal.options.loadedDataConverter, started?.input?.payloads);
    const given = input as FileInput | undefined;
    if (given && (given.message !== undefined || given.inputRef !== undefined)) return given;
  }
  throw new Error('Temporal no longer has the input that it was started with.');
}

/** Open filings of which Temporal knows no run that could say what was sent since. */
async function unknownToTemporal({ pool, mode, temporal }: RestoreDependencies) {
  const unknown = [];
  const limit = 100;
  for (let after = ''; ;) {
    const page = await openFilings(pool, { mode, after, limit });
    for (const filing of page) {
      if (filing.maybeFiled) continue;
      const { status } = await describeRun(temporal, filing.workflowId);
      if (status !== 'running') unknown.push(filing);
    }
    const last = page.at(-1);
    if (!last || page.length < limit) return unknown;
    after = last.filingId;
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
