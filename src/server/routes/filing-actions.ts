/** What persons do about a filing. Each action answers the filing as it is afterwards. */
import { z } from 'zod';
import { CODES } from '../http/problem-codes';
import { named } from '../http/components';
import { EXAMPLES } from '../http/examples';
import { MAY } from '../../domain/principal';
import { getFiling } from '../../ledger/filings/filing';
import { correctFiling } from '../../starter/filings/correct';
import { abandon, approve, resolve, type ResolveArgs } from '../../starter/filings/decide';
import { resumeFiling } from '../../starter/filings/resume';
import type { FilingOutcome } from '../../starter/filings/outcome';
import { RefusedError } from '../../starter/errors';
import { visibleFiling } from '../access/scope';
import { Problem } from '../http/problem';
import { addRoute, depsFor, type HttpApi, type Registrar } from '../http/route';
import { filingName, note, visible } from '../http/fields';
import { filingSchema } from '../views/filing';
import { recorded } from './filings';
import { sourceOf, statedSchema } from '../http/filing-source';

const FILING = z.object({ filing: filingName });
const attempt = z
  .number()
  .int()
  .min(1)
  .optional()
  .describe('the attempt that was looked at; needed while the filing shows one, and refused if it is another');
const shown = z
  .array(visible(300))
  .max(1_000)
  .optional()
  .describe('the names of the evidence that was looked at; left out: what the filing shows now');

const resolveInput = named(
  'ResolveFilingRequest',
  z.strictObject({
    as: z.enum(['filed', 'not-filed']),
    attempt,
    shown,
    requestId: visible(300).optional().describe('with filed: the request that it was filed under'),
    certificates: z
      .array(z.strictObject({ row: z.number().int(), eBRCNumber: visible(100) }))
      .max(999)
      .optional()
      .describe('with filed: the certificate of each row; two persons have to name the same'),
    ends: z.boolean().optional().describe('with not-filed: the filing ends, instead of being sent again'),
    note,
  }),
  EXAMPLES.resolve,
);

export function addFilingActionRoutes(server: Registrar, httpApi: HttpApi): void {
  const registrar = { ...server, tag: 'Actions on filings' };
  const { deps, filings } = httpApi;
  const after = { 200: { description: 'The filing as it stands afterwards', schema: filingSchema } };
  const noted = { 202: { description: 'Noted; a second principal has to say the same', schema: filingSchema } };

  async function answer(filingId: string, outcome: Promise<FilingOutcome>) {
    const done = await outcome.catch(async (error: unknown) => {
      throw await withState(deps, filingId, error);
    });
    return { status: done.recorded ? 202 : 200, body: await filings.again(filingId) };
  }

  addRoute(registrar, {
    id: 'approveFiling',
    codes: CODES.decision,
    route: 'POST /filings/:filing/approve',
    summary: 'Approve a filing that waits for it; never by its maker',
    roles: MAY.approve,
    params: FILING,
    body: named(
      'ApproveFilingRequest',
      z.strictObject({
        note: note.optional(),
        shown,
        contentHash: visible(100)
          .optional()
          .describe('the content that was looked at, as the filing shows it; refused if it is another'),
      }),
      EXAMPLES.note,
    ),
    answers: { ...after, ...noted },
    async handle({ principal, params, body }) {
      const filing = await visibleFiling(deps, principal, params.filing);
      const { filingId, contentHash } = filing;
      if (body.contentHash !== undefined && body.contentHash !== contentHash) {
        const detail = `Filing ${filingId} has other content than what was looked at: ${contentHash}.`;
        throw new Problem(409, 'approve_refused', detail);
      }
      const args = { by: principal.name, note: body.note, shown: body.shown };
      return answer(filingId, approve({ ...deps, principal }, params.filing, args));
    },
  });

  addRoute(registrar, {
    id: 'resolveFiling',
    codes: CODES.decision,
    route: 'POST /filings/:filing/resolve',
    summary: 'Answer the question about an unknown outcome',
    roles: MAY.resolve,
    params: FILING,
    body: resolveInput,
    answers: { ...after, ...noted },
    async handle({ principal, params, body }) {
      const { filingId, attempt: asked } = await visibleFiling(deps, principal, params.filing);
      if (asked !== null && body.attempt === undefined && !body.certificates?.length) {
        // It may have changed since the caller looked.
        throw new Problem(422, 'attempt_missing', `Name the attempt that was looked at: ${asked} is in question.`);
      }
      const args: ResolveArgs = { ...body, by: principal.name };
      return answer(filingId, resolve({ ...deps, principal }, filingId, args));
    },
  });

  addRoute(registrar, {
    id: 'abandonFiling',
    codes: CODES.decision,
    route: 'POST /filings/:filing/abandon',
    summary: 'Give a filing up; a maker its own, a checker any',
    roles: MAY.abandon,
    params: FILING,
    body: named('AbandonFilingRequest', z.strictObject({ note }), EXAMPLES.note),
    answers: after,
    async handle({ principal, params, body }) {
      const { filingId } = await visibleFiling(deps, principal, params.filing);
      return answer(filingId, abandon({ ...deps, principal }, filingId, { by: principal.name, note: body.note }));
    },
  });

  addRoute(registrar, {
    id: 'resumeFiling',
    codes: CODES.decision,
    route: 'POST /filings/:filing/resume',
    summary: 'Start a run for a filing whose workflow was ended',
    roles: ['maker', 'checker', 'admin'],
    params: FILING,
    answers: {
      200: {
        description: 'Whether a run was started',
        schema: z.object({ resumed: z.boolean(), message: z.string().nullable() }),
      },
    },
    async handle({ principal, params }) {
      const { filingId } = await visibleFiling(deps, principal, params.filing);
      return { body: await resumeFiling({ ...deps, principal }, filingId) };
    },
  });

  addRoute(registrar, {
    id: 'correctFiling',
    codes: [...CODES.content, ...CODES.filing, ...CODES.decision],
    route: 'POST /filings/:filing/correct',
    summary: 'File the errored rows of a filing again, corrected',
    roles: MAY.file,
    params: FILING,
    body: named(
      'CorrectFilingRequest',
      statedSchema.pick({ message: true, allowDuplicate: true }).strict(),
      EXAMPLES.correct,
    ),
    takesFile: true,
    answers: {
      200: { description: 'The same content again: the filing that corrects it', schema: filingSchema },
      201: { description: 'The filing that corrects it', schema: filingSchema },
    },
    async handle(call) {
      const { principal, params, body } = call;
      const { exporterId } = await visibleFiling(deps, principal, params.filing);
      const { allowDuplicate } = body;
      const request = { filing: params.filing, source: sourceOf(call), madeBy: principal.name, allowDuplicate };
      return recorded(httpApi, call, await correctFiling({ ...depsFor(httpApi, exporterId), principal }, request));
    },
  });
}

/** Adds the filing's present state to a refusal. */
async function withState({ pool }: HttpApi['deps'], filingId: string, error: unknown): Promise<unknown> {
  if (!(error instanceof RefusedError)) return error;
  const { state } = (await getFiling(pool, filingId)) ?? {};
  return new RefusedError(error.errors, { ...error.details, filingId, state });
}
