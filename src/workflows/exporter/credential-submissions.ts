import { setHandler } from '@temporalio/workflow';
import type { z } from 'zod';
import { submitCredentialsArgs } from '../../domain/update-contracts';
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

  /** A submission that came before, by another way or in a repeated request, is taken once. */
  add(submission: CredentialSubmission): void {
    if (this.seen.has(submission.credentialsRef)) return;
    this.seen.add(submission.credentialsRef);
    this.waiting.push(submission);
  }

  next(): CredentialSubmission | undefined {
    return this.waiting.shift();
  }

  /** For the run that this one continues as. */
  all(): CredentialSubmission[] {
    return [...this.waiting];
  }
}

/**
 * Takes what is submitted, with the start and by updates.
 * @param carried what the run before this one had not looked at @param mayTake refuses an update of the right form
 */
export function handleSubmissions(
  status: ExporterStatus,
  input: { credentialsRef?: string; startedBy?: string },
  carried: readonly CredentialSubmission[],
  mayTake: () => void = () => undefined,
): Submissions {
  const submissions = new Submissions();
  setHandler(exporterQuery, () => status.view);
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

/** Takes a submission on record with its consent, and has the service check it. */
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

/** Has the service check a version; where it is valid, the filings that wait for better credentials are signalled. */
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
    await calls('ledger', 'Notify waiting filings').tellCredentialsRenewed({ exporterId, version });
  }
  return result;
}
