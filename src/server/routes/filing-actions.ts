/** What persons do about a filing. Each action answers the filing as it is afterwards. */
import { z } from 'zod';
import { MAY, personKey } from '../../domain/principal';
import type { ResolveArgs } from '../../domain/update-contracts';
import { getFiling } from '../../ledger/filings/filings';
import { inQuestion } from '../../ledger/filings/filing-view';
import { correctFiling } from '../../starter/filings/correct';
import { abandon, approve, resolve } from '../../starter/filings/operator-commands';
import { resumeFiling } from '../../starter/filings/resume';
import type { FilingOutcome } from '../../starter/filings/outcome';
import { RefusedError } from '../../starter/errors';
import { needNamed } from '../../starter/lookup';
import { visibleFiling } from '../access/scope';
import { Problem } from '../http/problem';
import { addRoute, depsFor, type Door, type Registrar } from '../http/route';
import { filingName, note, visible } from '../http/fields';
import { filingSchema, isAsked } from '../views/filing';
import { recorded } from './filings';
import { sourceOf, statedSchema } from '../http/filing-source';

const FILING = z.object({ filing: filingName });
const attempt = visible(300)
  .optional()
  .describe('the attempt that is answered; needed while the filing shows one, and refused if it is another');
const number = visible(100);

const resolveInput = z.strictObject({
  as: z.enum(['filed', 'not-filed']),
  attempt,
  requestId: visible(300).optional(),
  rows: z.array(z.number().int()).max(5_000).optional(),
  certificates: z
    .array(z.strictObject({ row: z.number().int(), eBRCNumber: number }))
    .max(5_000)
    .optional(),
  notOurs: z.array(number).max(5_000).optional(),
  unseen: z.boolean().optional(),
  note,
});

export function addFilingActionRoutes(server: Registrar, door: Door): void {
  const registrar = { ...server, tag: 'Actions on filings' };
  const { deps, filings } = door;
  const after = { 200: { description: 'The filing as it stands afterwards', schema: filingSchema } };
  const noted = { 202: { description: 'Noted; a second principal has to say the same', schema: filingSchema } };

  async function answer(filingId: string, outcome: Promise<FilingOutcome>) {
    const { secondPerson } = await outcome.catch(async (error: unknown) => {
      throw await withState(deps, filingId, error);
    });
    return { status: secondPerson ? 202 : 200, body: await filings.again(filingId) };
  }

  /** The caller must name what is in question, which may have changed since it looked. @throws Problem 422 */
  async function assertNothingShown(filingId: string): Promise<void> {
    const { attempt, request } = await inQuestion(deps.pool, filingId);
    const shown = attempt ?? request;
    if (shown === null) return;
    const detail = `Name the attempt that was looked at (${shown} is in question), or the requestId that was not filed.`;
    throw new Problem(422, 'attempt_missing', detail);
  }

  addRoute(registrar, {
    id: 'approveFiling',
    route: 'POST /filings/:filing/approve',
    summary: 'Approve a filing that waits for it; never by its maker',
    roles: MAY.approve,
    params: FILING,
    body: z.strictObject({
      note: note.optional(),
      contentHash: visible(100)
        .optional()
        .describe('the content that was looked at, as the filing shows it; refused if it is another'),
    }),
    answers: after,
    async handle({ principal, params, body }) {
      const filing = await visibleFiling(deps, principal, params.filing);
      const { filingId, madeBy, contentHash } = filing;
      needNamed(filing, params.filing);
      if (body.contentHash !== undefined && body.contentHash !== contentHash) {
        const detail = `Filing ${filingId} has other content than what was looked at: ${contentHash}.`;
        throw new Problem(409, 'approve_refused', detail);
      }
      if (personKey(madeBy) === personKey(principal.name)) {
        throw new Problem(403, 'maker_approves', 'Whoever made a filing never approves it. Somebody else has to.');
      }
      return answer(filingId, approve({ ...deps, principal }, filingId, { by: principal.name, note: body.note }));
    },
  });

  addRoute(registrar, {
    id: 'resolveFiling',
    route: 'POST /filings/:filing/resolve',
    summary: 'Answer the question about an unknown outcome',
    roles: MAY.resolve,
    params: FILING,
    body: resolveInput,
    answers: { ...after, ...noted },
    async handle({ principal, params, body: { attempt: attemptId, ...word } }) {
      const filing = await visibleFiling(deps, principal, params.filing);
      const { filingId } = filing;
      const named = attemptId ?? (word.as === 'not-filed' ? word.requestId : undefined);
      if (named === undefined && isAsked(filing)) await assertNothingShown(filingId);
      const args: ResolveArgs = { ...word, ...(attemptId !== undefined && { attemptId }), by: principal.name };
      return answer(filingId, resolve({ ...deps, principal }, filingId, args));
    },
  });

  addRoute(registrar, {
    id: 'abandonFiling',
    route: 'POST /filings/:filing/abandon',
    summary: 'Give a filing up; a maker its own, a checker any',
    roles: MAY.abandon,
    params: FILING,
    body: z.strictObject({ note }),
    answers: after,
    async handle({ principal, params, body }) {
      const { filingId, madeBy } = await visibleFiling(deps, principal, params.filing);
      const isMaker = personKey(madeBy) === personKey(principal.name);
      if (!isMaker && !principal.roles.includes('checker')) {
        const detail = 'A maker abandons its own filings; for any other the role checker is needed.';
        throw new Problem(403, 'role_missing', detail, { members: { missing: ['checker'] } });
      }
      return answer(filingId, abandon({ ...deps, principal }, filingId, { by: principal.name, note: body.note }));
    },
  });

  addRoute(registrar, {
    id: 'resumeFiling',
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
    route: 'POST /filings/:filing/correct',
    summary: 'File the errored rows of a filing again, corrected',
    roles: MAY.file,
    params: FILING,
    body: statedSchema.pick({ message: true, allowDuplicate: true }).strict(),
    takesFile: true,
    answers: {
      200: { description: 'The same content again: the filing that corrects it', schema: filingSchema },
      201: { description: 'The filing that corrects it', schema: filingSchema },
    },
    async handle(call) {
      const { principal, params, body } = call;
      // A reference names its newest filing: when the request is repeated, that is the correction which it made.
      const { exporterId } = await visibleFiling(deps, principal, params.filing);
      const { allowDuplicate } = body;
      const request = { filing: params.filing, source: sourceOf(call), madeBy: principal.name, allowDuplicate };
      return recorded(door, call, await correctFiling({ ...depsFor(door, exporterId), principal }, request));
    },
  });
}

/** Adds the filing's present state to a refusal. */
async function withState({ pool }: Door['deps'], filingId: string, error: unknown): Promise<unknown> {
  if (!(error instanceof RefusedError)) return error;
  const { state } = (await getFiling(pool, filingId)) ?? {};
  return new RefusedError(error.errors, { ...error.details, filingId, state });
}
