/** Updates, queries and signals of the workflows. The workflow files set the handlers. */
import type { z } from 'zod';
import { noFindings } from '../domain/reconciliation/findings';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { ExporterProgress, FileInput, FilingResult } from '../domain/contracts';
import type { AbandonArgs, ApproveArgs, ResolveArgs, submitCredentialsArgs } from '../domain/update-contracts';
import type { ReconcileInput, ReconcileResult } from '../domain/report-contracts';

export const filingQuery = defineQuery<FilingResult>('filing');

/** Update-with-start of `fileRemittances`: answers once it is recorded or refused; fails with `reference_taken`. */
export const fileUpdate = defineUpdate<FilingResult, [FileInput]>('file');

export const approveUpdate = defineUpdate<FilingResult, [ApproveArgs]>('approve');
export const resolveUpdate = defineUpdate<FilingResult, [ResolveArgs]>('resolve');
export const abandonUpdate = defineUpdate<FilingResult, [AbandonArgs]>('abandon');

export const exporterQuery = defineQuery<ExporterProgress>('exporter');

/** New credentials by vault reference, for `onboardExporter` and `updateCredentials`: answers once they are queued. */
export const submitCredentialsUpdate = defineUpdate<ExporterProgress, [z.infer<typeof submitCredentialsArgs>]>(
  'submitCredentials',
);

/** Sent by an activity to every filing that waits for credentials, once newer ones are valid. */
export const credentialsRenewedSignal = defineSignal<[{ version: number }]>('credentialsRenewed');

/** Sent by the submit activity when it stores the service's answer after the run gave up waiting for it. */
export const answerStoredSignal = defineSignal<[{ attemptId: string }]>('answerStored');

export const reconciliationQuery = defineQuery<ReconcileResult>('reconciliation');

/** The result of a reconciliation that has not compared anything yet. */
export const reconciliationBegun = (
  runId: string,
  workflowId: string,
  { from = '', to = '' }: Pick<ReconcileInput, 'from' | 'to'> = {},
): ReconcileResult => ({
  ...{ runId, workflowId, state: 'started', from, to },
  ...{ parties: 0, opened: 0, closed: 0, healed: 0, counts: noFindings(), skipped: [] },
});
