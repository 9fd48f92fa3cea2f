import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { ExporterProgress } from '../../domain/contracts';
import { markdownText } from '../../domain/text';
import { searchAttributes, type Indexed } from '../search-attributes';

/** Progress of an onboarding or a credential update: its query result, its details in the UI, its search attributes. */
export class ExporterStatus {
  private progress: ExporterProgress;
  private available: readonly string[] = [];
  private shown: Indexed = {};

  constructor(exporterId: string | null) {
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

  /** From here on updates also set the search attributes that the server knows. */
  index(available: readonly string[], mode: string): void {
    this.available = available;
    this.show({ mode });
    this.update({});
  }

  /** Changes the given properties; message and errors are cleared unless they are given again. */
  update(change: Partial<ExporterProgress> & { needsAttention?: boolean }): void {
    const { needsAttention, ...told } = change;
    this.progress = { ...this.progress, message: null, errors: [], ...told };
    const { exporterId, state, message } = this.progress;
    setCurrentDetails([`**${TITLES[state]}**`, markdownText(message ?? '')].filter(Boolean).join('\n\n'));
    this.show({ exporterId, state, needsAttention: needsAttention ?? state === 'needs_credentials' });
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
