/** Updates, queries and signals of the workflows. The workflow files set the handlers. */
import type { z } from 'zod';
import { noFindings } from '../domain/reconciliation/findings';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { ExporterProgress, FilingResult, submitCredentialsArgs } from '../domain/contracts';
import type { ReconcileInput, ReconcileResult } from '../domain/report-contracts';

export const filingQuery = defineQuery<FilingResult>('filing');

/** Wakes a filing's run: something happened that it should read in the ledger. */
export const pokeSignal = defineSignal('poke');

export const exporterQuery = defineQuery<ExporterProgress>('exporter');

/** New credentials by vault reference, for `onboardExporter` and `updateCredentials`: answers once they are queued. */
export const submitCredentialsUpdate = defineUpdate<ExporterProgress, [z.infer<typeof submitCredentialsArgs>]>(
  'submitCredentials',
);

export const reconciliationQuery = defineQuery<ReconcileResult>('reconciliation');

/** The result of a reconciliation that has not compared anything yet. */
export const reconciliationBegun = (
  runId: string,
  workflowId: string,
  { from = '', to = '' }: Pick<ReconcileInput, 'from' | 'to'> = {},
): ReconcileResult => ({
  ...{ runId, workflowId, state: 'started', from, to },
  ...{ companies: 0, opened: 0, closed: 0, healed: 0, counts: noFindings(), skipped: [] },
});
