/** Groups about filings and their rows: unknown outcomes, the funnel, latency, rejections. */
import type { Queryable } from '../../ledger/pool';
import { LATENCY_EDGES, rejections, requestLatency, rowFunnel, waitingFilings } from '../../ledger/reports/rows-flow';
import type { ReportScope } from '../../ledger/reports/scope';
import { unknownOutcomes } from '../../ledger/reports/unknown';
import { linked, perCurrency, share, table, trendOf, WHAT_TO_DO, type Group, type ReportOptions } from '../report';

export async function unknownGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { totals, atRisk, trend, filings } = await unknownOutcomes(db, scope);
  return {
    id: 'unknown',
    title: 'Unknown outcomes',
    definition:
      'Filings in outcome_unknown at the end of the day: something was sent, and it is not known whether it was filed. The value at risk is the mapped amount of their rows that were sent and are not settled. Expected: none older than 24 hours.',
    figures: [
      { id: 'filings', label: 'Filings', value: totals.filings, kind: 'count' },
      {
        id: 'older_than_24h',
        label: 'Older than 24 h',
        value: totals.olderThanDay,
        kind: 'count',
        alarm: totals.olderThanDay > 0,
      },
      { id: 'oldest_hours', label: 'Oldest', value: totals.oldestHours, kind: 'hours' },
      ...perCurrency('at_risk', 'Value at risk', atRisk, ({ value }) => value),
    ],
    trend: trendOf(trend, 'filings', ['unknown', ({ n }) => n]),
    charts: [],
    tables: [
      table(
        'unknown',
        'Filings with an unknown outcome',
        filings,
        [
          ['Filing', 'text', (each) => linked(each.filingId, each.workflowId, options)],
          ['Reference', 'text', (each) => each.reference],
          ['Exporter', 'text', (each) => each.exporter],
          ['Since', 'instant', (each) => each.since],
          ['Age', 'hours', (each) => each.hours],
          ['Rows', 'count', (each) => each.rows],
          ['Value', 'money', (each) => each.value],
          ['Currency', 'text', (each) => each.currency],
          [WHAT_TO_DO, 'text', (each) => each.attention],
        ],
        options,
      ),
    ],
  };
}

export async function funnelGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { steps, trend } = await rowFunnel(db, scope);
  const waiting = await waitingFilings(db, scope);
  const funnel: [id: string, label: string, n: number][] = [
    ['uploaded', 'Rows uploaded', steps.uploaded],
    ['passed', 'Passed the check', steps.passed],
    ['acknowledged', 'Acknowledged', steps.acknowledged],
    ['processed', 'Processed', steps.processed],
    ['fetched', 'Certificate fetched', steps.fetched],
    ['archived', 'PDF archived', steps.archived],
  ];
  return {
    id: 'funnel',
    title: 'Funnel of rows',
    definition:
      'Rows of the filings that were made in the 30 days up to this one, and their progress at its end: recorded, passed by the check of rules and balances, accepted by the service (a request id), processed by the authority with a certificate, certificate details fetched, PDF stored with its hash.',
    figures: [
      ...funnel.map(([id, label, value]) => ({ id, label, value, kind: 'count' as const })),
      {
        id: 'conversion',
        label: 'Archived of uploaded',
        value: share(steps.archived, steps.uploaded),
        kind: 'share' as const,
      },
    ],
    trend: trendOf(trend, 'rows', ['uploaded', (day) => day.uploaded], ['processed', (day) => day.processed]),
    charts: [
      {
        title: 'From upload to archive',
        type: 'bar',
        categories: funnel.map(([, label]) => label),
        series: [{ label: 'rows', values: funnel.map(([, , n]) => n) }],
        unit: 'rows',
      },
    ],
    tables: [
      table(
        'funnel',
        'Steps and conversion',
        funnel,
        [
          ['Step', 'text', ([, label]) => label],
          ['Rows', 'count', ([, , n]) => n],
          ['Of the step before', 'share', ([, , n], at) => (at === 0 ? null : share(n, funnel[at - 1]?.[2] ?? 0))],
          ['Of all', 'share', ([, , n]) => share(n, steps.uploaded)],
        ],
        { rows: Number.POSITIVE_INFINITY },
      ),
      table(
        'waiting',
        'Filings that wait for somebody',
        waiting,
        [
          ['Filing', 'text', (each) => linked(each.filingId, each.workflowId, options)],
          ['Reference', 'text', (each) => each.reference],
          ['Exporter', 'text', (each) => each.exporter],
          ['Since', 'instant', (each) => each.since],
          ['Age', 'hours', (each) => each.hours],
          [WHAT_TO_DO, 'text', (each) => each.attention],
        ],
        options,
      ),
    ],
  };
}

export async function latencyGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { summary, histogram, trend, slowest } = await requestLatency(db, scope);
  const edges = LATENCY_EDGES.map(String);
  const classes = [
    `< ${edges[0]} h`,
    ...edges.map((edge, at) => (edges[at + 1] ? `${edge}–${edges[at + 1]} h` : `> ${edge} h`)),
  ];
  return {
    id: 'latency',
    title: 'Push to outcome',
    definition:
      'Time from the answer to a push or an upload to the outcome of its request, for requests that ended in the 30 days up to this one. An answer of the authority is expected within about two hours.',
    figures: [
      { id: 'requests', label: 'Requests', value: summary.requests, kind: 'count' },
      { id: 'p50_hours', label: 'Half of them within', value: summary.p50, kind: 'hours' },
      { id: 'p95_hours', label: '95 of 100 within', value: summary.p95, kind: 'hours' },
      { id: 'max_hours', label: 'Longest', value: summary.max, kind: 'hours' },
      { id: 'over_2h', label: 'Over 2 h', value: share(summary.over2h, summary.requests), kind: 'share' },
      {
        id: 'over_4h',
        label: 'Over 4 h',
        value: share(summary.over4h, summary.requests),
        kind: 'share',
        alarm: summary.over4h > 0,
      },
    ],
    trend: trendOf(trend, 'hours', ['p50', (day) => day.p50], ['p95', (day) => day.p95]),
    charts: [
      {
        title: 'Requests by how long they took',
        type: 'bar',
        categories: classes,
        series: [{ label: 'requests', values: histogram.map(({ n }) => n) }],
        unit: 'requests',
      },
    ],
    tables: [
      table(
        'slowest',
        'Slowest requests',
        slowest,
        [
          ['Reference', 'text', (each) => linked(each.reference, each.workflowId, options)],
          ['Request', 'text', (each) => each.requestId],
          ['Rows', 'count', (each) => each.rows],
          ['Submitted', 'instant', (each) => new Date(each.submittedAt)],
          ['Took', 'hours', (each) => each.hours],
        ],
        options,
      ),
    ],
  };
}

export async function rejectionsGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { totals, byCode, byExporter, byPort, trend, rows } = await rejections(db, scope);
  const pareto = (id: string, title: string, name: string, entries: readonly { name: string; rows: number }[]) =>
    table(
      id,
      title,
      entries,
      [
        [name, 'text', (each) => each.name],
        ['Rows', 'count', (each) => each.rows],
        ['Of all rejected', 'share', (each) => share(each.rows, totals.rejected)],
      ],
      options,
    );
  const most = byCode.slice(0, 8);
  return {
    id: 'rejections',
    title: 'Rejections',
    definition:
      'Rows that were settled in the 30 days up to this one. First-pass yield: certified rows of all settled rows of first filings. Escapes: rejected rows with a code for something that the check before filing covers.',
    figures: [
      { id: 'settled', label: 'Rows settled', value: totals.settled, kind: 'count' },
      { id: 'rejected', label: 'Rows rejected', value: totals.rejected, kind: 'count' },
      {
        id: 'first_pass_yield',
        label: 'First-pass yield',
        value: share(totals.firstCertified, totals.firstSettled),
        kind: 'share',
      },
      {
        id: 'escape_rate',
        label: 'Escapes of the check',
        value: share(totals.escaped, totals.settled),
        kind: 'share',
        alarm: totals.escaped > 0,
      },
    ],
    trend: trendOf(trend, 'rows', ['settled', (day) => day.settled], ['rejected', (day) => day.rejected]),
    charts: [
      {
        title: 'Rejected rows by code',
        type: 'bar',
        categories: most.map(({ name }) => name),
        series: [{ label: 'rows', values: most.map((each) => each.rows) }],
        unit: 'rows',
      },
    ],
    tables: [
      pareto('by_code', 'By code', 'Code', byCode),
      pareto('by_exporter', 'By exporter', 'Exporter', byExporter),
      pareto('by_port', 'By port', 'Port', byPort),
      table(
        'rejected_rows',
        'Rejected rows',
        rows,
        [
          ['Reference', 'text', (each) => linked(each.reference, each.workflowId, options)],
          ['Row', 'count', (each) => each.row],
          ['Exporter', 'text', (each) => each.exporter],
          ['Port', 'text', (each) => each.port],
          ['Document', 'text', (each) => each.document],
          ['Value', 'money', (each) => each.value],
          ['Currency', 'text', (each) => each.currency],
          ['Settled', 'instant', (each) => new Date(each.settledAt)],
          ['Said', 'text', (each) => each.errors],
        ],
        options,
      ),
    ],
  };
}
