/** Makes the daily report and the ageing report from the ledger alone. */
import type pg from 'pg';
import type { Queryable } from '../ledger/pool';
import { BUCKETS, realisationAgeing, type Ageing, type RealisationRule } from '../ledger/reports/ageing';
import { type ReportScope, inSnapshot } from '../ledger/reports/scope';
import { ageingGroup, irmGroup } from './groups/balances';
import { funnelGroup, latencyGroup, rejectionsGroup, unknownGroup } from './groups/filings';
import { archiveGroup, breaksGroup, credentialsGroup, quotaGroup } from './groups/operations';
import { filingDateInKolkata, isoFromFilingDate, KOLKATA_OFFSET_MS, DAY_MS } from '../domain/dates';
import { sumAmounts } from '../domain/money';
import { isoDate } from '../domain/report-contracts';
import { groupBy } from '../domain/values';
import type { Mode } from '../domain/names';
import { IN_PLAIN_WORDS, issueText } from '../domain/issues';
import { ALL_ROWS, figure, table, type Group, type Report, type ReportOptions } from './report';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

export interface ReportInput extends ReportOptions {
  mode: Mode;
  /** Day in Asia/Kolkata, as YYYY-MM-DD. */
  on: string;
  now: Date;
  rules: readonly RealisationRule[];
}

/** Days of a trend, including the report's day. */
const TREND_DAYS = 30;

/** Makes the daily report with its ten groups. */
export async function dailyReport(pool: pg.Pool, request: ReportInput): Promise<Report> {
  const scope = scopeOf(request);
  const make = [
    unknownGroup,
    funnelGroup,
    latencyGroup,
    rejectionsGroup,
    irmGroup,
    async (db: Queryable) => ageingGroup(await realisationAgeing(db, scope, request.rules), request),
    breaksGroup,
    credentialsGroup,
    quotaGroup,
    archiveGroup,
  ];
  const groups: Group[] = [];
  await inSnapshot(pool, async (db) => {
    for (const group of make) groups.push(await group(db, scope, request));
  });
  const { mode, on, now } = request;
  return { report: 'daily', title: `Daily report of ${on}`, mode, on, madeAt: now, groups, notes: notesOf(request) };
}

/** Makes the ageing report: export amounts that are not certified, by due date. */
export async function ageingReport(pool: pg.Pool, request: ReportInput): Promise<Report> {
  const scope = scopeOf(request);
  const { mode, on, now, rules } = request;
  const ageing = await inSnapshot(pool, (db) => realisationAgeing(db, scope, rules));
  const groups = [ageingGroup(ageing, request), exporterGroup(ageing), rulesGroup(request)];
  const title = `Realisation ageing on ${on}`;
  return { report: 'ageing', title, mode, on, madeAt: now, groups, notes: notesOf(request) };
}

function scopeOf({ mode, on, now, rows }: ReportInput): ReportScope {
  const midnight = Date.parse(`${on}T00:00:00Z`);
  const from = new Date(midnight - (TREND_DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
  const ends = midnight - KOLKATA_OFFSET_MS + DAY_MS;
  // One row more than is listed, which shows that there are more.
  return { mode, from, to: on, until: new Date(Math.min(ends, now.getTime())), rows: rows + 1 };
}

function notesOf({ now, on }: ReportInput): string[] {
  const today = isoFromFilingDate(filingDateInKolkata(now.getTime()));
  return on === today
    ? ['The day is not over: the figures are as of the time at which the report was made.']
    : [
        'Figures are as of the end of that day, as far as the ledger has kept them; the status of exporters and utilised balances are as of today.',
      ];
}

function exporterGroup({ byExporter }: Ageing): Group {
  const groups = groupBy(byExporter, ({ exporter, currency }) => JSON.stringify([exporter, currency]));
  const rows = [...groups.values()].map((ofExporter) => {
    const of = (bucket: (typeof BUCKETS)[number]['id']) =>
      ofExporter.find((sum) => sum.bucket === bucket)?.outstanding ?? '0';
    return { ...ofExporter[0], total: sumAmounts(ofExporter.map(({ outstanding }) => outstanding)), of };
  });
  return {
    id: 'exporters',
    title: 'By exporter',
    definition: 'The outstanding value of each exporter and currency, by the days left until it has to be realised.',
    figures: [figure('exporters', 'Exporters', new Set(rows.map(({ exporter }) => exporter)).size)],
    trend: null,
    tables: [
      table('by_exporter', 'Outstanding by exporter', rows, ALL_ROWS, [
        ['Exporter', 'text', (row) => row.exporter],
        ['Currency', 'text', (row) => row.currency],
        ['Outstanding', 'money', (row) => row.total],
        ...BUCKETS.map(({ id, label }) => [label, 'money', (row: (typeof rows)[number]) => row.of(id)] as const),
      ]),
    ],
  };
}

function rulesGroup(request: ReportInput): Group {
  const rules = request.rules.filter(({ inForceFrom }) => inForceFrom <= request.on);
  return {
    id: 'rules',
    title: 'Rules',
    definition:
      'The realisation periods that were in force on the day. The newest one that covers a document decides; a due date in the invoice list takes precedence.',
    figures: [figure('rules', 'Rules in force', rules.length)],
    trend: null,
    tables: [
      table('rules', 'Rules in force', rules, ALL_ROWS, [
        ['Rule', 'text', (rule) => rule.id],
        ['In force from', 'day', (rule) => rule.inForceFrom],
        ['Documents from', 'day', (rule) => rule.documentsFrom ?? null],
        ['Months', 'count', (rule) => rule.months],
        [
          'Other currencies',
          'text',
          (rule) =>
            Object.entries(rule.monthsByCurrency ?? {})
              .map(([currency, months]) => `${currency}: ${months}`)
              .join(', '),
        ],
        ['Source', 'text', (rule) => `${rule.source} (${rule.url})`],
        ['Uncertain', 'text', (rule) => rule.uncertain ?? null],
      ]),
    ],
  };
}

/** `src` and `dist` are both in the package's root. */
const PACKAGED_RULES = join(__dirname, '..', '..', 'realisation-rules.yaml');

const months = z.number().int().min(1).max(120);

const ruleFile = z.strictObject({
  rules: z
    .array(
      z.strictObject({
        id: z.string().min(1),
        inForceFrom: isoDate,
        documentsFrom: isoDate.optional(),
        months,
        monthsByCurrency: z.record(z.string().regex(/^[A-Z]{3}$/u), months).optional(),
        restrictedAfterMonths: months.optional(),
        source: z.string().min(1),
        url: z.url(),
        uncertain: z.string().optional(),
      }),
    )
    .min(1),
});

/** Reads the dated realisation periods. @throws Error for an invalid file; errors of the file system */
export async function readRealisationRules(path: string = PACKAGED_RULES): Promise<RealisationRule[]> {
  // Dates stay texts, because instants would depend on a time zone.
  const { data, error } = ruleFile.safeParse(parse(await readFile(path, 'utf8'), { schema: 'core' }), IN_PLAIN_WORDS);
  if (error) throw new Error(`${path}: ${error.issues.map(issueText).join('; ')}`);
  return data.rules;
}
