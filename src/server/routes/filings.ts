/** Files, and reads filings. The reference is the idempotency key. */
import { z } from 'zod';
import { CODES } from '../http/problem-codes';
import { named } from '../http/components';
import { EXAMPLES } from '../http/examples';
import { MAY, type Principal } from '../../domain/principal';
import { fileInput } from '../../domain/contracts';
import { dateText } from '../../domain/dates';
import { FILING_STATES } from '../../domain/filing/states';
import { MAX_FILINGS_OF_REFERENCE } from '../../domain/names';
import { feedEnd } from '../../ledger/events';
import { eventsPage, listFilings } from '../../ledger/views/lists';
import { readCursor as readRowCursor, rowsPage } from '../../ledger/views/rows';
import { readFilingView } from '../../ledger/views/views';
import type { FilingOutcome } from '../../starter/filings/outcome';
import { RefusedError } from '../../starter/errors';
import { visibleExporter, visibleFiling } from '../access/scope';
import { callerGone, unavailable } from '../http/problem';
import { addRoute, type Call, type HttpApi, type Registrar } from '../http/route';
import {
  asCursor,
  badCursor,
  exporterName,
  filingName,
  listOf,
  pageOf,
  paging,
  readCursor,
  shownAsWritten,
  visible,
} from '../http/fields';
import { fileAs } from '../views/file';
import { openMark, sealMark } from '../http/sealed-cursor';
import { filingEventSchema, filingSchema, rowSchema, type FilingBody } from '../views/filing';
import { preferredWait } from '../views/watch';
import { sourceOf, statedSchema } from '../http/filing-source';

const FILING = z.object({ filing: filingName });

const filingInput = named(
  'FileRequest',
  z.strictObject({
    ...statedSchema.shape,
    exporter: exporterName,
    reference: shownAsWritten(fileInput.shape.reference.unwrap()).describe(
      'your own name of the filing: the idempotency key',
    ),
    n: z
      .number()
      .int()
      .min(1)
      .max(MAX_FILINGS_OF_REFERENCE)
      .optional()
      .describe('the number of the filing under its reference; the next one is made by a correction'),
    channel: z.enum(['auto', 'push', 'bulk']).optional(),
    approval: z.boolean().optional().describe('waits for the approval of somebody else'),
  }),
  EXAMPLES.file,
);

const ofOne = z
  .string()
  .regex(/^\d{1,7}$/)
  .optional()
  .describe('of this number of the reference alone; left out: of the whole reference');

const PREFER = '`Prefer: wait=60` waits for the end, or for a question.';

export function addFilingRoutes(server: Registrar, httpApi: HttpApi): void {
  const registrar = { ...server, tag: 'Filings' };
  const { deps, filings } = httpApi;
  const { pool, mode } = deps;

  addRoute(registrar, {
    id: 'file',
    codes: [...CODES.content, ...CODES.filing],
    route: 'POST /filings',
    summary: 'File a push message or a workbook',
    roles: MAY.file,
    body: filingInput,
    takesFile: true,
    answers: {
      200: { description: `The same content again: the filing as it stands. ${PREFER}`, schema: filingSchema },
      201: { description: `Filed. ${PREFER}`, schema: filingSchema },
    },
    async handle(call) {
      const { principal, body } = call;
      const { reference, n, channel, approval, uploadType, declaration, allowDuplicate } = body;
      const exporter = await visibleExporter(deps, principal, body.exporter);
      const stated = { uploadType, declaration, allowDuplicate };
      const terms = { reference, n, channel, approval, madeBy: principal.name, ...stated };
      return recorded(httpApi, call, await fileAs(httpApi, principal, { source: sourceOf(call), exporter, ...terms }));
    },
  });

  addRoute(registrar, {
    id: 'listFilings',
    route: 'GET /filings',
    summary: 'List filings, newest first',
    query: z.strictObject({
      ...paging,
      state: z.enum(FILING_STATES).optional(),
      attention: z
        .enum(['true', 'false'])
        .optional()
        .describe('only filings that need attention (true), or that do not (false)'),
      exporter: exporterName.optional(),
      since: z.iso.datetime({ offset: true }).optional().describe('made at this time or later'),
    }),
    answers: { 200: { description: 'Filings', schema: listOf(filingSchema) } },
    async handle({ principal, query }) {
      const { cursor, limit, state, attention, exporter, since } = query;
      const [madeAt, filingId] = readCursor(cursor, MARK) ?? [];
      const read = await listFilings(pool, {
        mode,
        states: state && [state],
        exporterId: exporter && (await visibleExporter(deps, principal, exporter)),
        exporters: principal.exporters,
        attention: attention && attention === 'true',
        since: since === undefined ? undefined : new Date(since),
        after: madeAt !== undefined && filingId !== undefined ? { madeAt, filingId } : undefined,
        limit: limit + 1,
      });
      const { items, next } = pageOf(read, limit, ({ mark }) => [mark.madeAt, mark.filingId]);
      return { body: { items: await filings.many(items), next } };
    },
  });

  addRoute(registrar, {
    id: 'getFiling',
    route: 'GET /filings/:filing',
    summary: 'A filing',
    params: FILING,
    answers: { 200: { description: `The filing. ${PREFER}`, schema: filingSchema } },
    async handle(call) {
      const filing = await visibleFiling(deps, call.principal, call.params.filing);
      const waited = await waitedFor(httpApi, call, filing.filingId);
      return { headers: waited.headers, body: waited.body ?? (await filings.one(filing)) };
    },
  });

  addRoute(registrar, {
    id: 'listRows',
    route: 'GET /filings/:filing/rows',
    summary: 'The rows of a filing, with certificate numbers and the authority’s errors',
    params: FILING,
    query: z.strictObject({ ...paging, n: ofOne, state: visible(40).optional().describe('only rows in this state') }),
    answers: {
      200: {
        description: 'Rows of the whole reference, each as it stands now, by serial number',
        schema: listOf(rowSchema),
      },
    },
    async handle({ principal, params, query: { cursor, limit, n, state } }) {
      const scope = await scopeOf(principal, params.filing, n);
      const after = readCursor(
        cursor,
        z.string().refine((text) => readRowCursor(text) !== null),
      );
      const { items, next } = await rowsPage(pool, {
        ...scope,
        ...(after && { after }),
        limit,
        ...(state && { state }),
      });
      const rows = items.map(({ pdf, ...row }) => ({ ...row, document: pdf, eBRCDate: dateText(row.eBRCDate) }));
      return { body: { items: rows, next: next && asCursor(next) } };
    },
  });

  addRoute(registrar, {
    id: 'listFilingEvents',
    route: 'GET /filings/:filing/events',
    summary: 'What happened to a filing, oldest first',
    params: FILING,
    query: z.strictObject({ ...paging, n: ofOne }),
    answers: { 200: { description: 'Events of the whole reference', schema: listOf(filingEventSchema) } },
    async handle({ principal, params, query: { cursor, limit, n } }) {
      const scope = await scopeOf(principal, params.filing, n);
      const { epoch } = await feedEnd(pool);
      const after = cursor === undefined ? undefined : openMark(cursor, epoch, 'cursor')?.position;
      if (cursor !== undefined && after === undefined) throw badCursor('cursor');
      const { items, next } = await eventsPage(pool, { ...scope, ...(after && { after }), limit });
      return { body: { items, next: next && sealMark({ epoch, position: next }) } };
    },
  });

  /** What a name means: an id or REF#n one filing, a reference alone all of its filings. */
  async function scopeOf(principal: Principal, name: string, n: string | undefined) {
    const { reference, n: own } = await visibleFiling(deps, principal, name);
    return { mode, reference, n: n !== undefined ? Number(n) : name === reference ? null : own };
  }

  addRoute(registrar, {
    id: 'getEvidence',
    route: 'GET /filings/:filing/evidence',
    summary: 'What was found of an unknown outcome, and what resolve would answer',
    params: FILING,
    answers: {
      200: {
        description: 'Evidence',
        schema: z.object({
          filingId: z.string(),
          state: z.string(),
          attempt: z.number().int().nullable(),
          attempts: z.array(z.unknown()),
          evidence: z.unknown(),
          decisions: z.array(z.unknown()),
          changedIrms: z
            .array(z.unknown())
            .describe('what changed of its remittances since it was made, while it waits for an approval'),
        }),
      },
    },
    async handle({ principal, params }) {
      const { filingId, state } = await visibleFiling(deps, principal, params.filing);
      const {
        attempt = null,
        attempts = [],
        evidence = null,
        decisions = [],
        changedIrms = [],
      } = (await readFilingView(pool, filingId)) ?? {};
      return { body: { filingId, state, attempt, attempts, evidence, decisions, changedIrms } };
    },
  });
}

const MARK = z.tuple([z.string().regex(/^\d{1,16}$/), z.string().max(100)]);

/** Answers a recorded or refused filing. A filing answered with 200 or 201 is in the ledger. */
export async function recorded(httpApi: HttpApi, call: Call, { filing, notice, repeated }: FilingOutcome) {
  if (filing.state === 'refused') {
    throw new RefusedError(filing.errors as RefusedError['errors'], { filingId: filing.filingId });
  }
  if (filing.filingId === null) {
    const detail = `${notice ?? 'It is not recorded yet.'} Repeat the request: nothing is filed twice.`;
    throw unavailable('not_recorded_yet', detail, { retryAfterS: 10 });
  }
  const waited = await waitedFor(httpApi, call, filing.filingId);
  const body = waited.body ?? (await httpApi.filings.again(filing.filingId));
  if (!body) throw unavailable('not_recorded_yet', 'It is not recorded yet. Repeat the request.');
  return { status: repeated ? 200 : 201, headers: { location: body.links['self'] ?? '', ...waited.headers }, body };
}

/** Waits as the caller prefers. `body` is the filing afterwards; null if no wait was asked for. */
async function waitedFor(
  { watch, filings }: HttpApi,
  { request, gone }: Pick<Call, 'request' | 'gone'>,
  filingId: string,
): Promise<{ body: FilingBody | null; headers: Record<string, string> }> {
  const seconds = preferredWait(request.headers['prefer']);
  if (seconds === 0) return { body: null, headers: {} };
  await watch.until(filingId, seconds * 1_000, gone);
  // Thousands of callers may disconnect at once, so nothing is read for them.
  if (gone.aborted) throw callerGone();
  return { body: await filings.again(filingId), headers: { 'preference-applied': `wait=${seconds}` } };
}
