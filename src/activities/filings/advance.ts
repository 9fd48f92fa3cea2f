import { Context } from '@temporalio/activity';
import type { FileInput, FilingResult } from '../../domain/contracts';
import type { Next, Told } from '../../domain/filing/facts';
import { MINUTE_MS } from '../../domain/dates';
import { errorAt } from '../../domain/rules/finding';
import { pauseReasonOf } from '../../domain/service/retry-table';
import { advance, type CallFailure } from '../../ledger/filings/advance';
import { FilingMissing } from '../../ledger/filings/lock';
import { readResult, refusedResult } from '../../ledger/filings/result';
import type { Deps } from '../dependencies';
import { openInput } from './open';

/** What a run hands in: all that it knows. */
export interface AdvanceArgs {
  /** The input that it was started with, until its filing is recorded. */
  input: FileInput | null;
  filingId: string | null;
  continues: string | null;
  told: Told | null;
  shared: boolean;
  notBegun: boolean;
  called: Next['do'] | null;
  failure: CallFailure | null;
  /** The state whose rows the run shows already: they are read again only with another one. */
  shown: string | null;
  /** Somebody cancelled the run: abandoned before a send, noted after it. */
  cancelled: boolean;
}

export interface Advanced {
  filingId: string | null;
  exporterId: string;
  next: Next;
  told: Told | null;
  shared: boolean;
  /** How the filing stands. `rows` null: as they were shown before. */
  view: Omit<FilingResult, 'rows'> & { rows: FilingResult['rows'] | null };
  /** One line for people, and the attributes that the server knows. */
  text: string;
  searchAttributes: readonly string[];
  /** PostgreSQL's clock, which `next` counts by. */
  now: number;
}

/** One step of a filing's run (docs/how-it-works.md): records it if need be, stores, decides and moves. */
async function advanceFiling(deps: Deps, args: AdvanceArgs): Promise<Advanced> {
  const { workflowId = '', runId = '' } = Context.current().info.workflowExecution ?? {};
  try {
    const filingId = args.filingId ?? (await open(deps, args, workflowId, runId));
    return typeof filingId === 'string' ? await advanceRecorded(deps, args, { filingId, workflowId, runId }) : filingId;
  } catch (error) {
    if (!(error instanceof FilingMissing)) throw error;
    // The ledger went back to before the filing: a run that has its input records it again, others wait for the ledger.
    const told = args.told && ({ ...args.told, lost: true } as const);
    const next = waitFor('Wait for the ledger to have the filing');
    return withoutFiling(
      deps,
      args,
      next,
      await refusedResult(deps.pool, { workflowId, input: args.input, findings: [] }),
      told,
    );
  }
}

/** Records the filing. @returns its id, or what the run does without one */
async function open(deps: Deps, args: AdvanceArgs, workflowId: string, runId: string): Promise<string | Advanced> {
  const { pool } = deps;
  const input = args.input as FileInput;
  const opened = await openInput(deps, { input, workflowId, run: runId, again: args.told?.lost === true });
  if (opened.outcome === 'recorded') deps.logger.info({ filingId: opened.filingId, workflowId }, 'filing recorded');
  if (opened.outcome === 'recorded' || opened.outcome === 'standing') return opened.filingId;
  if (opened.outcome === 'refused') {
    // What may have been sent is not forgotten because somebody took its mapping while the ledger lacked it.
    const next: Next = args.told?.lost ? waitFor('Wait for the ledger to have the filing') : { do: 'end' };
    return withoutFiling(deps, args, next, await refusedResult(pool, { workflowId, input, ...opened }));
  }
  const nothing = await refusedResult(pool, { workflowId, input, findings: [] });
  const { failure, called } = args;
  if (called !== 'readExporter' || failure === null) {
    return withoutFiling(deps, args, { do: 'readExporter', summary: 'Read the exporter from the service' }, nothing);
  }
  if (pauseReasonOf(failure.kind) !== null) return withoutFiling(deps, args, waitFor(failure.message), nothing);
  const message = `The service does not know exporter ${opened.exporterId} in this key's mode: ${failure.message}. Onboard it first.`;
  const findings = [errorAt(null, 'platformCustomerId', 'exporter_unknown', message)];
  return withoutFiling(deps, args, { do: 'end' }, await refusedResult(pool, { workflowId, input, findings }));
}

async function advanceRecorded(
  { pool, settings, seen, searchAttributes }: Deps,
  args: AdvanceArgs,
  { filingId, workflowId, runId }: { filingId: string; workflowId: string; runId: string },
): Promise<Advanced> {
  const { told, shared, notBegun, failure, called, cancelled, continues } = args;
  const step = await advance(pool, {
    ...{ filingId, workflowId, run: runId, continues, told, shared, notBegun },
    ...{ failure, called, cancelled, seen, settings },
  });
  seen.note(step.time);
  const { result } = await readResult(pool, filingId, args.shown);
  const { filing, decided } = step;
  return {
    ...{ filingId, exporterId: filing.exporterId, next: decided.next, told: step.told, shared: step.shared },
    ...{ view: result, searchAttributes, text: decided.text, now: filing.now },
  };
}

const waitFor = (summary: string): Next => ({ do: 'wait', until: Date.now() + MINUTE_MS, summary });

const withoutFiling = (
  { searchAttributes }: Deps,
  { input, told, shared }: AdvanceArgs,
  next: Next,
  view: Advanced['view'],
  lost: Told | null = told,
): Advanced => ({
  ...{ filingId: null, exporterId: String(input?.exporterId ?? ''), next, told: lost, shared, view, searchAttributes },
  ...{ text: view.errors[0]?.message ?? '', now: Date.now() },
});

export const advanceActivities = { advanceFiling };
