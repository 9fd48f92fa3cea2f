import type { Queryable } from '../../ledger/pool';
import { archiveGaps, reconciliationBreaks } from '../../ledger/reports/breaks';
import { FREE_QUOTA, QUOTA_WARNED_AT } from '../../domain/service/limits';
import type { ReportScope } from '../../ledger/reports/scope';
import { credentialStanding, serviceUse } from '../../ledger/reports/service-use';
import { barChart, figure, linked, perCurrency, share, table, trendOf } from '../report';
import type { Group, ReportOptions } from '../report';

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
        ['Kind', 'text', (entry) => entry.kind],
        ['Open', 'count', (entry) => entry.n],
        ['Acknowledged', 'count', (entry) => entry.acknowledged],
        ['Oldest', 'days', (entry) => entry.oldestDays],
      ]),
      table('findings', 'Open findings, the oldest first', findings, options, [
        ['Id', 'text', (finding) => finding.id],
        ['Kind', 'text', (finding) => finding.kind],
        ['Exporter', 'text', (finding) => finding.exporter],
        ['eBRC number', 'text', (finding) => finding.eBRCNumber],
        ['Filing', 'text', (finding) => linked(finding.reference, finding.workflowId, options)],
        ['IRM', 'text', (finding) => finding.irmNumber],
        ['Value', 'money', (finding) => finding.value],
        ['Currency', 'text', (finding) => finding.currency],
        ['Age', 'days', (finding) => finding.days],
        ['Why', 'text', (finding) => finding.reason],
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
  const of = (state: string) => byState.find((entry) => entry.state === state)?.n ?? 0;
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
        ['Exporter', 'text', (exporter) => exporter.name],
        ['E-mail', 'text', (exporter) => exporter.email],
        ['State', 'text', (exporter) => exporter.state],
        ['Opens in', 'hours', (exporter) => exporter.hoursLeft],
        ['Reason', 'text', (exporter) => exporter.reason],
        ['Open filings', 'count', (exporter) => exporter.filings],
      ]),
    ],
  };
}

export async function quotaGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { classes, quota, trend } = await serviceUse(db, scope);
  const sum = (of: 'calls' | 'refused' | 'waiting') => classes.reduce((total, each) => total + each[of], 0);
  const refused = sum('refused');
  const peaks = classes.map(({ rateClass, peak, limit }) => [rateClass, Math.round((100 * peak) / limit)] as const);
  const { quota: included = FREE_QUOTA } = options;
  const metered = (id: string, label: string, what: keyof typeof quota) => {
    const warned = scope.mode === 'live' && quota[what] >= QUOTA_WARNED_AT * included[what];
    return figure(id, `${label} (included: ${included[what]})`, quota[what], 'count', warned);
  };
  return {
    id: 'quota',
    title: 'Limits of the service',
    definition:
      'Calls of this day by rate class, its busiest minute compared with the limit, and 429 answers (something else uses the key); calls that wait in the workers now. The contract includes certificates of a calendar month and exporters in production: marked from 80 % on; the sandbox is not metered.',
    figures: [
      figure('calls', 'Calls', sum('calls')),
      figure('refused', 'Answers 429', refused, 'count', refused > 0),
      figure('waiting', 'Calls waiting now', sum('waiting')),
      metered('certificates', 'Certificates this month', 'certificates'),
      metered('entities', 'Exporters', 'exporters'),
    ],
    trend: trendOf(trend, 'calls', ['calls', ({ calls }) => calls], ['429', (day) => day.refused]),
    charts: [barChart('Busiest minute, of the limit', '%', peaks)],
    tables: [
      table('classes', 'By rate class', classes, options, [
        ['Class', 'text', (use) => use.rateClass],
        ['Limit a minute', 'count', (use) => use.limit],
        ['Calls', 'count', (use) => use.calls],
        ['Busiest minute', 'count', (use) => use.peak],
        ['Of the limit', 'share', (use) => share(use.peak, use.limit)],
        ['Answers 429', 'count', (use) => use.refused],
        ['Waiting now', 'count', (use) => use.waiting],
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
        ['eBRC number', 'text', (gap) => gap.eBRCNumber],
        ['Exporter', 'text', (gap) => gap.exporter],
        ['Filing', 'text', (gap) => linked(gap.reference, gap.workflowId, options)],
        ['Certified', 'instant', (gap) => new Date(gap.settledAt)],
        ['Age', 'days', (gap) => gap.days],
        ['Problem', 'text', (gap) => gap.problem],
        ['Came damaged', 'count', (gap) => gap.refused],
      ]),
    ],
  };
}
