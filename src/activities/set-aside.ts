import { createHash, randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import type pg from 'pg';
import type { Logger } from 'pino';
import { SET_ASIDE } from '../domain/names';
import { askAboutSetAside, noteStep, postponeStep, strikeStep, type StepTry } from '../ledger/set-aside';
import { notYet, refusal } from './application-failure';
import { stepId } from './call-context';

/** How long a step that lost its worker waits while another one is tried. */
const ANOTHER_FIRST_MS = 5_000;
const STRIKE_RETRY_MS = 1_000;
const STRIKE_TRIES = 120;

/**
 * Refuses a step as `set_aside`, and opens a question, after it ended several workers in a row. Only on the main queue,
 * because a call can wait so long for its slot that its worker is replaced twice.
 */
export function createSetAsideGuard({ pool, logger }: { pool: pg.Pool; logger: Logger }) {
  /** Suspected steps run one at a time, because of those that a lost worker was running only one is to blame. */
  let suspect = false;

  /** Records the end of a step; retries while the ledger is unavailable. */
  async function strike(noted: StepTry, tries = 1): Promise<void> {
    try {
      await strikeStep(pool, noted);
    } catch {
      if (tries < STRIKE_TRIES) setTimeout(() => void strike(noted, tries + 1), STRIKE_RETRY_MS).unref();
    }
  }

  return (mainQueue: string): ActivityInboundCallsInterceptor => ({
    async execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>) {
      const { info } = Context.current();
      const workflowId = info.workflowExecution?.workflowId;
      if (info.isLocal || info.taskQueue !== mainQueue || workflowId === undefined) return next(input);
      const { args } = input;
      const [step, inputRef] = [stepId(), inputRefOf(args)];
      const noted = { workflowId, step, what: stepContentOf(info.activityType, args), tryId: randomUUID(), inputRef };
      // Optional: if the ledger is unavailable, the step itself fails.
      const found = await noteStep(pool, noted).catch(() => ({ lost: 0, setAside: false }));
      if (found.setAside) {
        await strike(noted);
        throw await setAside(noted, info.activityType, args);
      }
      const suspected = found.lost > 0;
      if (suspected && suspect) {
        await postponeStep(pool, noted);
        throw notYet('Another step that lost its worker is tried first.', ANOTHER_FIRST_MS, 'cancelled');
      }
      suspect ||= suspected;
      try {
        return await next(input);
      } finally {
        if (suspected) suspect = false;
        await strike(noted);
      }
    },
  });

  async function setAside({ workflowId }: StepTry, activity: string, args: readonly unknown[]) {
    const { filingId = null, exporterId } = subjectOf(args);
    const text = `Worker after worker ended during the step ${activity} of ${workflowId}. It is set aside: nothing of it is retried automatically.`;
    logger.error({ workflowId, activity, filingId }, 'a step is set aside: workers ended during it');
    if (exporterId !== undefined) {
      const at = new Date();
      await askAboutSetAside(pool, { workflowId, exporterId, filingId, text, at }).catch(() => undefined);
    }
    return refusal(SET_ASIDE, text);
  }
}

/** The step's type and a hash of its input, so that other content under the same reference is tried. */
function stepContentOf(activity: string, [first]: readonly unknown[]): string {
  const input = first instanceof Object && 'input' in first ? JSON.stringify(first.input) : '';
  return `${activity} ${createHash('sha256').update(input).digest('hex').slice(0, 16)}`;
}

function inputRefOf([first]: readonly unknown[]): string | null {
  const { input } = (first ?? {}) as Record<string, unknown>;
  return input instanceof Object && 'inputRef' in input && typeof input.inputRef === 'string' ? input.inputRef : null;
}

function subjectOf([first]: readonly unknown[]): { filingId?: string; exporterId?: string } {
  const { filingId, exporterId, input } = (first ?? {}) as Record<string, unknown>;
  const whose = exporterId ?? (input instanceof Object && 'exporterId' in input ? input.exporterId : undefined);
  return {
    ...(typeof filingId === 'string' && { filingId }),
    ...(typeof whose === 'string' && { exporterId: whose }),
  };
}
