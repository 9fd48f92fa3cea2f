import {
  allHandlersFinished,
  ApplicationFailure,
  condition,
  continueAsNew,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { ExporterProgress, OnboardInput } from '../domain/contracts';
import { calls } from './activity-profiles';
import { handleSubmissions } from './exporter/credential-submissions';
import { ExporterStatus, retryUntilFixed } from './exporter/exporter-progress';
import { credentialsRenewedSignal } from './messages';
import { makeReady } from './exporter/make-ready';
import { needInput } from './failures';

/** An onboarding may wait for months; it continues as new well before its history is long. */
const LONG_HISTORY = 2_000;

/** Onboards an exporter; ends `ready`, or `refused` with what to do. Safe to run again for the same e-mail. */
export async function onboardExporter(input: OnboardInput): Promise<ExporterProgress> {
  needInput('onboardExporter', input);
  const status = new ExporterStatus(null, () => continueAsNewIfLong());
  const submissions = handleSubmissions(status, input, () => {
    // While others are being checked, the next ones are taken too: the person who corrects a typing error is quick.
    if (status.view.state === 'needs_credentials' || status.view.state === 'started') return;
    const message = 'This onboarding does not wait for credentials. Submit them to updateCredentials.';
    throw ApplicationFailure.nonRetryable(message, 'not_waiting');
  });
  const renewal = { came: false };
  setHandler(credentialsRenewedSignal, () => {
    renewal.came = true;
  });

  const continueAsNewIfLong = async (): Promise<void> => {
    if (workflowInfo().historyLength < LONG_HISTORY || submissions.size > 0) return;
    await condition(allHandlersFinished);
    const { credentialsRef, ...rest } = input;
    // Before the client exists nothing was submitted yet; after that, what was submitted is in the ledger.
    await continueAsNew<typeof onboardExporter>(
      status.view.exporterId === null && credentialsRef ? { ...rest, credentialsRef } : rest,
    );
  };

  const settings = await calls('ledger', 'Read the settings').readSettings();
  // The worker's mode: the input's is not checked yet, and what is no text would fail the workflow task.
  status.index(settings.searchAttributes, settings.mode);
  const refused = await createOrAdopt(status, input);
  if (!refused) await makeReady({ status, submissions, renewal });
  await condition(allHandlersFinished);
  return status.view;
}

/** Whether it was refused; the progress holds the reason, or the exporter's id. */
async function createOrAdopt(status: ExporterStatus, input: OnboardInput): Promise<boolean> {
  const checked = await calls('ledger', 'Check the input').checkOnboardInput({ input });
  const result =
    checked.outcome === 'refused'
      ? checked
      : await retryUntilFixed(status, [], () =>
          calls('api', { summary: 'Create or adopt the client', rateClass: 'api' }).createExporter({ input }),
        );
  if (result.outcome === 'refused') {
    status.update({ state: 'refused', message: result.errors[0]?.message ?? null, errors: result.errors });
    return true;
  }
  status.update({ exporterId: result.exporter.exporterId });
  return false;
}
