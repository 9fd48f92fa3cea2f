/** What the forms of a filing do: approve, resolve, abandon, continue. Given again, an answer is no second one. */
import { z } from 'zod';
import { MAY } from '../../domain/principal';
import { abandon, approve, resolve } from '../../starter/filings/decide';
import { resumeFiling } from '../../starter/filings/resume';
import { refusal } from '../../starter/errors';
import { viewOf } from '../../starter/lookup';
import { visibleFiling } from '../access/scope';
import { problemOf } from '../http/failures';
import { note, visible } from '../http/fields';
import { certificatesOf, isRecorded, type Said } from '../views/decisions';
import type { Said as Fields } from './decide';
import { FILING, filingPage } from './filing';
import { addPage, type PageAnswer, type PageCall, type PageServer } from './page';
import { filingHref } from './parts';
import { assertFresh } from '../access/fresh';

const list = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());
const token = z.string().max(200).optional();
const optionalNote = z.string().trim().max(2_000).optional();

type Call = PageCall<z.output<typeof FILING>, unknown, { token?: string } & Fields>;

/** Records what somebody says. Where it is refused, the filing is shown as it stands, with the reason. */
async function answer(
  server: PageServer,
  call: Call,
  said: Said,
  record: (filing: { filingId: string; contentHash: string }) => Promise<unknown>,
): Promise<PageAnswer> {
  const { gate } = server;
  const { deps } = server.httpApi;
  const filing = await visibleFiling(deps, call.principal, call.params.filing);
  const { filingId } = filing;
  try {
    await assertFresh({ ...server, pool: deps.pool }, call.request, call.fields.token);
    await record(filing);
  } catch (error) {
    const { status, code, detail, more } = problemOf(error);
    if (![403, 409, 422].includes(status)) throw error;
    if (code !== 'sign_in_again' && isRecorded(await viewOf(deps, filingId), call.principal.name, said))
      return { to: `${filingHref(filingId)}#decide` };
    if (status === 403) gate.refused(call.request, code);
    const problems = more.errors ?? [{ message: detail }];
    const refused = { title: 'Nothing was decided.', problems, said: call.fields };
    return { status, html: await filingPage(server, { ...call, params: { filing: filingId } }, undefined, refused) };
  }
  return { to: `${filingHref(filingId)}#decide` };
}

export function addDecisions(server: PageServer): void {
  const { deps } = server.httpApi;

  addPage(server, {
    route: 'POST /filings/:filing/approve',
    roles: MAY.approve,
    params: FILING,
    fields: z.object({
      shown: list.optional(),
      contentHash: z.string().max(100).optional(),
      note: optionalNote,
      token,
    }),
    handle(call) {
      const { principal, fields } = call;
      return answer(server, call, { kind: 'approve', shown: fields.shown ?? [] }, ({ filingId, contentHash }) => {
        const why = 'It has other content than what you looked at. Look at it again.';
        if (fields.contentHash !== contentHash) throw refusal('approve_refused', why);
        const args = { by: principal.name, note: fields.note || undefined, shown: fields.shown ?? [] };
        return approve({ ...deps, principal }, filingId, args);
      });
    },
  });

  addPage(server, {
    route: 'POST /filings/:filing/resolve',
    roles: MAY.resolve,
    params: FILING,
    fields: z.object({
      ...{ as: z.enum(['filed', 'not-filed', 'not-filed-end']), note, token, shown: list.optional() },
      /** The one that was looked at; empty: none was in question. */
      attempt: z.string().regex(/^\d{0,4}$/),
      ...{ requestId: visible(300).optional(), certificates: z.string().max(60_000).optional() },
    }),
    handle(call) {
      const { principal, fields } = call;
      const { as, attempt, requestId, shown = [] } = fields;
      const certificates = fields.certificates === undefined ? undefined : certificatesOf(fields.certificates);
      const args = { attempt: Number(attempt), requestId, certificates, ends: as === 'not-filed-end' };
      const said: Said = as === 'filed' ? { ...args, kind: 'filed' } : { ...args, kind: 'not_filed', shown };
      return answer(server, call, said, ({ filingId }) =>
        resolve({ ...deps, principal }, filingId, {
          ...{ ...args, shown, as: as === 'filed' ? as : 'not-filed', by: principal.name, note: fields.note },
        }),
      );
    },
  });

  addPage(server, {
    route: 'POST /filings/:filing/abandon',
    roles: MAY.abandon,
    params: FILING,
    fields: z.object({ note, token }),
    handle(call) {
      const { principal, fields } = call;
      return answer(server, call, { kind: 'abandon' }, ({ filingId }) =>
        abandon({ ...deps, principal }, filingId, { by: principal.name, note: fields.note }),
      );
    },
  });

  addPage(server, {
    route: 'POST /filings/:filing/resume',
    roles: ['maker', 'checker', 'admin'],
    params: FILING,
    async handle({ principal, params }) {
      const { filingId } = await visibleFiling(deps, principal, params.filing);
      await resumeFiling({ ...deps, principal }, filingId);
      return { to: filingHref(filingId) };
    },
  });
}
