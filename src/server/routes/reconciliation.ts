import { z } from 'zod';
import { named } from '../http/components';
import { EXAMPLES } from '../http/examples';
import { reconcileInput } from '../../domain/report-contracts';
import { FINDING_ID, FINDING_KINDS, type FindingView } from '../../domain/reconciliation/findings';
import type { Principal } from '../../domain/principal';
import { acknowledgeFinding, findings, reconcile } from '../../starter/reconcile';
import { figuresOf } from '../../starter/report';
import { inTurn } from '../../domain/values';
import { visibleExporter } from '../access/scope';
import { inApiTerms, Problem } from '../http/problem';
import { addRoute, type HttpApi, type Registrar } from '../http/route';
import { exporterName, listOf, note, pageOf, paging, readCursor } from '../http/fields';

const text = z.string().nullable();

const findingSchema = named(
  'Finding',
  z.object({
    id: z.string(),
    kind: z.string(),
    exporterId: text,
    eBRCNumber: text,
    filingId: text,
    row: z.number().int().nullable(),
    irmNumber: text,
    ours: z.record(z.string(), z.unknown()).nullable(),
    theirs: z.record(z.string(), z.unknown()).nullable(),
    amount: text,
    currency: text,
    firstSeenAt: z.string(),
    lastSeenAt: z.string(),
    closedAt: text,
    healed: text,
    advice: text,
  }),
);

const runSchema = named(
  'Reconciliation',
  z.object({
    runId: z.string(),
    workflowId: z.string(),
    state: z.string(),
    counts: z.record(z.string(), z.number().int()),
  }),
);

export function addReconciliationRoutes(server: Registrar, { deps }: HttpApi): void {
  const registrar = { ...server, tag: 'Reconciliation and reports' };
  addRoute(registrar, {
    id: 'listFindings',
    route: 'GET /findings',
    summary: 'What reconciliations found, oldest first',
    query: z.strictObject({
      ...paging,
      exporter: exporterName.optional(),
      kind: z.enum(FINDING_KINDS).optional(),
      all: z.enum(['true', 'false']).optional().describe('also closed and acknowledged ones'),
    }),
    answers: { 200: { description: 'Findings', schema: listOf(findingSchema) } },
    async handle({ principal, query: { cursor, limit, exporter, kind, all } }) {
      const after = readCursor(cursor, z.string().regex(FINDING_ID)) ?? undefined;
      const exporterId = exporter && (await visibleExporter(deps, principal, exporter));
      const { exporters } = principal;
      const filter = { exporter: exporterId, exporters, kind, all: all === 'true', after, limit: limit + 1 };
      const read = await findings(deps, filter);
      const { items, next } = pageOf(read, limit, ({ id }) => id);
      return { body: { items: items.map(findingBody), next } };
    },
  });

  addRoute(registrar, {
    id: 'acknowledgeFinding',
    codes: ['unknown_finding', 'note_missing'],
    route: 'POST /findings/:id/acknowledge',
    summary: 'Acknowledge a finding; it stays open until it is gone',
    roles: ['checker', 'admin'],
    params: z.object({ id: z.string().regex(FINDING_ID, 'is not the id of a finding: 16 of 0-9 and A-F') }),
    body: named('AcknowledgeFindingRequest', z.strictObject({ note }), EXAMPLES.note),
    answers: { 200: { description: 'The finding', schema: findingSchema } },
    async handle({ principal, params: { id }, body }) {
      const { exporters, name: by } = principal;
      return { body: findingBody(await acknowledgeFinding(deps, { id, note: body.note, by, exporters })) };
    },
  });

  addRoute(registrar, {
    id: 'reconcile',
    codes: ['exporters_limited', 'unknown_exporter', 'invalid_input', 'refused'],
    route: 'POST /reconciliations',
    summary: 'Compare the ledger with the authority',
    roles: ['maker', 'checker', 'admin'],
    body: named(
      'ReconcileRequest',
      z.strictObject({
        exporter: exporterName.optional(),
        from: reconcileInput.shape.from,
        to: reconcileInput.shape.to,
      }),
      EXAMPLES.reconcile,
    ),
    answers: { 202: { description: 'Started, or joined', schema: runSchema } },
    async handle({ principal, body: { exporter, from, to } }) {
      if (exporter === undefined) seesAll(principal, 'Name one of your exporters.');
      const exporterId = exporter && (await visibleExporter(deps, principal, exporter));
      const { findings: _, ...run } = await reconcile(deps, { exporter: exporterId, from, to });
      return { status: 202, body: run };
    },
  });

  for (const report of ['daily', 'ageing'] as const) {
    // Concurrent requests for the same day share one report.
    const figures = inTurn((on: string) => figuresOf(deps, { report, ...(on !== '' && { on }) }));
    addRoute(registrar, {
      id: report === 'daily' ? 'reportDay' : 'reportAgeing',
      codes: ['exporters_limited', 'usage'],
      route: `GET /reports/${report}`,
      summary: report === 'daily' ? 'The figures of a day' : 'The ageing of open amounts',
      query: z.strictObject({ on: reconcileInput.shape.to.describe('YYYY-MM-DD; left out: today in Asia/Kolkata') }),
      answers: {
        200: {
          description: 'The figures; amounts are decimal strings',
          schema: z.object({
            report: z.string(),
            mode: z.string(),
            on: z.string(),
            madeAt: z.string(),
            groups: z.array(z.object({ id: z.string(), title: z.string() })),
            toDo: z
              .array(z.object({ reference: z.string(), exporter: z.string(), what: z.string() }))
              .describe('filings that need somebody, each once; the credentials of an exporter are asked for once'),
          }),
        },
      },
      async handle({ principal, query: { on } }) {
        seesAll(principal, 'A report is about all exporters.');
        const { madeAt, toDo, ...made } = await figures(on ?? '');
        const asked = toDo.map((each) => ({ ...each, what: inApiTerms(each.what) }));
        return { body: { ...made, toDo: asked, madeAt: madeAt.toISOString() } };
      },
    });
  }
}

const findingBody = (finding: FindingView) => ({ ...finding, advice: inApiTerms(finding.advice) });

/** @throws Problem 403 if the principal may see only some exporters */
function seesAll({ exporters }: Principal, why: string): void {
  if (exporters !== null) throw new Problem(403, 'exporters_limited', `You see some exporters only. ${why}`);
}
