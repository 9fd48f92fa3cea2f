import { Context } from '@temporalio/activity';
import { ApiError } from '../../api/errors/api-error';
import type { CallContext } from '../../api/http/call';
import type { Customer } from '../../api/schemas/exporters';
import { onboardInput, type ChangeExporterInput, type OnboardInput } from '../../domain/contracts';
import { readinessOf } from '../../domain/exporter/exporter';
import { IN_PLAIN_WORDS, issueText } from '../../domain/issues';
import { otherModeText } from '../../domain/values';
import { findExporter, saveExporter, type ExporterRow } from '../../ledger/exporters/exporters';
import { readClock } from '../../ledger/readings';
import { notYet } from '../application-failure';
import { withHeartbeat } from '../call-context';
import type { Deps } from '../dependencies';

/** An exporter as a workflow holds it, without name and e-mail, which do not belong in a history. */
export interface ExporterState extends ReturnType<typeof readinessOf> {
  exporterId: string;
}

export type CreateExporterResult =
  | { outcome: 'created' | 'adopted'; exporter: ExporterState }
  | { outcome: 'refused'; errors: { code: string; message: string }[] };

/** How often a client whose e-mail is taken is looked for, because the list may lag behind. */
const LOOKS = 4;
const NEXT_LOOK_MS = 30_000;

/** Checks the form of an onboarding's input, and that its mode is that of this worker's key. */
function checkOnboardInput(
  { mode }: Deps,
  { input }: { input: OnboardInput },
): Promise<Extract<CreateExporterResult, { outcome: 'refused' }> | { outcome: 'ok' }> {
  const parsed = onboardInput.safeParse(input, IN_PLAIN_WORDS);
  if (!parsed.success) {
    const errors = parsed.error.issues.map((issue) => ({ code: 'invalid_input', message: issueText(issue) }));
    return Promise.resolve({ outcome: 'refused', errors });
  }
  if (input.mode === mode) return Promise.resolve({ outcome: 'ok' });
  const message = otherModeText('The exporter is to be onboarded in', input.mode, mode);
  return Promise.resolve({ outcome: 'refused', errors: [{ code: 'wrong_mode', message }] });
}

/** Creates the client, or adopts the one with its e-mail, because the answer to an earlier create may be lost. */
async function createExporter(deps: Deps, { input }: { input: OnboardInput }): Promise<CreateExporterResult> {
  const { logger } = deps;
  return withHeartbeat('', async (call) => {
    const known = await adoptKnown(deps, input, call);
    if (known) return known;
    if (Context.current().info.attempt > 1) {
      const found = await findAtService(deps, input.email, call);
      if (found) return adopt(deps, found, input, call);
    }
    const result = await create(deps, input, call);
    logger.info({ outcome: result.outcome }, 'exporter created or adopted');
    return result;
  });
}

/** Reads the client from the service into the ledger (spec: "GET /platform-customers/{id}"). */
async function readExporter(deps: Deps, { exporterId }: { exporterId: string }): Promise<ExporterState> {
  return withHeartbeat(exporterId, async (call) => exporterState(await read(deps, exporterId, call)));
}

/** Changes the client (spec: "PATCH /platform-customers/{id}") and stores the service's answer in the ledger. */
async function changeExporter(
  deps: Deps,
  { exporterId, change }: { exporterId: string; change: Omit<ChangeExporterInput, 'mode' | 'exporterId'> },
): Promise<void> {
  const update = (call: CallContext) => deps.api.updateCustomer(exporterId, change, call);
  await withHeartbeat(exporterId, (call) => saveAnswer(deps, () => update(call), change.name));
}

/** Saves the client that a call returns, as of its start. `typed`: the name, used if the answer has none (NA). */
async function saveAnswer(deps: Deps, ask: () => Promise<Customer>, typed: string | null = null): Promise<ExporterRow> {
  const { pool, mode } = deps;
  const readAt = await readClock(pool);
  const customer = await ask();
  return saveExporter(pool, { ...customer, name: customer.name ?? typed }, mode, readAt);
}

const read = (deps: Deps, exporterId: string, call: CallContext, typed?: string): Promise<ExporterRow> =>
  saveAnswer(deps, () => deps.api.getCustomer(exporterId, call), typed);

/** The client with exactly this e-mail; the list's search also matches parts of names and addresses. */
async function findAtService({ api }: Deps, email: string, call: CallContext) {
  const found: Customer[] = [];
  for await (const customer of api.listCustomers({ search: email }, call)) found.push(customer);
  return exactMatch(found, email);
}

async function adopt(
  deps: Deps,
  customer: Customer,
  input: OnboardInput,
  call: CallContext,
): Promise<CreateExporterResult> {
  const errors = disagreements(customer, input);
  if (errors.length > 0) return { outcome: 'refused', errors };
  // Read the client, because the list lacks dgftApiStatus and may lag behind.
  return { outcome: 'adopted', exporter: exporterState(await read(deps, customer.id, call, input.name)) };
}

/** Adopts the ledger's exporter with this e-mail, if the service still has it. */
async function adoptKnown(deps: Deps, input: OnboardInput, call: CallContext): Promise<CreateExporterResult | null> {
  const { pool, mode, api } = deps;
  const known = await findExporter(pool, mode, input.email);
  if (!known) return null;
  const readAt = await readClock(pool);
  try {
    const customer = await api.getCustomer(known.exporterId, call);
    await saveExporter(pool, customer, mode, readAt);
    return exactMatch([customer], input.email) && (await adopt(deps, customer, input, call));
  } catch (error) {
    if (error instanceof ApiError && error.kind === 'customer_not_found') return null;
    throw error;
  }
}

async function create(deps: Deps, input: OnboardInput, call: CallContext): Promise<CreateExporterResult> {
  const { name, email, companyName, iec, address } = input;
  try {
    const created = () => deps.api.createCustomer({ name, email, companyName, iec, address }, call);
    return { outcome: 'created', exporter: exporterState(await saveAnswer(deps, created, name)) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.kind === 'validation_failed') return refusedBy(error);
    if (error.kind !== 'email_taken') throw error;
  }
  const taken = await findAtService(deps, email, call);
  if (taken) return adopt(deps, taken, input, call);
  if (Context.current().info.attempt < LOOKS) {
    throw notYet('The service says that the e-mail is taken, but lists no client with it yet.', NEXT_LOOK_MS);
  }
  const message =
    'The service says that another client of the account has this e-mail, but does not list it. Ask the service, or use another e-mail.';
  return { outcome: 'refused', errors: [{ code: 'email_taken', message }] };
}

export function exporterState(row: ExporterRow): ExporterState {
  return { exporterId: row.exporterId, ...readinessOf(row) };
}

/** The service's refusal, by field if it names any. */
function refusedBy(error: ApiError): CreateExporterResult {
  const fields = error.fieldErrors.map(({ field, message }) =>
    field && !message.startsWith(field) ? `${field}: ${message}` : message,
  );
  const message = fields.length > 0 ? fields.join('; ') : error.message;
  return { outcome: 'refused', errors: [{ code: error.errorCode ?? error.kind, message }] };
}

/** The client with this e-mail among those that a search found: an exact match first, else in any letter case. */
function exactMatch(customers: readonly Customer[], email: string): Customer | null {
  const wanted = email.trim();
  return (
    customers.find((customer) => customer.email?.trim() === wanted) ??
    customers.find((customer) => customer.email?.trim().toLowerCase() === wanted.toLowerCase()) ??
    null
  );
}

/** Why a client with that e-mail is not the exporter that was meant. Adopting it would file in another's name. */
function disagreements(customer: Customer, input: Pick<OnboardInput, 'name' | 'iec'>) {
  const errors: { code: string; message: string }[] = [];
  const refuse = (field: string, theirs: string, ours: string) =>
    errors.push({
      code: 'exporter_differs',
      message: `A client with this e-mail exists (${customer.id}), but its ${field} is "${theirs}", not "${ours}". Give the ${field} that it has, or use another e-mail.`,
    });
  if (customer.name !== null && nameKey(customer.name) !== nameKey(input.name)) {
    refuse('name', customer.name, input.name);
  }
  const [theirs, ours] = [iecKey(customer.iec), iecKey(input.iec)];
  if (theirs && ours && theirs !== ours) refuse('IEC', theirs, ours);
  return errors;
}

/** Names are typed by people, so letter case and white space do not count. */
function nameKey(name: string): string {
  return name.normalize('NFC').trim().replace(/\s+/gu, ' ').toLowerCase();
}

function iecKey(iec: string | null | undefined): string {
  return iec?.trim().toUpperCase() ?? '';
}

export const exporterActivities = {
  checkOnboardInput,
  createExporter,
  readExporter,
  changeExporter,
};
