import { Context } from '@temporalio/activity';
import type { FileInput, FilingResult } from '../../domain/contracts';
import type { Next, Told } from '../../domain/filing/facts';
import { advance, type CallFailure } from '../../ledger/filings/advance';
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
  const { pool, settings, searchAttributes } = deps;
  const { workflowId = '', runId = '' } = Context.current().info.workflowExecution ?? {};
  let { filingId } = args;
  const common = { searchAttributes, told: args.told };
  if (filingId === null) {
    const input = args.input as FileInput;
    const opened = await openInput(deps, { input, workflowId, failure: args.failure });
    if (opened.outcome === 'exporter_unknown') {
      const next = { do: 'readExporter', summary: 'Read the exporter from the service' } as const;
      return ending(opened.exporterId, next, await refusedResult(pool, { workflowId, input, findings: [] }), common);
    }
    if (opened.outcome === 'refused') {
      const view = await refusedResult(pool, { workflowId, input, ...opened });
      return ending(input.exporterId, { do: 'end' }, view, common);
    }
    filingId = opened.filingId;
  }
  const before = await readResult(pool, filingId, null);
  // Another workflow's filing goes on there: this run ends with what stands.
  if (before.workflowId !== workflowId)
    return ending(before.exporterId, { do: 'end' }, before.result, { ...common, filingId });
  const step = await advance(pool, {
    filingId,
    ...{
      run: runId,
      continues: args.continues,
      told: args.told,
      failure: args.failure,
      called: args.called,
      cancelled: args.cancelled,
      settings,
    },
  });
  const { filing, decided, told } = step;
  const { result } = await readResult(pool, filingId, args.shown);
  return {
    ...{ filingId, exporterId: filing.exporterId, next: decided.next, told, view: result, searchAttributes },
    ...{ text: decided.text, now: filing.now },
  };
}

const ending = (
  exporterId: string,
  next: Next,
  view: Advanced['view'],
  more: Pick<Advanced, 'told' | 'searchAttributes'> & { filingId?: string },
): Advanced => ({
  filingId: null,
  ...more,
  exporterId,
  next,
  view,
  text: view.errors[0]?.message ?? view.state,
  now: Date.now(),
});

export const advanceActivities = { advanceFiling };
