import type { Queryable } from '../../ledger/pool';
import { archiveGaps, reconciliationBreaks } from '../../ledger/reports/breaks';
import type { ReportScope } from '../../ledger/reports/scope';
import { credentialStanding, serviceUse } from '../../ledger/reports/service-use';
import { barChart, figure, linked, perCurrency, share, table, trendOf } from '../report';
import type { Group, ReportOptions } from '../report';

/** Free general use (spec: "Limits"): production certificates a month, and exporter entities. */
const FREE_CERTIFICATES = 250;
const FREE_ENTITIES = 10;

export async function breaksGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { byKind, byCurrency, trend, findings } = await reconciliationBreaks(db, scope);
  const open = byKind.reduce((sum, { n }) => sum + n, 0);
  const acknowledged = byKind.reduce((sum, each) => sum + each.acknowledged, 0);
  return {
    id: 'breaks',
    title: 'Reconciliation',
    definition:
      'Findings that were open at the end of the day: differences between ledger, authority, balances and stored PDFs. Acknowledged findings are counted too, because they still exist. Expected: none that are not acknowledged.',
    figures: [
      figure('open', 'Open findings', open, 'count', open > acknowledged),
      figure('acknowledged', 'Of them acknowledged', acknowledged),
      ...byKind.map(({ kind, n }) => figure(kind, kind, n)),
      ...perCurrency('value', 'Value', byCurrency, ({ value }) => value),
    ],
    trend: trendOf(trend, 'findings', ['open', ({ n }) => n]),
    tables: [
      table('by_kind', 'By kind', byKind, options, [
        ['Kind', 'text', (each) => each.kind],
        ['Open', 'count', (each) => each.n],
        ['Acknowledged', 'count', (each) => each.acknowledged],
        ['Oldest', 'days', (each) => each.oldestDays],
      ]),
      table('findings', 'Open findings, the oldest first', findings, options, [
        ['Id', 'text', (each) => each.id],
        ['Kind', 'text', (each) => each.kind],
        ['Exporter', 'text', (each) => each.exporter],
        ['eBRC number', 'text', (each) => each.eBRCNumber],
        ['Filing', 'text', (each) => linked(each.reference, each.workflowId, options)],
        ['IRM', 'text', (each) => each.irmNumber],
        ['Value', 'money', (each) => each.value],
        ['Currency', 'text', (each) => each.currency],
        ['Age', 'days', (each) => each.days],
        ['Why', 'text', (each) => each.reason],
      ]),
    ],
  };
}

const STATES = [
  ['ready', 'Ready'],
  ['pending', 'Activation pending'],
  ['invalid', 'Password invalid'],
  ['locked', 'Account locked'],
  ['unvalidated', 'On file, not validated'],
  ['created', 'Without credentials'],
] as const;

export async function credentialsGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { byState, blocked, trend, exporters } = await credentialStanding(db, scope);
  const of = (state: string) => byState.find((each) => each.state === state)?.n ?? 0;
  const bad = (state: string) => (state === 'invalid' || state === 'locked') && of(state) > 0;
  return {
    id: 'credentials',
    title: 'Credentials',
    definition:
      'Exporters by the last known status at the service and the portal, and filings that wait for credentials at the end of the day.',
    figures: [
      ...STATES.map(([id, label]) => figure(id, label, of(id), 'count', bad(id))),
      figure('blocked', 'Filings blocked', blocked.n, 'count', blocked.n > 0),
    ],
    trend: trendOf(trend, 'filings', ['blocked', ({ n }) => n]),
    tables: [
      table('exporters', 'Exporters that are not ready', exporters, options, [
        ['Exporter', 'text', (each) => each.name],
        ['E-mail', 'text', (each) => each.email],
        ['State', 'text', (each) => each.state],
        ['Opens in', 'hours', (each) => each.hoursLeft],
        ['Reason', 'text', (each) => each.reason],
        ['Open filings', 'count', (each) => each.filings],
      ]),
    ],
  };
}

export async function quotaGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { classes, quota, trend } = await serviceUse(db, scope);
  const sum = (of: 'calls' | 'refused' | 'waiting') => classes.reduce((total, each) => total + each[of], 0);
  const refused = sum('refused');
  const peaks = classes.map(({ rateClass, peak, limit }) => [rateClass, Math.round((100 * peak) / limit)] as const);
  const metered = (id: string, label: string, used: number, free: number) =>
    figure(id, `${label} (free: ${free})`, used, 'count', scope.mode === 'live' && used > free);
  return {
    id: 'quota',
    title: 'Limits of the service',
    definition:
      'Calls of this day by rate class, its busiest minute compared with the limit, and 429 answers (something else uses the key); calls that wait in the workers now. Free general use covers 250 production certificates a calendar month and 10 exporters; the sandbox is not metered.',
    figures: [
      figure('calls', 'Calls', sum('calls')),
      figure('refused', 'Answers 429', refused, 'count', refused > 0),
      figure('waiting', 'Calls waiting now', sum('waiting')),
      metered('certificates', 'Certificates this month', quota.certificates, FREE_CERTIFICATES),
      metered('entities', 'Exporters', quota.entities, FREE_ENTITIES),
    ],
    trend: trendOf(trend, 'calls', ['calls', ({ calls }) => calls], ['429', (day) => day.refused]),
    charts: [barChart('Busiest minute, of the limit', '%', peaks)],
    tables: [
      table('classes', 'By rate class', classes, options, [
        ['Class', 'text', (each) => each.rateClass],
        ['Limit a minute', 'count', (each) => each.limit],
        ['Calls', 'count', (each) => each.calls],
        ['Busiest minute', 'count', (each) => each.peak],
        ['Of the limit', 'share', (each) => share(each.peak, each.limit)],
        ['Answers 429', 'count', (each) => each.refused],
        ['Waiting now', 'count', (each) => each.waiting],
      ]),
    ],
  };
}

export async function archiveGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { totals, trend, gaps } = await archiveGaps(db, scope);
  const whole = totals.certificates - totals.missing - totals.problem;
  return {
    id: 'archive',
    title: 'Archive',
    definition:
      'Certificates of our rows at the end of the day, and those without a stored PDF that matches its hash; a later check of the document store may have found a PDF missing or damaged. Expected: none older than a day.',
    figures: [
      figure('certificates', 'Certificates', totals.certificates),
      figure('verified', 'With a verified PDF', share(whole, totals.certificates), 'share'),
      figure('missing', 'Not stored yet', totals.missing),
      figure('problem', 'Missing or damaged since', totals.problem, 'count', totals.problem > 0),
      figure('oldest_days', 'Oldest gap', totals.oldestDays, 'days', (totals.oldestDays ?? 0) > 1),
    ],
    trend: trendOf(trend, 'certificates', ['not stored', ({ n }) => n]),
    tables: [
      table('gaps', 'Certificates without a verified PDF, the oldest first', gaps, options, [
        ['eBRC number', 'text', (each) => each.eBRCNumber],
        ['Exporter', 'text', (each) => each.exporter],
        ['Filing', 'text', (each) => linked(each.reference, each.workflowId, options)],
        ['Certified', 'instant', (each) => new Date(each.settledAt)],
        ['Age', 'days', (each) => each.days],
        ['Problem', 'text', (each) => each.problem],
        ['Came damaged', 'count', (each) => each.refused],
      ]),
    ],
  };
}
