/** What a run of a workflow waits for, as Temporal's server knows it: its calls, and why the last try of one failed. */
import type { WorkflowHandle } from '@temporalio/client';
import type { LoadedDataConverter } from '@temporalio/common';
import { counted } from '../domain/text';
import { optionalTsToDate } from '@temporalio/common/lib/time';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow';

/** A line for people about the call that was tried most; null: none is under way. */
export async function pendingCallText(handle: WorkflowHandle, converter: LoadedDataConverter): Promise<string | null> {
  const { raw } = await handle.describe();
  const [call, ...others] = (raw.pendingActivities ?? []).sort((a, b) => (b.attempt ?? 0) - (a.attempt ?? 0));
  if (!call) return null;
  const name = (call.activityType?.name ?? 'a call').replace(/[A-Z]/gu, (letter) => ` ${letter.toLowerCase()}`);
  const failure = await decodeOptionalFailureToOptionalError(converter, call.lastFailure);
  const next = optionalTsToDate(call.nextAttemptScheduleTime)?.toISOString();
  // The number is that of the attempt that comes next.
  const tries =
    failure &&
    `, which failed ${counted((call.attempt ?? 1) - 1, 'time')}: ${failure.message}${next ? `; next try at ${next}` : ''}`;
  return `waits for: ${name}${tries ?? ''}${others.length > 0 ? ` (and ${others.length} more)` : ''}`;
}
