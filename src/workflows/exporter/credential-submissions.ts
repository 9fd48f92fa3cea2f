import { ApplicationFailure, setHandler } from '@temporalio/workflow';
import { exporterQuery, submitCredentialsUpdate } from '../messages';
import type { CredentialCheck } from '../../activities/exporters/credentials';
import { calls } from '../activity-profiles';
import { type ExporterStatus, retryUntilFixed } from './exporter-progress';

export interface CredentialSubmission {
  credentialsRef: string;
  by: string;
}

/** Submissions of credentials, taken in the order in which they came. */
export class Submissions {
  private readonly waiting: CredentialSubmission[] = [];
  private readonly seen = new Set<string>();

  get size(): number {
    return this.waiting.length;
  }

  /** A submission that came before, by another way or in a repeated request, is taken once. */
  add(submission: CredentialSubmission): void {
    if (this.seen.has(submission.credentialsRef)) return;
    this.seen.add(submission.credentialsRef);
    this.waiting.push(submission);
  }

  next(): CredentialSubmission | undefined {
    return this.waiting.shift();
  }
}

/** Takes what is submitted, with the start and by updates. @param mayTake refuses an update of the right form */
export function handleSubmissions(
  status: ExporterStatus,
  input: { credentialsRef?: string; startedBy?: string },
  mayTake: () => void = () => undefined,
): Submissions {
  const submissions = new Submissions();
  setHandler(exporterQuery, () => status.view);
  setHandler(
    submitCredentialsUpdate,
    (submission) => {
      submissions.add(submission);
      status.update({ state: 'started', message: 'The submitted credentials are taken and will be checked.' });
      return status.view;
    },
    {
      // What it refuses leaves no trace in the history.
      validator: (submission: CredentialSubmission | null | undefined) => {
        const { credentialsRef, by } = submission ?? {};
        if (!isText(credentialsRef) || !isText(by)) throw ApplicationFailure.nonRetryable(TAKES, 'invalid_input');
        mayTake();
      },
    },
  );
  const { credentialsRef, startedBy: by = 'unknown' } = input;
  if (credentialsRef) submissions.add({ credentialsRef, by });
  return submissions;
}

const TAKES = 'submitCredentials takes {credentialsRef, by}: a vault reference and who consents.';

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

interface CheckContext {
  status: ExporterStatus;
  exporterId: string;
}

/** Takes a submission on record with its consent, and has the service check it. */
export async function checkSubmission(
  context: CheckContext,
  { credentialsRef, by }: CredentialSubmission,
): Promise<CredentialCheck> {
  const accepted = await calls('ledger', 'Record the consent').acceptCredentials({
    exporterId: context.exporterId,
    credentialsRef,
    by,
    at: new Date().toISOString(),
  });
  if (accepted.outcome === 'accepted') return checkVersion(context, accepted.version);
  return { outcome: 'incomplete', reason: 'secret_missing', message: accepted.message };
}

/** Has the service check a version; where it is valid, the filings that wait for better credentials are signalled. */
export async function checkVersion({ status, exporterId }: CheckContext, version: number): Promise<CredentialCheck> {
  status.update({ state: 'started', message: 'The portal credentials are being checked.' });
  const about = {
    summary: `Check credentials, version ${version}`,
    rateClass: 'credentials',
    exporterId,
    priorityKey: 1,
  } as const;
  const result = await retryUntilFixed(status, [], () => calls('api', about).checkCredentials({ exporterId, version }));
  if (result.outcome === 'validated') {
    await calls('ledger', 'Notify waiting filings').tellCredentialsRenewed({ exporterId, version });
  }
  return result;
}
