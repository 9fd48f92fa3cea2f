/** Finds open filings whose workflow is closed, gone or stuck: what the workflow itself cannot say any more. */
import type { Client } from '@temporalio/client';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Mode } from '../domain/names';
import { judgeRun } from '../domain/filing/run-judgement';
import { openFiling, openFilingsAfter, tellRunProblem, type OpenFilingRun } from '../ledger/filings/open-filings';
import type { BackgroundJob } from '../worker/background-jobs';
import { describeRun, resumeOptions } from './filing-runs';

export interface SweepDependencies {
  pool: pg.Pool;
  temporal: Client;
  mode: Mode;
  taskQueue: string;
  logger: Logger;
  clock: () => number;
}

export interface Swept {
  filings: number;
  resumed: string[];
  /** Filings of whose run something was said that was not said before. */
  told: string[];
}

const PAGE = 100;

/**
 * Looks at the run of every filing that has not ended. What was, or may have been, sent is followed by a new run; a filing of which
 * nothing was sent waits for somebody, because somebody may have stopped it on purpose. Several workers may sweep at once.
 * @throws when Temporal cannot be asked: then nothing is concluded of any run
 */
export async function sweepFilings(deps: SweepDependencies, signal?: AbortSignal): Promise<Swept> {
  const { pool, mode } = deps;
  const swept: Swept = { filings: 0, resumed: [], told: [] };
  let after = '';
  for (;;) {
    const page = await openFilingsAfter(pool, { mode, after, limit: PAGE });
    for (const filing of page) {
      if (signal?.aborted) return swept;
      swept.filings += 1;
      await look(deps, filing, swept);
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return swept;
    after = last.filingId;
  }
}

async function look(deps: SweepDependencies, filing: OpenFilingRun, swept: Swept): Promise<void> {
  const { pool, temporal, taskQueue, logger, clock } = deps;
  const { filingId, seq } = filing;
  const now = new Date(clock());
  const verdict = judgeRun(filing, await describeRun(temporal, filing.workflowId), now);
  if (verdict.action === 'tell') {
    const { problem } = verdict;
    if (await tellRunProblem(pool, { filingId, seq, problem, at: now })) {
      swept.told.push(filingId);
      if (problem) logger.warn({ filingId, workflowId: filing.workflowId, problem }, 'a filing needs somebody');
    }
    return;
  }
  // It may have moved or ended since it was read; then its run was not lost.
  if ((await openFiling(pool, filingId))?.seq !== seq) return;
  logger.warn({ filingId, workflowId: filing.workflowId, why: verdict.why }, 'a lost run is followed by a new one');
  await temporal.workflow.start('fileRemittances', resumeOptions(filing, taskQueue));
  swept.resumed.push(filingId);
}

const HOUR_MS = 3_600_000;

/** The sweep as a job of every worker: at its start, and hourly. `onSwept` is told what each did. */
export function filingSweepJob(
  deps: SweepDependencies,
  onSwept: (swept: Swept) => void = () => undefined,
): BackgroundJob {
  return {
    id: 'sweep_filings',
    name: 'look for filings whose workflow is closed, gone or stuck',
    everyMs: HOUR_MS,
    run: async (signal) => {
      const swept = await sweepFilings(deps, signal);
      onSwept(swept);
      const { filings, resumed, told } = swept;
      if (resumed.length + told.length > 0) {
        deps.logger.warn({ filings, resumed: resumed.length, told: told.length }, 'open filings were looked through');
      }
    },
  };
}
