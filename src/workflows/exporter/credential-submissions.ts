import { setHandler } from '@temporalio/workflow';
import type { z } from 'zod';
import { submitCredentialsArgs } from '../../domain/contracts';
import { exporterQuery, submitCredentialsUpdate } from '../messages';
import type { CredentialCheck } from '../../activities/exporters/credentials';
import { calls } from '../activity-profiles';
import { handleUpdate } from '../inputs';
import { type ExporterStatus, retryUntilFixed } from './exporter-progress';

export type CredentialSubmission = z.infer<typeof submitCredentialsArgs>;

export class Submissions {
  private readonly waiting: CredentialSubmission[] = [];
  private readonly seen = new Set<string>();

  get size(): number {
    return this.waiting.length;
  }

  /** Adds a submission once, even if it arrives again with the start, an update or a repeated request. */
  add(submission: CredentialSubmission): void {
    if (this.seen.has(submission.credentialsRef)) return;
    this.seen.add(submission.credentialsRef);
    this.waiting.push(submission);
  }

  next(): CredentialSubmission | undefined {
    return this.waiting.shift();
  }

  /** The waiting submissions, for continue-as-new. */
  all(): CredentialSubmission[] {
    return [...this.waiting];
  }
}

/**
 * Collects submissions from the start and from updates.
 * @param carried those that the previous run had not checked @param mayTake throws to refuse a valid update
 */
export function handleSubmissions(
  status: ExporterStatus,
  input: { credentialsRef?: string; startedBy?: string },
  carried: readonly CredentialSubmission[],
  mayTake: () => void = () => undefined,
): Submissions {
  const submissions = new Submissions();
  setHandler(exporterQuery, () => status.view, { description: 'How far the exporter is; the shape of the result' });
  handleUpdate(
    submitCredentialsUpdate,
    submitCredentialsArgs,
    (submission) => {
      submissions.add(submission);
      status.update({ state: 'started', message: 'The submitted credentials are taken and will be checked.' });
      return status.view;
    },
    mayTake,
  );
  const { credentialsRef, startedBy: by = 'unknown' } = input;
  if (credentialsRef) submissions.add({ credentialsRef, by });
  for (const submission of carried) submissions.add(submission);
  return submissions;
}

/** Records a submission with its consent and has the service check it. */
export async function checkSubmission(
  { status, exporterId }: { status: ExporterStatus; exporterId: string },
  { credentialsRef, by }: CredentialSubmission,
): Promise<CredentialCheck> {
  const accepted = await calls('ledger', 'Record the consent').acceptCredentials({
    exporterId,
    credentialsRef,
    by,
    at: new Date().toISOString(),
  });
  if (accepted.outcome === 'accepted') return checkVersion({ status, exporterId }, accepted.version);
  return { outcome: 'incomplete', reason: 'secret_missing', message: accepted.message };
}

/** Has the service check a version of the credentials; if valid, wakes the filings that wait for new ones. */
export async function checkVersion(
  { status, exporterId }: { status: ExporterStatus; exporterId: string },
  version: number,
): Promise<CredentialCheck> {
  status.update({ state: 'started', message: 'The portal credentials are being checked.' });
  const about = {
    summary: `Check credentials, version ${version}`,
    rateClass: 'credentials',
    exporterId,
    priorityKey: 1,
  } as const;
  const result = await retryUntilFixed(status, [], () => calls('api', about).checkCredentials({ exporterId, version }));
  if (result.outcome === 'validated') {
    await calls('ledger', 'Wake the filings that wait for credentials').tellCredentialsRenewed({ exporterId });
  }
  return result;
}
