/** Groups about money: use of the IRMs, and realisation of the exports. */
import type { Queryable } from '../../ledger/pool';
import { BUCKETS, type Ageing } from '../../ledger/reports/ageing';
import { irmUse } from '../../ledger/reports/irm-use';
import type { ReportScope } from '../../ledger/reports/scope';
import { barChart, figure, perCurrency, table, trendOf, type Group, type ReportOptions } from '../report';

/** More lines would be unreadable. */
const CURRENCIES_IN_CHART = 4;

export async function irmGroup(db: Queryable, scope: ReportScope, options: ReportOptions): Promise<Group> {
  const { byCurrency, trend, oldest } = await irmUse(db, scope);
  const currencies = byCurrency.slice(0, CURRENCIES_IN_CHART).map(({ currency }) => currency);
  const days = [...new Set(trend.map(({ day }) => day))];
  const availableOn = new Map(trend.map(({ day, currency, available }) => [`${day} ${currency}`, Number(available)]));
  return {
    id: 'irms',
    title: 'Inward remittances',
    definition:
      'Balances as last read before the end of the day; a remittance that several clients of one IEC see is counted once. Reserved: amounts of our rows that have no outcome yet, and of our certificates that are newer than the reading. Unmapped: available and not reserved, by the age of the remittance.',
    figures: [
      ...perCurrency('available', 'Available', byCurrency, (sum) => sum.available),
      ...perCurrency('reserved', 'Reserved', byCurrency, (sum) => sum.reserved),
      ...perCurrency('utilised', 'Utilised', byCurrency, (sum) => sum.utilised),
      ...perCurrency('unmapped_over_180', 'Unmapped for over 180 days', byCurrency, (sum) => sum.older),
    ],
    trend: {
      title: 'Available, the last 30 days',
      type: 'line',
      categories: days,
      series: currencies.map((currency) => ({
        label: currency || 'no currency',
        values: days.map((day) => availableOn.get(`${day} ${currency}`) ?? null),
      })),
      unit: 'amount',
    },
    tables: [
      table('irms_by_currency', 'By currency', byCurrency, options, [
        ['Currency', 'text', (sum) => sum.currency],
        ['Remittances', 'count', (sum) => sum.irms],
        ['Available', 'money', (sum) => sum.available],
        ['Reserved', 'money', (sum) => sum.reserved],
        ['Utilised', 'money', (sum) => sum.utilised],
        ['Unmapped 0–30 days', 'money', (sum) => sum.upTo30],
        ['31–90 days', 'money', (sum) => sum.upTo90],
        ['91–180 days', 'money', (sum) => sum.upTo180],
        ['Over 180 days', 'money', (sum) => sum.older],
      ]),
      table('unmapped', 'Oldest unmapped remittances', oldest, options, [
        ['IRM', 'text', (irm) => irm.irmNumber],
        ['Exporter', 'text', (irm) => irm.exporter],
        ['Remitter', 'text', (irm) => irm.remitter],
        ['Remitted', 'day', (irm) => irm.remittedOn],
        ['Age', 'days', (irm) => irm.age],
        ['Unmapped', 'money', (irm) => irm.free],
        ['Currency', 'text', (irm) => irm.currency],
      ]),
    ],
  };
}

/** The ageing as one group; the ageing report adds exporters and rules. */
export function ageingGroup(ageing: Ageing, options: ReportOptions): Group {
  const { totals, byCurrency, byBucket, trend, documents, otherCurrency } = ageing;
  const due = BUCKETS.flatMap(({ id, label }) =>
    byBucket.filter(({ bucket }) => bucket === id).map((sum) => ({ ...sum, label })),
  );
  return {
    id: 'ageing',
    title: 'Realisation ageing',
    definition:
      'Documents (from filed rows and from imported invoices) whose value is more than the certificates issued for them by the end of the day, by the days left until their proceeds have to be realised. The period follows from the dated rules in force on that day, or from the due date in the invoice list. A certificate in another currency closes its document.',
    figures: [
      figure('documents', 'Open documents', totals.documents),
      figure('overdue', 'Overdue', totals.overdue, 'count', totals.overdue > 0),
      figure('over_a_year', 'Overdue for over a year', totals.overYear, 'count', totals.overYear > 0),
      figure('restricted', 'Past the limit for credit sales', totals.restricted, 'count', totals.restricted > 0),
      ...perCurrency('outstanding', 'Outstanding', byCurrency, (sum) => sum.outstanding),
      ...perCurrency('overdue_value', 'Overdue', byCurrency, (sum) => sum.overdue),
    ],
    trend: trendOf(trend, 'documents', ['overdue', ({ n }) => n]),
    charts: byCurrency.slice(0, CURRENCIES_IN_CHART).map(({ currency }) => bucketChart(byBucket, currency)),
    tables: [
      table('by_bucket', 'By days to due', due, options, [
        ['Due', 'text', (sum) => sum.label],
        ['Currency', 'text', (sum) => sum.currency],
        ['Documents', 'count', (sum) => sum.documents],
        ['Outstanding', 'money', (sum) => sum.outstanding],
      ]),
      table('documents', 'Open documents, the first due first', documents, options, [
        ['Document', 'text', (document) => document.document],
        ['Date', 'day', (document) => document.documentDate],
        ['Exporter', 'text', (document) => document.exporter],
        ['Buyer', 'text', (document) => document.buyer],
        ['Type', 'text', (document) => (document.type === null ? null : String(document.type))],
        ['Currency', 'text', (document) => document.currency],
        ['Value', 'money', (document) => document.value],
        ['Certified', 'money', (document) => document.certified],
        ['Outstanding', 'money', (document) => document.outstanding],
        ['Due', 'day', (document) => document.dueOn],
        ['Days to due', 'count', (document) => document.daysToDue],
        ['Rule', 'text', (document) => document.rule],
        ['Advance or LC only', 'text', (document) => (document.restricted ? 'yes' : '')],
      ]),
      table(
        'other_currency',
        'Closed by certificates in another currency: check that all is paid',
        otherCurrency,
        options,
        [
          ['Document', 'text', (document) => document.document],
          ['Date', 'day', (document) => document.documentDate],
          ['Exporter', 'text', (document) => document.exporter],
          ['Currency', 'text', (document) => document.currency],
          ['Value', 'money', (document) => document.value],
          ['Certified', 'money', (document) => document.certified],
          ['In other currencies', 'text', (document) => document.inOthers],
        ],
      ),
    ],
  };
}

function bucketChart(entries: readonly { bucket: string; currency: string; outstanding: string }[], currency: string) {
  const of = (id: string) =>
    entries.find((entry) => entry.bucket === id && entry.currency === currency)?.outstanding ?? '0';
  const short = (label: string) => label.replace(/^(Overdue), (.*)$/u, '$1 $2');
  return barChart(
    'Outstanding',
    currency,
    BUCKETS.map(({ id, label }) => [short(label), Number(of(id))]),
  );
}
