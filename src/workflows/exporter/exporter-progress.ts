import {
  condition,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
  isCancellation,
} from '@temporalio/workflow';
import type { ExporterProgress } from '../../domain/contracts';
import { inUtc } from '../../domain/dates';
import { markdownText, summaryText } from '../../domain/text';
import { searchAttributes, type Indexed } from '../../domain/names';
import { Waits, type WaitingWorkflow, type Wait, waitForAccess } from '../waits';
import type { ErrorKind } from '../../domain/service/error-kinds';
import { readFailure } from '../failures';

/** Progress of an onboarding or a credential update: its query result, its details in the UI, its search attributes. */
export class ExporterStatus implements WaitingWorkflow {
  readonly waits = new Waits();
  private progress: ExporterProgress;
  private available: readonly string[] = [];
  private shown: Indexed = {};

  /** `continueAsNewIfLong` is called before every wait. */
  constructor(
    exporterId: string | null,
    private readonly continueAsNewIfLong: () => Promise<void>,
  ) {
    const { workflowId } = workflowInfo();
    this.progress = {
      exporterId,
      workflowId,
      state: 'started',
      activatesAt: null,
      irmCount: null,
      message: null,
      errors: [],
    };
  }

  get view(): ExporterProgress {
    return this.progress;
  }

  /** From now on updates also set the search attributes that the server knows. */
  index(available: readonly string[], mode: string): void {
    this.available = available;
    this.show({ mode });
    this.update({});
  }

  /** Changes the given properties; clears message and errors unless given. */
  update(change: Partial<ExporterProgress> & { needsAttention?: boolean }): void {
    const { needsAttention, ...shown } = change;
    this.progress = { ...this.progress, message: null, errors: [], ...shown };
    const { exporterId, state, message } = this.progress;
    setCurrentDetails([`**${TITLES[state]}**`, markdownText(inUtc(message ?? ''))].filter(Boolean).join('\n\n'));
    this.show({ exporterId, state, needsAttention: needsAttention ?? state === 'needs_credentials' });
  }

  showWait(wait: Wait): void {
    if (wait.reason === 'access') {
      const { kind: code, message } = wait;
      this.update({ message, errors: [{ code, message }], needsAttention: true });
      return;
    }
    const { activatesAt, text, ms } = wait;
    const message = `${text}. The next look is at ${new Date(Date.now() + ms).toISOString()}.`;
    this.update({ state: 'activation_pending', activatesAt, message });
  }

  async rest(ms: number, summary: string, over: () => boolean = () => false): Promise<void> {
    await this.continueAsNewIfLong();
    await condition(over, ms, { summary: summaryText(summary) });
  }

  /** Sets only what changed: each upsert is billed and recorded in the history. */
  private show(values: Indexed): void {
    const changed = Object.fromEntries(
      Object.entries(values).filter(([name, value]) => this.shown[name as keyof Indexed] !== value),
    ) as Indexed;
    const pairs = searchAttributes(changed).filter(({ key }) => this.available.includes(key.name));
    if (pairs.length === 0) return;
    this.shown = { ...this.shown, ...changed };
    upsertSearchAttributes(pairs);
  }
}

const TITLES: Record<ExporterProgress['state'], string> = {
  started: 'In progress',
  needs_credentials: 'Waiting for portal credentials',
  activation_pending: 'Waiting for the authority to open API access',
  ready: 'Ready',
  refused: 'Refused',
};

/**
 * Repeats a call until it succeeds, showing what the operator has to fix; the delay grows to 15 minutes.
 * @throws a failure of an expected kind, one without a kind, or a cancellation
 */
export async function retryUntilFixed<T>(
  status: ExporterStatus,
  expected: readonly ErrorKind[],
  call: () => Promise<T>,
): Promise<T> {
  const before = status.view;
  for (;;) {
    try {
      const result = await call();
      if (status.view !== before && status.view.state === before.state) status.update(before);
      return result;
    } catch (error) {
      const failure = readFailure(error);
      if (isCancellation(error) || failure.kind === null || expected.includes(failure.kind)) throw error;
      await waitForAccess(status, status.waits, failure);
    }
  }
}
