/** A report as data: groups of figures with a definition, trend, charts and tables. Both writers render this alone. */
import type { Mode } from '../domain/names';
import type { Quota } from '../domain/service/limits';
import { KOLKATA_OFFSET_MS, withTimes } from '../domain/dates';
import { printable } from '../domain/text';

/** `money` is exact decimal text, `day` YYYY-MM-DD, `instant` a Date, `share` 0 to 1, `hours` and `days` decimals. */
export type ValueKind = 'text' | 'count' | 'money' | 'day' | 'instant' | 'hours' | 'days' | 'share';

export type Value = string | number | Date | null;

export interface Linked {
  text: string;
  href: string;
}

export interface Figure {
  /** Stable within its group, because programs find figures by it. */
  id: string;
  label: string;
  value: Value;
  kind: ValueKind;
  currency?: string;
  /** Whether the value is outside its expected range and needs attention. */
  alarm?: boolean;
}

export interface Chart {
  title: string;
  type: 'line' | 'bar';
  categories: string[];
  series: { label: string; values: (number | null)[] }[];
  /** The unit of the axis. */
  unit: string;
}

/** Label of a column whose texts say what a person has to do. */
export const WHAT_TO_DO = 'What to do';

export interface Table {
  id: string;
  title: string;
  columns: { label: string; kind: ValueKind }[];
  rows: (Value | Linked)[][];
  /** Whether more rows exist than are listed. */
  cut: boolean;
}

export interface Group {
  id: string;
  title: string;
  /** What the figures count, as of when, and their expected range. */
  definition: string;
  figures: Figure[];
  /** Values by day, the latest day last. */
  trend: Chart | null;
  charts?: Chart[];
  tables: Table[];
}

export interface Report {
  report: 'daily' | 'ageing';
  title: string;
  mode: Mode;
  on: string;
  madeAt: Date;
  groups: Group[];
  notes: string[];
}

/** Options of a group. */
export interface ReportOptions {
  rows: number;
  /** Returns a workflow's address in the Temporal UI; null if the UI's address is not configured. */
  workflowUrl: ((workflowId: string) => string) | null;
  /** What the contract with the service includes; default: free general use. */
  quota?: Quota;
}

/** A figure. `alarm`: its value is outside its expected range. */
export const figure = (
  id: string,
  label: string,
  value: Value,
  kind: ValueKind = 'count',
  alarm?: boolean,
): Figure => ({ id, label, value, kind, alarm });

/** A figure per currency, in the order given. */
export function perCurrency<T extends { currency: string }>(
  id: string,
  label: string,
  entries: readonly T[],
  amount: (entry: T) => string,
): Figure[] {
  return entries.map((entry) => ({
    ...figure(`${id}_${entry.currency.toLowerCase() || 'unknown'}`, label, amount(entry), 'money'),
    currency: entry.currency,
  }));
}

/** A part of a whole; null if the whole is 0. */
export const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

/** A text that links to its workflow in the Temporal UI; the plain text without one. */
export function linked(text: string | null, workflowId: string | null, { workflowUrl }: ReportOptions): Value | Linked {
  return workflowUrl && workflowId !== null && text !== null ? { text, href: workflowUrl(workflowId) } : text;
}

/** For tables that list all rows. */
export const ALL_ROWS = { rows: Number.POSITIVE_INFINITY };

/** A table of entries. Each column gives the value it shows of an entry; `cut` says whether more rows exist. */
export function table<T>(
  id: string,
  title: string,
  entries: readonly T[],
  { rows: limit }: Pick<ReportOptions, 'rows'>,
  columns: readonly (readonly [label: string, kind: ValueKind, value: (entry: T, index: number) => Value | Linked])[],
): Table {
  return {
    id,
    title,
    columns: columns.map(([label, kind]) => ({ label, kind })),
    rows: entries.slice(0, limit).map((entry, index) => columns.map(([, , value]) => value(entry, index))),
    cut: entries.length > limit,
  };
}

/** The report with at most `limit` rows per table. Figures, trends and charts still cover everything. */
export function withRowsCut(report: Report, limit: number): Report {
  const cut = (table: Table): Table =>
    table.rows.length > limit ? { ...table, rows: table.rows.slice(0, limit), cut: true } : table;
  return { ...report, groups: report.groups.map((group) => ({ ...group, tables: group.tables.map(cut) })) };
}

/** A trend over the days of the report. */
export function trendOf<T extends { day: string }>(
  days: readonly T[],
  unit: string,
  ...series: [label: string, value: (day: T) => number | null][]
): Chart {
  return {
    title: 'The last 30 days',
    type: 'line',
    categories: days.map(({ day }) => day),
    series: series.map(([label, value]) => ({ label, values: days.map(value) })),
    unit,
  };
}

export function barChart(title: string, unit: string, bars: readonly (readonly [string, number])[]): Chart {
  const values = bars.map(([, value]) => value);
  return { title, type: 'bar', categories: bars.map(([name]) => name), series: [{ label: unit, values }], unit };
}

export type Grouping = 'western' | 'indian';

const LOCALES: Readonly<Record<Grouping, string>> = { western: 'en-US', indian: 'en-IN' };

/** A value for display; empty for none. Money keeps all its digits, and has at least two decimals. */
export function formatValue(value: Value, kind: ValueKind, grouping: Grouping): string {
  if (value === null || value === '') return '';
  if (value instanceof Date) return inIndia(value);
  const decimals = (minimumFractionDigits: number, maximumFractionDigits: number) =>
    new Intl.NumberFormat(LOCALES[grouping], { minimumFractionDigits, maximumFractionDigits });
  switch (kind) {
    case 'money':
      // Intl formats a string as an exact decimal; as a number it would lose digits.
      return decimals(2, 20).format(value as Intl.StringNumericLiteral);
    case 'count':
      return decimals(0, 0).format(Number(value));
    case 'share':
      return `${decimals(0, 1).format(Number(value) * 100)} %`;
    case 'hours':
      if (Math.abs(Number(value)) < 1) return `${decimals(0, 0).format(Number(value) * 60)} min`;
      return `${decimals(0, 1).format(Number(value))} h`;
    case 'days':
      return `${decimals(0, 1).format(Number(value))} d`;
    default:
      return printable(withTimes(String(value), (at) => inIndia(new Date(at))));
  }
}

const inIndia = (at: Date): string =>
  new Date(at.getTime() + KOLKATA_OFFSET_MS).toISOString().slice(0, 16).replace('T', ' ');

/** A number on an axis: 12K, or 12T, India's abbreviation. */
export function formatShort(value: number, grouping: Grouping): string {
  return new Intl.NumberFormat(LOCALES[grouping], { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}
