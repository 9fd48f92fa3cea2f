import type { Queryable } from '../../ledger/pool';
import { LATENCY_EDGES, rejections, requestLatency, rowFunnel, unknownOutcomes } from '../../ledger/reports/rows-flow';
import type { ReportScope } from '../../ledger/reports/scope';
import { ALL_ROWS, barChart, figure, linked, perCurrency, share, table, trendOf, WHAT_TO_DO } from '../report';
import type { Group, ReportOptions } from '../report';

export async function unknownGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { totals, atRisk, trend, filings } = await unknownOutcomes(db, scope);
  return {
    id: 'unknown',
    title: 'Unknown outcomes',
    definition:
      'Filings in outcome_unknown at the end of the day: something was sent, and it is not known whether it was filed. The value at risk is the mapped amount of their rows that were sent and are not settled. Expected: none older than 24 hours.',
    figures: [
      figure('filings', 'Filings', totals.filings),
      figure('older_than_24h', 'Older than 24 h', totals.olderThanDay, 'count', totals.olderThanDay > 0),
      figure('oldest_hours', 'Oldest', totals.oldestHours, 'hours'),
      ...perCurrency('at_risk', 'Value at risk', atRisk, ({ value }) => value),
    ],
    trend: trendOf(trend, 'filings', ['unknown', ({ n }) => n]),
    tables: [
      table('unknown', 'Filings with an unknown outcome', filings, options, [
        ['Filing', 'text', (filing) => linked(filing.filingId, filing.workflowId, options)],
        ['Reference', 'text', (filing) => filing.reference],
        ['Exporter', 'text', (filing) => filing.exporter],
        ['Since', 'instant', (filing) => new Date(filing.since)],
        ['Age', 'hours', (filing) => filing.hours],
        ['Rows', 'count', (filing) => filing.rows],
        ['Value', 'money', (filing) => filing.value],
        ['Currency', 'text', (filing) => filing.currency],
        [WHAT_TO_DO, 'text', (filing) => filing.attention],
      ]),
    ],
  };
}

export async function funnelGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { steps, trend, waiting } = await rowFunnel(db, scope);
  const funnel: [id: string, label: string, n: number][] = [
    ['uploaded', 'Rows uploaded', steps.uploaded],
    ['passed', 'Passed the check', steps.passed],
    ['acknowledged', 'Acknowledged', steps.acknowledged],
    ['processed', 'Processed', steps.processed],
    ['fetched', 'Certificate fetched', steps.fetched],
    ['archived', 'PDF archived', steps.archived],
  ];
  const bars = funnel.map(([, label, n]) => [label, n] as const);
  return {
    id: 'funnel',
    title: 'Funnel of rows',
    definition:
      'Rows of the filings that were made in the 30 days up to this one, and their progress at its end: recorded, passed by the check of rules and balances, accepted by the service (a request id, or the certificate where no answer came), processed by the authority with a certificate, certificate details fetched, PDF stored with its hash.',
    figures: [
      ...funnel.map(([id, label, value]) => figure(id, label, value)),
      figure('conversion', 'Archived of uploaded', share(steps.archived, steps.uploaded), 'share'),
    ],
    trend: trendOf(trend, 'rows', ['uploaded', (day) => day.uploaded], ['processed', (day) => day.processed]),
    charts: [barChart('From upload to archive', 'rows', bars)],
    tables: [
      table('funnel', 'Steps and conversion', funnel, ALL_ROWS, [
        ['Step', 'text', ([, label]) => label],
        ['Rows', 'count', ([, , n]) => n],
        ['Of the step before', 'share', ([, , n], at) => (at === 0 ? null : share(n, funnel[at - 1]?.[2] ?? 0))],
        ['Of all', 'share', ([, , n]) => share(n, steps.uploaded)],
      ]),
      table('waiting', 'Filings that wait for somebody', waiting, options, [
        ['Filing', 'text', (filing) => linked(filing.filingId, filing.workflowId, options)],
        ['Reference', 'text', (filing) => filing.reference],
        ['Exporter', 'text', (filing) => filing.exporter],
        ['Since', 'instant', (filing) => new Date(filing.since)],
        ['Age', 'hours', (filing) => filing.hours],
        [WHAT_TO_DO, 'text', (filing) => filing.attention],
      ]),
    ],
  };
}

export async function latencyGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { summary, histogram, trend, slowest } = await requestLatency(db, scope);
  const times = histogram.map(({ n }, at): [string, number] => {
    const [from, to] = [LATENCY_EDGES[at - 1], LATENCY_EDGES[at]];
    return [from === undefined ? `< ${to} h` : to === undefined ? `> ${from} h` : `${from}–${to} h`, n];
  });
  return {
    id: 'latency',
    title: 'Push to outcome',
    definition:
      'Time from the answer to a push or an upload to the outcome of its request, for requests that ended in the 30 days up to this one. An answer of the authority is expected within about two hours.',
    figures: [
      figure('requests', 'Requests', summary.requests),
      figure('p50_hours', 'Half of them within', summary.p50, 'hours'),
      figure('p95_hours', '95 of 100 within', summary.p95, 'hours'),
      figure('max_hours', 'Longest', summary.max, 'hours'),
      figure('over_2h', 'Over 2 h', share(summary.over2h, summary.requests), 'share'),
      figure('over_4h', 'Over 4 h', share(summary.over4h, summary.requests), 'share', summary.over4h > 0),
    ],
    trend: trendOf(trend, 'hours', ['p50', (day) => day.p50], ['p95', (day) => day.p95]),
    charts: [barChart('Requests by how long they took', 'requests', times)],
    tables: [
      table('slowest', 'Slowest requests', slowest, options, [
        ['Reference', 'text', (request) => linked(request.reference, request.workflowId, options)],
        ['Request', 'text', (request) => request.requestId],
        ['Rows', 'count', (request) => request.rows],
        ['Submitted', 'instant', (request) => new Date(request.submittedAt)],
        ['Took', 'hours', (request) => request.hours],
      ]),
    ],
  };
}

export async function rejectionsGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { totals, byCode, byExporter, byPort, trend, rows } = await rejections(db, scope);
  const pareto = (id: string, title: string, name: string, entries: readonly { name: string; rows: number }[]) =>
    table(id, title, entries, options, [
      [name, 'text', (entry) => entry.name],
      ['Rows', 'count', (entry) => entry.rows],
      ['Of all rejected', 'share', (entry) => share(entry.rows, totals.rejected)],
    ]);
  const most = byCode.slice(0, 8).map((entry) => [entry.name, entry.rows] as const);
  return {
    id: 'rejections',
    title: 'Rejections',
    definition:
      'Rows that were settled in the 30 days up to this one. First-pass yield: certified rows of all settled rows of first filings. Escapes: rejected rows with a code for something that the check before filing covers.',
    figures: [
      figure('settled', 'Rows settled', totals.settled),
      figure('rejected', 'Rows rejected', totals.rejected),
      figure('first_pass_yield', 'First-pass yield', share(totals.firstCertified, totals.firstSettled), 'share'),
      figure('escape_rate', 'Escapes of the check', share(totals.escaped, totals.settled), 'share', totals.escaped > 0),
    ],
    trend: trendOf(trend, 'rows', ['settled', (day) => day.settled], ['rejected', (day) => day.rejected]),
    charts: [barChart('Rejected rows by code', 'rows', most)],
    tables: [
      pareto('by_code', 'By code', 'Code', byCode),
      pareto('by_exporter', 'By exporter', 'Exporter', byExporter),
      pareto('by_port', 'By port', 'Port', byPort),
      table('rejected_rows', 'Rejected rows', rows, options, [
        ['Reference', 'text', (row) => linked(row.reference, row.workflowId, options)],
        ['Row', 'count', (row) => row.row],
        ['Exporter', 'text', (row) => row.exporter],
        ['Port', 'text', (row) => row.port],
        ['Document', 'text', (row) => row.document],
        ['Value', 'money', (row) => row.value],
        ['Currency', 'text', (row) => row.currency],
        ['Settled', 'instant', (row) => new Date(row.settledAt)],
        ['Said', 'text', (row) => row.errors],
      ]),
    ],
  };
}
