/** The results of a run as tables, for the terminal and for the documentation. */
import { readFile, writeFile } from 'node:fs/promises';
import { arch, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { render, table } from '../src/starter/cli/page';
import type { ScenarioResult } from './scenario';
import { FIGURES } from './verdict';

/** Every figure of every scenario. */
export function tableOf(results: readonly ScenarioResult[]): string {
  const names = [...new Set(results.flatMap(({ figures }) => figures.map(([name]) => name)))];
  const rows = names.map((name) => [name, ...results.map((result) => figureOf(result, name))]);
  const took = ['seconds', ...results.map(secondsOf)];
  const columns = process.stdout.columns || 200;
  return render(table(['', ...results.map(({ name }) => name)], [...rows, took]), { width: columns, colour: false });
}

const COLUMNS: readonly (readonly [head: string, value: (result: ScenarioResult) => string | number])[] = [
  ['scenario', ({ name }) => name],
  ['filings', (result) => figureOf(result, FIGURES.filings)],
  ['certified', (result) => figureOf(result, FIGURES.certified)],
  ['unknown, with evidence', (result) => figureOf(result, FIGURES.unknown)],
  ['other', (result) => figureOf(result, FIGURES.otherStates)],
  ['filed twice', (result) => figureOf(result, FIGURES.twice)],
  ['lost', (result) => figureOf(result, FIGURES.lost)],
  [
    'submissions, without answer',
    (result) => `${figureOf(result, FIGURES.submissions)}, ${figureOf(result, FIGURES.unanswered)}`,
  ],
  [
    'certificates, PDFs checked',
    (result) => `${figureOf(result, FIGURES.minted)}, ${figureOf(result, FIGURES.archived)}`,
  ],
  ['what was done', ({ disruptions }) => disruptions.map(([name, count]) => `${name}: ${count}`).join('; ')],
  ['seconds', secondsOf],
];

/** One line for each scenario, as Markdown. */
export function summaryOf(results: readonly ScenarioResult[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [
    line(COLUMNS.map(([head]) => head)),
    `|${COLUMNS.map(() => '---|').join('')}`,
    ...results.map((result) => line(COLUMNS.map(([, value]) => value(result)))),
  ].join('\n');
}

const PAGE = join(__dirname, '..', 'docs', 'reliability.md');
const BEGIN = '<!-- npm run chaos -- --write-docs -->';
const END = '<!-- end -->';

/** Puts the summary between the marks of docs/reliability.md. */
export async function writeDocs(results: readonly ScenarioResult[], { seed }: { seed: number }): Promise<void> {
  const text = await readFile(PAGE, 'utf8');
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${PAGE} has no place for the table: ${BEGIN} … ${END}`);
  const tables = `${machineOf(seed)}\n\n${summaryOf(results)}`;
  await writeFile(PAGE, `${text.slice(0, from + BEGIN.length)}\n\n${tables}\n\n${text.slice(to)}`);
}

function machineOf(seed: number): string {
  const [cpu] = cpus();
  const day = new Date().toISOString().slice(0, 10);
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${day}, seed ${seed}, ${cpus().length} cores (${cpu?.model ?? arch()}), ${memory} GB, Node ${process.versions.node}:`;
}

function figureOf({ figures }: ScenarioResult, name: string): string | number {
  return new Map(figures).get(name) ?? '';
}

function secondsOf({ tookMs }: ScenarioResult): number {
  return Math.round(tookMs / 1_000);
}
