/** Groups about running the installation: breaks, credentials, quota, archive. */
import type { Queryable } from '../../ledger/pool';
import { archiveGaps, reconciliationBreaks } from '../../ledger/reports/breaks';
import type { ReportScope } from '../../ledger/reports/scope';
import { credentialStanding, serviceUse } from '../../ledger/reports/service-use';
import { linked, perCurrency, share, table, trendOf, type Group, type ReportOptions } from '../report';

/** Free general use (spec: "Limits"): production certificates a month, exporter entities. */
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
      { id: 'open', label: 'Open findings', value: open, kind: 'count', alarm: open > acknowledged },
      { id: 'acknowledged', label: 'Of them acknowledged', value: acknowledged, kind: 'count' },
      ...byKind.map(({ kind, n }) => ({ id: kind, label: kind, value: n, kind: 'count' as const })),
      ...perCurrency('value', 'Value', byCurrency, ({ value }) => value),
    ],
    trend: trendOf(trend, 'findings', ['open', ({ n }) => n]),
    charts: [],
    tables: [
      table(
        'by_kind',
        'By kind',
        byKind,
        [
          ['Kind', 'text', (each) => each.kind],
          ['Open', 'count', (each) => each.n],
          ['Acknowledged', 'count', (each) => each.acknowledged],
          ['Oldest', 'days', (each) => each.oldestDays],
        ],
        options,
      ),
      table(
        'findings',
        'Open findings, the oldest first',
        findings,
        [
          ['Id', 'text', (each) => each.id],
          ['Kind', 'text', (each) => each.kind],
          ['Exporter', 'text', (each) => each.exporter],
          ['eBRC number', 'text', (each) => each.eBRCNumber],
          [
            'Filing',
            'text',
            (each) => (each.reference === null ? null : linked(each.reference, each.workflowId, options)),
          ],
          ['IRM', 'text', (each) => each.irmNumber],
          ['Value', 'money', (each) => each.value],
          ['Currency', 'text', (each) => each.currency],
          ['Age', 'days', (each) => each.days],
          ['Why', 'text', (each) => each.reason],
        ],
        options,
      ),
    ],
  };
}

const STANDINGS = [
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
      ...STANDINGS.map(([id, label]) => ({ id, label, value: of(id), kind: 'count' as const, alarm: bad(id) })),
      { id: 'blocked', label: 'Filings blocked', value: blocked, kind: 'count' as const, alarm: blocked > 0 },
    ],
    trend: trendOf(trend, 'filings', ['blocked', ({ n }) => n]),
    charts: [],
    tables: [
      table(
        'exporters',
        'Exporters that are not ready',
        exporters,
        [
          ['Exporter', 'text', (each) => each.name],
          ['E-mail', 'text', (each) => each.email],
          ['State', 'text', (each) => each.state],
          ['Opens in', 'hours', (each) => each.hoursLeft],
          ['Reason', 'text', (each) => each.reason],
          ['Open filings', 'count', (each) => each.filings],
        ],
        options,
      ),
    ],
  };
}

export async function quotaGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { classes, quota, trend } = await serviceUse(db, scope);
  const sum = (value: (each: (typeof classes)[number]) => number) =>
    classes.reduce((total, each) => total + value(each), 0);
  const refused = sum((each) => each.refused);
  const live = scope.mode === 'live';
  return {
    id: 'quota',
    title: 'Limits of the service',
    definition:
      'Calls of this day by rate class, its busiest minute compared with the limit, and 429 answers (something else uses the key); calls that wait in the workers now. Free general use covers 250 production certificates a calendar month and 10 exporters; the sandbox is not metered. Calls are not separated by mode.',
    figures: [
      { id: 'calls', label: 'Calls', value: sum((each) => each.calls), kind: 'count' },
      { id: 'refused', label: 'Answers 429', value: refused, kind: 'count', alarm: refused > 0 },
      { id: 'waiting', label: 'Calls waiting now', value: sum((each) => each.waiting), kind: 'count' },
      {
        id: 'certificates',
        label: `Certificates this month (free: ${FREE_CERTIFICATES})`,
        value: quota.certificates,
        kind: 'count',
        alarm: live && quota.certificates > FREE_CERTIFICATES,
      },
      {
        id: 'entities',
        label: `Exporters (free: ${FREE_ENTITIES})`,
        value: quota.entities,
        kind: 'count',
        alarm: live && quota.entities > FREE_ENTITIES,
      },
    ],
    trend: trendOf(trend, 'calls', ['calls', ({ calls }) => calls], ['429', (day) => day.refused]),
    charts: [
      {
        title: 'Busiest minute, of the limit',
        type: 'bar',
        categories: classes.map(({ rateClass }) => rateClass),
        series: [
          { label: '% of the limit', values: classes.map(({ peak, limit }) => Math.round((100 * peak) / limit)) },
        ],
        unit: '%',
      },
    ],
    tables: [
      table(
        'classes',
        'By rate class',
        classes,
        [
          ['Class', 'text', (each) => each.rateClass],
          ['Limit a minute', 'count', (each) => each.limit],
          ['Calls', 'count', (each) => each.calls],
          ['Busiest minute', 'count', (each) => each.peak],
          ['Of the limit', 'share', (each) => share(each.peak, each.limit)],
          ['Answers 429', 'count', (each) => each.refused],
          ['Waiting now', 'count', (each) => each.waiting],
        ],
        options,
      ),
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
      { id: 'certificates', label: 'Certificates', value: totals.certificates, kind: 'count' },
      { id: 'verified', label: 'With a verified PDF', value: share(whole, totals.certificates), kind: 'share' },
      { id: 'missing', label: 'Not stored yet', value: totals.missing, kind: 'count' },
      {
        id: 'problem',
        label: 'Missing or damaged since',
        value: totals.problem,
        kind: 'count',
        alarm: totals.problem > 0,
      },
      {
        id: 'oldest_days',
        label: 'Oldest gap',
        value: totals.oldestDays,
        kind: 'days',
        alarm: (totals.oldestDays ?? 0) > 1,
      },
    ],
    trend: trendOf(trend, 'certificates', ['not stored', ({ n }) => n]),
    charts: [],
    tables: [
      table(
        'gaps',
        'Certificates without a verified PDF, the oldest first',
        gaps,
        [
          ['eBRC number', 'text', (each) => each.eBRCNumber],
          ['Exporter', 'text', (each) => each.exporter],
          ['Filing', 'text', (each) => linked(each.reference, each.workflowId, options)],
          ['Certified', 'instant', (each) => new Date(each.settledAt)],
          ['Age', 'days', (each) => each.days],
          ['Problem', 'text', (each) => each.problem],
          ['Came damaged', 'count', (each) => each.refused],
        ],
        options,
      ),
    ],
  };
}
