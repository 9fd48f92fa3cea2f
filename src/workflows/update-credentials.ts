import type { z } from 'zod';
import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { CredentialCheck } from '../activities/exporters/credentials';
import type { ExporterProgress, updateCredentialsInput } from '../domain/contracts';
import type { ErrorKind } from '../domain/service/error-kinds';
import { otherModeText } from '../domain/values';
import { calls } from './activity-profiles';
import { checkSubmission, handleSubmissions, type CredentialSubmission } from './exporter/credential-submissions';
import { ExporterStatus, retryUntilFixed } from './exporter/exporter-progress';
import { readFailure } from './failures';
import { needInput } from './inputs';

/** A workflow that was started without a submission (a caller's mistake) ends after this time. */
const FIRST_SUBMISSION_WITHIN = '5m';
const LONG_HISTORY = 2_000;
/** No client has the id, or the text cannot be an id (spec: "Invalid platform customer ID format"). */
const UNKNOWN_CLIENT: readonly ErrorKind[] = ['customer_not_found', 'validation_failed'];

/** Checks submitted credentials in order and notifies waiting filings. Ends with the last outcome when none is left. */
export async function updateCredentials(
  given: z.input<typeof updateCredentialsInput>,
  carried: CredentialSubmission[] = [],
): Promise<ExporterProgress> {
  const input = needInput('updateCredentials', given);
  const { exporterId, mode } = input;
  const status = new ExporterStatus(exporterId, () => continueAsNewIfLong());
  const submissions = handleSubmissions(status, input, carried);
  let current: CredentialSubmission | undefined;
  const continueAsNewIfLong = async (): Promise<void> => {
    if (workflowInfo().historyLength < LONG_HISTORY) return;
    await condition(allHandlersFinished);
    const open = [...(current ? [current] : []), ...submissions.all()];
    await continueAsNew<typeof updateCredentials>({ mode, exporterId }, open);
  };

  const started = { workflow: 'updateCredentials', input } as const;
  const settings = await calls('ledger', 'Read the settings').readSettings(started);
  const problems = settings.inputProblems ?? [];
  if (problems.length > 0) {
    const errors = problems.map((message) => ({ code: 'invalid_input', message }));
    status.update({ exporterId: null, state: 'refused', message: problems.join('; '), errors });
    return status.view;
  }
  status.index(settings.searchAttributes, settings.mode);
  if (settings.mode !== mode) {
    const message = otherModeText('The credentials are for', mode, settings.mode);
    status.update({ state: 'refused', message, errors: [{ code: 'wrong_mode', message }] });
    return status.view;
  }
  await condition(() => submissions.size > 0, FIRST_SUBMISSION_WITHIN, { summary: 'Wait for submitted credentials' });
  let outcome: CredentialOutcome = NOTHING_SUBMITTED;
  do {
    for (current = submissions.next(); current; current = submissions.next()) {
      outcome = await checkOne({ status, exporterId }, current);
    }
    await condition(allHandlersFinished);
    // A submission that arrives during `showOutcome` is still checked by the next turn of this loop.
    if (submissions.size === 0) await showOutcome(status, outcome);
  } while (submissions.size > 0);
  return status.view;
}

type CredentialOutcome = Exclude<CredentialCheck, { outcome: 'superseded' }>;
const NOTHING_SUBMITTED: CredentialOutcome = {
  outcome: 'incomplete',
  reason: 'credentials_missing',
  message: 'No credentials were submitted. Submit the DGFT user name and password.',
};

async function checkOne(
  context: { status: ExporterStatus; exporterId: string },
  submission: CredentialSubmission,
): Promise<CredentialOutcome> {
  const { status, exporterId } = context;
  const readExporter = () =>
    retryUntilFixed(status, UNKNOWN_CLIENT, () =>
      calls('api', { summary: 'Read the client', rateClass: 'api', exporterId }).readExporter({ exporterId }),
    );
  try {
    // Reading the client records it in the ledger, which needs it before it can keep credentials.
    const known = await readExporter();
    // The ledger uses the id as the service spells it.
    const result = await checkSubmission({ ...context, exporterId: known.exporterId }, submission);
    return result.outcome === 'superseded' ? { outcome: 'validated', exporter: await readExporter() } : result;
  } catch (error) {
    const { kind } = readFailure(error);
    if (kind === null || !UNKNOWN_CLIENT.includes(kind)) throw error;
    const message = `The service has no client ${exporterId} in the mode of the API key. Check the id, or onboard the exporter.`;
    return { outcome: 'exporter_unknown', reason: kind, message };
  }
}

async function showOutcome(status: ExporterStatus, outcome: CredentialOutcome): Promise<void> {
  if (outcome.outcome !== 'validated') {
    const { reason: code, message } = outcome;
    const state = outcome.outcome === 'exporter_unknown' ? 'refused' : 'needs_credentials';
    status.update({ state, message, errors: [{ code, message }] });
    return;
  }
  const { exporterId, readiness, activatesAt } = outcome.exporter;
  const { irmCount } = await calls('ledger', 'Read the exporter from the ledger').exporterInLedger({ exporterId });
  if (readiness === 'activation_pending') {
    const message = `The credentials are valid. The authority opens API access at ${activatesAt ?? 'a time it has not said'}.`;
    status.update({ state: 'activation_pending', activatesAt, irmCount, message });
  } else {
    status.update({ state: 'ready', activatesAt: null, irmCount, message: 'The credentials are valid.' });
  }
}
