import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { ExporterProgress, OnboardInput } from '../domain/contracts';
import type { CredentialCheck } from '../activities/exporters/credentials';
import type { ExporterState } from '../activities/exporters/exporters';
import { CREDENTIAL_KINDS, CREDENTIALS_OF_A_PERSON, delayMs } from '../domain/service/retry-table';
import { calls } from './activity-profiles';
import {
  checkSubmission,
  checkVersion,
  handleSubmissions,
  type CredentialSubmission,
  type Submissions,
} from './exporter/credential-submissions';
import { readWithRetries } from './exporter/company-reading';
import { ExporterStatus, retryUntilFixed } from './exporter/exporter-progress';
import { orNull, readFailure } from './failures';
import { needInput, refuse as refuseUpdate } from './inputs';
import { waitForAccess, waitForActivation } from './waits';

/** Continue as new beyond this many events, because an onboarding may wait for months. */
const LONG_HISTORY = 2_000;

/** Onboards an exporter; ends `ready`, or `refused` with what to do. Safe to run again for the same e-mail. */
export async function onboardExporter(
  given: OnboardInput,
  carried: CredentialSubmission[] = [],
): Promise<ExporterProgress> {
  const input = needInput('onboardExporter', given);
  const status = new ExporterStatus(null, () => continueAsNewIfLong());
  const submissions = handleSubmissions(status, input, carried, () => {
    // Also accept credentials while others are being checked, so that a person can correct a typing error at once.
    if (status.view.state === 'needs_credentials' || status.view.state === 'started') return;
    const message = 'This onboarding does not wait for credentials. Submit them to updateCredentials.';
    refuseUpdate(message, { code: 'not_waiting' });
  });
  const continueAsNewIfLong = async (): Promise<void> => {
    if (workflowInfo().historyLength < LONG_HISTORY) return;
    await condition(allHandlersFinished);
    // A submission that is being checked is already in the ledger.
    const { credentialsRef: _, ...rest } = input;
    await continueAsNew<typeof onboardExporter>(rest, submissions.all());
  };

  const settings = await calls('ledger', 'Read the settings').readSettings();
  // Index the worker's mode: the input's is unchecked, and a value that is no string would fail the workflow task.
  status.index(settings.searchAttributes, settings.mode);
  const refused = await createOrAdopt(status, input);
  if (!refused) await makeReady({ status, submissions });
  await condition(allHandlersFinished);
  if (status.view.state === 'ready') await readHistory(idOf(status));
  return status.view;
}

/** @returns whether the exporter was refused; the progress holds the reason, or the exporter's id */
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

const UNKNOWN_CLIENT = 'customer_not_found';
const PENDING = 'activation_pending';
/** Credentials may be linked elsewhere, so each check tries the refresh again. */
const NONE_ON_FILE = 'credentials_missing';

interface ReadyContext {
  status: ExporterStatus;
  submissions: Submissions;
}

/** Why a person is asked for credentials; `versionSeen`: the version that failed. */
interface Need {
  code: string;
  message: string;
  versionSeen?: number;
}

type Step = { go: 'on'; exporter: ExporterState } | { go: 'ask'; need: Need } | { go: 'end' };

/** Makes an existing client able to file: validated, active, its IRMs in the ledger. Ends `refused` or `ready`. */
async function makeReady(context: ReadyContext): Promise<void> {
  const { status } = context;
  let step = await readExporter(context);
  while (step.go !== 'end') {
    step = await validate(context, step);
    if (step.go !== 'on') continue;
    const exporter = await waitForActivation(status, status.waits, step.exporter, async () => {
      const again = await readExporter(context);
      return again.go === 'on' ? again.exporter : { exporterId: '', readiness: 'created', activatesAt: null };
    });
    if (exporter.readiness !== 'ready') {
      // The client was deactivated or removed during the wait: validate it again, or ask a person.
      step = await readExporter(context);
      continue;
    }
    const refreshed = await refresh(context, exporter);
    if (refreshed !== PENDING) {
      // Check credentials that were submitted while the IRMs were read before the onboarding ends.
      const more = refreshed.go === 'end' && status.view.state === 'ready' && context.submissions.size > 0;
      step = more ? await readExporter(context) : refreshed;
      continue;
    }
    // The service reports ready but refuses the refresh as pending: trust the refresh; the opening time is unknown.
    const { activation } = status.waits;
    const text = 'The service refuses the refresh because API access is not open yet';
    const ms = activation.nextMs();
    status.showWait({ reason: 'activation', activatesAt: exporter.activatesAt, text, ms });
    await rest(context, ms);
    activation.ended();
    step = await readExporter(context);
  }
}

async function readExporter({ status }: ReadyContext): Promise<Step> {
  const exporterId = idOf(status);
  try {
    const exporter = await retryUntilFixed(status, [UNKNOWN_CLIENT], () =>
      calls('api', { summary: 'Read the client', rateClass: 'api', exporterId }).readExporter({ exporterId }),
    );
    return { go: 'on', exporter };
  } catch (error) {
    return refuse(status, error);
  }
}

/** Checks submitted credentials in order, then stored ones, and asks for others until the client is validated. */
async function validate(context: ReadyContext, from: Step & { go: 'on' | 'ask' }): Promise<Step> {
  const { status, submissions } = context;
  const check = { status, exporterId: idOf(status) };
  let step: Step = from;
  while (step.go !== 'end') {
    const submission = submissions.next();
    if (submission) {
      step = await stepOf(context, await checkSubmission(check, submission));
    } else if (step.go === 'ask') {
      step = await askForCredentials(context, step.need);
    } else if (isValidated(step.exporter)) {
      return step;
    } else {
      const { version } = await calls('ledger', 'Look for stored credentials').storedCredentials(check);
      step =
        version === null
          ? { go: 'ask', need: NOTHING_SUBMITTED }
          : await stepOf(context, await checkVersion(check, version));
    }
  }
  return step;
}

const NOTHING_SUBMITTED: Need = {
  code: 'credentials_missing',
  message: 'No portal credentials were submitted for this exporter yet. Submit its DGFT user name and password.',
};

async function stepOf(context: ReadyContext, result: CredentialCheck): Promise<Step> {
  if (result.outcome === 'validated') return { go: 'on', exporter: result.exporter };
  if (result.outcome === 'superseded') return readExporter(context);
  const need = { code: result.reason, message: result.message };
  if (result.outcome !== 'exporter_unknown') return { go: 'ask', need };
  context.status.update({ state: 'refused', message: need.message, errors: [need] });
  return { go: 'end' };
}

/** Waits for a submission, for credentials renewed by another workflow, or for a validation made elsewhere. */
async function askForCredentials(context: ReadyContext, need: Need): Promise<Step> {
  const { status, submissions } = context;
  const exporterId = idOf(status);
  const ledger = await calls('ledger', 'Read the exporter from the ledger').exporterInLedger({ exporterId });
  const versionSeen = need.versionSeen ?? ledger.currentVersion;
  const { code, message } = need;
  status.update({ state: 'needs_credentials', activatesAt: null, message, errors: [{ code, message }] });
  for (let looks = 1; submissions.size === 0; looks += 1) {
    await rest(context, delayMs(CREDENTIALS_OF_A_PERSON, looks));
    if (submissions.size > 0) break;
    const now = await calls('ledger', 'Look for newer credentials').exporterInLedger({ exporterId });
    const read = await readExporter(context);
    if (read.go === 'end' || now.currentVersion > versionSeen) return read;
    if (read.go === 'on' && isValidated(read.exporter) && (!isValidated(ledger) || code === NONE_ON_FILE)) return read;
  }
  return { go: 'ask', need };
}

/** Sleeps until credentials are submitted, at most `ms`. */
function rest({ status, submissions }: ReadyContext, ms: number): Promise<void> {
  return status.rest(ms, 'Check the exporter again', () => submissions.size > 0);
}

/** Refreshes the IRMs live and reads them. @returns `activation_pending` if API access is not open yet */
async function refresh(context: ReadyContext, exporter: ExporterState): Promise<Step | typeof PENDING> {
  const { status } = context;
  const { exporterId } = exporter;
  status.update({ state: 'started', activatesAt: null, message: 'API access is open; the IRMs are being read.' });
  const about = { summary: 'Refresh and read the IRMs', priorityKey: 1, tries: 20 } as const;
  for (;;) {
    const { failure, irmCount } = await readWithRetries({ exporterId, what: 'irms', alone: true }, about);
    if (failure === null) {
      status.update({ state: 'ready', irmCount });
      return { go: 'end' };
    }
    const { kind, message, credentialsVersion: versionSeen } = failure;
    if (kind === PENDING) return PENDING;
    if (kind === UNKNOWN_CLIENT) return endAsUnknown(status);
    if (CREDENTIAL_KINDS.includes(kind)) return { go: 'ask', need: { code: kind, message, versionSeen } };
    await waitForAccess(status, status.waits, { kind, message, details: {} });
  }
}

/** Reads the certificates of the last years in the background. Where it fails, the first filing reads them. */
async function readHistory(exporterId: string): Promise<void> {
  const about = { summary: 'Read the certificates of the past', priorityKey: 5, tries: 5 } as const;
  await orNull(() => readWithRetries({ exporterId, what: 'certificates' }, about));
}

/** Ends an onboarding whose client the service does not know. @throws any other failure */
function refuse(status: ExporterStatus, error: unknown): Step {
  if (readFailure(error).kind !== UNKNOWN_CLIENT) throw error;
  return endAsUnknown(status);
}

function endAsUnknown(status: ExporterStatus): Step {
  const code = UNKNOWN_CLIENT;
  const message = 'The service has no such client in the mode of the API key any more. Onboard the exporter again.';
  status.update({ state: 'refused', message, errors: [{ code, message }] });
  return { go: 'end' };
}

function isValidated({ readiness }: Pick<ExporterState, 'readiness'>): boolean {
  return readiness === 'ready' || readiness === 'activation_pending';
}

function idOf(status: ExporterStatus): string {
  const { exporterId } = status.view;
  if (exporterId === null) throw new Error('The exporter is not created yet.');
  return exporterId;
}
