/** Exporters: onboarding, readiness, balances, credentials. Passwords go to the vault and nowhere else. */
import { z } from 'zod';
import { named } from '../http/components';
import { EXAMPLES } from '../http/examples';
import { emailAddress, onboardInput } from '../../domain/contracts';
import { dateText } from '../../domain/dates';
import { exportersAfter, findExporter, needExporter, type ExporterRow } from '../../ledger/exporters/exporters';
import { countIrms } from '../../ledger/exporters/irms';
import { changeExporter, requireApproval } from '../../starter/exporters/change';
import { onboard, updateCredentials, type ExporterOutcome } from '../../starter/exporters/operations';
import { makeTemplate } from '../../starter/exporters/template';
import { irmCursor } from '../../domain/identity';
import { exporterViews, type IrmView } from '../../starter/exporters/views';
import { createEbrcReader } from '../../starter/reader';
import { knownExporter, maySee, visibleExporter } from '../access/scope';
import { Problem } from '../http/problem';
import { addRoute, type HttpApi, type Registrar } from '../http/route';
import { WORKBOOK, workbookHeaders } from '../views/documents';
import { exporterName, FILING_DATE, listOf, pageOf, paging, readCursor, visible } from '../http/fields';

const EXPORTER = z.object({ exporter: exporterName });

const exporterSchema = named(
  'Exporter',
  z.object({
    exporterId: z.string(),
    email: z.string(),
    name: z.string(),
    companyName: z.string().nullable(),
    iec: z.string().nullable(),
    state: z.string().describe('created, unvalidated, needs_credentials, activation_pending or ready'),
    activatesAt: z.string().nullable().describe('when access opens, while it is pending'),
    irmCount: z.number().int(),
    requiresApproval: z.boolean(),
    readAt: z.string(),
  }),
);

const progressSchema = named(
  'ExporterProgress',
  z.object({
    exporterId: z.string().nullable(),
    email: z.string(),
    name: z.string(),
    state: z.string().describe('started, needs_credentials, activation_pending, ready or refused'),
    activatesAt: z.string().nullable(),
    irmCount: z.number().int().nullable(),
    workflowId: z.string(),
    message: z.string().nullable(),
  }),
);

/** Not trimmed, because a password may begin with a blank. */
const password = z.string().min(1, 'is empty').max(500).describe('goes straight to the vault');
const username = visible(200).describe("user name at the authority's portal");

const onboarding = named(
  'OnboardExporterRequest',
  z
    .strictObject({
      name: visible(200),
      email: emailAddress,
      iec: onboardInput.shape.iec,
      companyName: visible(300).optional(),
      address: visible(1_000).optional(),
      username: username.optional(),
      password: password.optional(),
    })
    .refine((body) => (body.username === undefined) === (body.password === undefined), {
      message: 'goes with username: give both or neither',
      path: ['password'],
    }),
  EXAMPLES.onboard,
);

const changeInput = named(
  'ChangeExporterRequest',
  z
    .strictObject({
      name: visible(200).optional(),
      companyName: visible(300).optional(),
      address: visible(1_000).optional(),
      approval: z.enum(['required', 'off']).optional().describe('whether its filings wait for a second person'),
    })
    .refine((body) => Object.keys(body).length > 0, 'names nothing to change'),
  EXAMPLES.change,
);

const amount = z.string().nullable();
const irmSchema = named(
  'Irm',
  z.object({
    irmNumber: z.string(),
    irmAdCode: z.string(),
    irmIfscCode: z.string(),
    irmDt: z.string().describe(FILING_DATE),
    irmFCC: z.string().nullable(),
    irmPurposeCode: z.string().nullable(),
    irmRemitAmtFCC: amount,
    remittanceDate: z.string().nullable().describe(FILING_DATE),
    available: amount,
    held: z.string().describe('held by our live filings and not yet in the balance'),
    free: amount,
    readAt: z.string(),
  }),
);

export function addExporterRoutes(server: Registrar, { deps }: HttpApi): void {
  const registrar = { ...server, tag: 'Exporters' };
  const { pool, mode } = deps;
  const reader = createEbrcReader(deps);

  async function bodiesOf(exporters: readonly ExporterRow[]) {
    const ids = exporters.map(({ exporterId }) => exporterId);
    const counts = await countIrms(pool, ids);
    // The schema drops what the API does not show.
    const views = await exporterViews(pool, exporters);
    return views.map((view) => exporterSchema.parse({ ...view, irmCount: counts.get(view.exporterId) ?? 0 }));
  }
  const bodyOf = async (exporter: ExporterRow) => (await bodiesOf([exporter]))[0];

  addRoute(registrar, {
    id: 'onboardExporter',
    codes: ['refused', 'exporters_limited', 'email_taken', 'exporter_differs', 'invalid_input', 'credentials_refused'],
    route: 'POST /exporters',
    summary: 'Onboard an exporter',
    roles: ['admin'],
    body: onboarding,
    answers: { 202: { description: 'Started; GET the exporter for its progress', schema: progressSchema } },
    async handle({ principal, body: { username: user, password: secret, ...customer } }) {
      const existing = await findExporter(pool, mode, customer.email);
      if (principal.exporters !== null && !(existing && maySee(principal, existing.exporterId))) {
        throw new Problem(403, 'exporters_limited', 'A principal that sees some exporters only cannot add others.');
      }
      const credentials = user !== undefined && secret !== undefined ? { username: user, password: secret } : undefined;
      const outcome = await onboard(deps, { ...customer, credentials, by: principal.name });
      return progressAnswer(outcome, customer);
    },
  });

  addRoute(registrar, {
    id: 'listExporters',
    route: 'GET /exporters',
    summary: 'List the exporters',
    query: z.strictObject(paging),
    answers: { 200: { description: 'Exporters, by id', schema: listOf(exporterSchema) } },
    async handle({ principal, query: { cursor, limit } }) {
      const after = readCursor(cursor, z.string().max(200)) ?? '';
      const { exporters } = principal;
      const read = await exportersAfter(pool, { mode, after, limit: limit + 1, exporters });
      const { items, next } = pageOf(read, limit, (last) => last.exporterId);
      return { body: { items: await bodiesOf(items), next } };
    },
  });

  addRoute(registrar, {
    id: 'getExporter',
    route: 'GET /exporters/:exporter',
    summary: 'An exporter with its readiness',
    params: EXPORTER,
    answers: { 200: { description: 'The exporter', schema: exporterSchema } },
    async handle({ principal, params }) {
      return { body: await bodyOf(await knownExporter(deps, principal, params.exporter)) };
    },
  });

  addRoute(registrar, {
    id: 'changeExporter',
    codes: ['refused', 'policy_refused', 'needs_token', 'validation_failed'],
    route: 'PATCH /exporters/:exporter',
    summary: 'Change its name, company name or address at the service, or whether its filings wait for a second person',
    roles: ['admin'],
    params: EXPORTER,
    body: changeInput,
    answers: {
      200: { description: 'The exporter', schema: exporterSchema },
      202: { description: 'Noted; a second admin has to ask for the same within a day', schema: exporterSchema },
    },
    async handle({ principal, params, body }) {
      const { exporterId } = await knownExporter(deps, principal, params.exporter);
      const { approval, ...change } = body;
      if (Object.keys(change).length > 0) await changeExporter(deps, exporterId, change);
      const asked = { required: approval === 'required', by: principal.name };
      const waits = approval && (await requireApproval({ ...deps, principal }, exporterId, asked)).waits;
      return { status: waits ? 202 : 200, body: await bodyOf(await needExporter(pool, exporterId)) };
    },
  });

  addRoute(registrar, {
    id: 'renewCredentials',
    codes: ['refused', 'credentials_refused'],
    route: 'PUT /exporters/:exporter/credentials',
    summary: 'Renew the portal credentials; filings that wait for them continue',
    roles: ['admin'],
    params: EXPORTER,
    body: named('RenewCredentialsRequest', z.strictObject({ username, password }), EXAMPLES.credentials),
    answers: { 202: { description: 'Handed in; GET the exporter for the outcome', schema: progressSchema } },
    async handle({ principal, params, body }) {
      const { exporterId, email, name } = await knownExporter(deps, principal, params.exporter);
      const outcome = await updateCredentials(deps, exporterId, body, { by: principal.name });
      return progressAnswer(outcome, { email, name });
    },
  });

  addRoute(registrar, {
    id: 'listIrms',
    route: 'GET /exporters/:exporter/irms',
    summary: 'Its remittances, with what our filings hold of their balances',
    params: EXPORTER,
    query: z.strictObject({
      ...paging,
      free: z.enum(['true', 'false']).optional().describe('only those with a free balance'),
    }),
    answers: { 200: { description: 'Remittances, as last read from the authority', schema: listOf(irmSchema) } },
    async handle({ principal, params, query: { cursor, limit, free } }) {
      const exporterId = await visibleExporter(deps, principal, params.exporter);
      const after = readCursor(cursor, z.string().max(500));
      const part = free === 'true' ? {} : { limit: limit + 1 };
      const shown: IrmView[] = [];
      for await (const page of reader.irmPages(exporterId, { after, ...part })) {
        shown.push(...(free === 'true' ? page.filter((irm) => irm.free !== null && Number(irm.free) > 0) : page));
        if (shown.length > limit) break;
      }
      const { items, next } = pageOf(shown, limit, irmCursor);
      return { body: { items: items.map(irmBody), next } };
    },
  });

  addRoute(registrar, {
    id: 'getTemplate',
    route: 'GET /exporters/:exporter/template',
    summary: 'The workbook to fill in, with one row for each remittance',
    params: EXPORTER,
    answers: { 200: { description: 'A workbook', type: WORKBOOK } },
    async handle({ principal, params }) {
      const { exporterId } = await knownExporter(deps, principal, params.exporter);
      const { bytes } = await makeTemplate({ pool, mode }, exporterId);
      return { headers: workbookHeaders(`template-${exporterId}.xlsx`), body: bytes };
    },
  });
}

/** In the names of a push message, so that they are copied into one. */
const irmBody = ({ irmIssueDate, currency, purposeCode, amount: remitted, remittanceDate, ...irm }: IrmView) => ({
  ...irm,
  irmDt: dateText(irmIssueDate),
  irmFCC: currency,
  irmPurposeCode: purposeCode,
  irmRemitAmtFCC: remitted,
  remittanceDate: dateText(remittanceDate),
});

function progressAnswer(outcome: ExporterOutcome, { email, name }: { email: string; name: string }) {
  const { exporterId, state, activatesAt, irmCount, workflowId, message, notice, errors } = outcome;
  if (state === 'refused') {
    throw new Problem(422, 'refused', message ?? errors[0]?.message ?? 'It was refused.', { errors });
  }
  const body = { exporterId, email, name, state, activatesAt, irmCount, workflowId, message: message ?? notice };
  return { status: 202, body };
}
