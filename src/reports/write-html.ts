import { createHash } from 'node:crypto';
import { htmlText } from '../domain/text';
import { formatValue, WHAT_TO_DO } from './report';
import type { Grouping, Chart, Figure, Group, Linked, Report, Table, Value, ValueKind } from './report';
import { chartSvg, SORT_SCRIPT, STYLE } from './html/chart';

/** The page loads nothing, and its Content-Security-Policy makes browsers enforce that. */
const POLICY = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${createHash('sha256').update(SORT_SCRIPT).digest('base64')}'`;

/** The report as a self-contained page with charts and a sort script. External texts are escaped. */
export function writeReportHtml(report: Report, { grouping }: { grouping: Grouping }): string {
  const made = formatValue(report.madeAt, 'instant', grouping);
  const nav = report.groups.map(({ id, title }) => `<a href="#${htmlText(id)}">${htmlText(title)}</a>`).join('');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="color-scheme" content="light dark">
<title>${htmlText(report.title)}</title>
<style>${STYLE}</style>
</head>
<body data-grouping="${grouping}">
<header>
<h1>${htmlText(report.title)}</h1>
<p>Mode <strong>${htmlText(report.mode)}</strong>, made ${htmlText(made)} (Asia/Kolkata)</p>
${report.notes.map((note) => `<p class="note">${htmlText(note)}</p>`).join('\n')}
<nav>${nav}</nav>
</header>
<main>
${toDoHtml(report.groups, grouping)}
${report.groups.map((group) => groupHtml(group, grouping)).join('\n')}
</main>
<script>${SORT_SCRIPT}</script>
</body>
</html>
`;
}

/** What needs attention, listed before all figures. */
function toDoHtml(groups: readonly Group[], grouping: Grouping): string {
  const alarms = groups.flatMap((group) =>
    group.figures.filter(({ alarm }) => alarm).map((figure) => ({ group, figure })),
  );
  const asked = groups.flatMap((group) => group.tables.flatMap((table) => askedBy(group, table)));
  const count = alarms.length + asked.length;
  const headline = count === 0 ? 'Nothing to do: no figure is outside its expected range.' : `To do: ${count}`;
  const items = alarms.map(({ group, figure: { label, value, kind, currency } }) => {
    const shown = [formatValue(value, kind, grouping), currency].filter(Boolean).join(' ');
    return `<li><a href="#${htmlText(group.id)}">${htmlText(group.title)}</a>: ${htmlText(label)} <strong>${htmlText(shown)}</strong></li>`;
  });
  return `<section id="to-do">\n<h2>${htmlText(headline)}</h2>\n${count > 0 ? `<ul>${[...items, ...asked].join('')}</ul>` : ''}\n</section>`;
}

/** List items for the rows of a table that say what to do. */
function askedBy({ id }: Group, { columns, rows }: Table): string[] {
  const at = columns.findIndex(({ label }) => label === WHAT_TO_DO);
  return rows
    .filter((row) => row[at])
    .map((row) => `<li><a href="#${htmlText(id)}">${htmlText(textOf(row[0]))}</a>: ${htmlText(textOf(row[at]))}</li>`);
}

function textOf(cell: Value | Linked = null): string {
  const isLink = typeof cell === 'object' && cell !== null && 'text' in cell;
  return isLink ? cell.text : formatValue(cell, 'text', 'western');
}

/** Whether all values are zero or missing. Such a group is collapsed to one line. */
function isEmpty(group: Group): boolean {
  const { figures, tables } = group;
  return (
    figures.every(({ value, alarm }) => !alarm && (value === null || value === '' || Number(value) === 0)) &&
    tables.every(({ rows }) => rows.length === 0) &&
    chartsOf(group).every(isFlat)
  );
}

const chartsOf = ({ trend, charts = [] }: Group): Chart[] => (trend ? [trend, ...charts] : charts);

/** Whether all values are zero or missing, so that there is nothing to draw. */
const isFlat = ({ series }: Chart): boolean =>
  series.every(({ values }) => values.every((value) => value === null || Number(value) === 0));

function groupHtml(group: Group, grouping: Grouping): string {
  const title = `<h2>${htmlText(group.title)}</h2>`;
  if (!isEmpty(group))
    return `<section id="${htmlText(group.id)}">\n${title}\n${contentHtml(group, grouping)}\n</section>`;
  const line = `<summary>${title} <span class="none">nothing</span></summary>`;
  return `<section id="${htmlText(group.id)}"><details>${line}${contentHtml(group, grouping)}</details></section>`;
}

function contentHtml(group: Group, grouping: Grouping): string {
  const charts = chartsOf(group);
  return `<p class="definition">${htmlText(group.definition)}</p>
<dl class="figures">${group.figures.map((figure) => figureHtml(figure, grouping)).join('')}</dl>
${charts.length > 0 ? `<div class="charts">${charts.map((chart) => chartHtml(chart, grouping)).join('')}</div>` : ''}
${group.tables.map((table) => tableHtml(table, grouping)).join('\n')}`;
}

function figureHtml({ id, label, value, kind, currency, alarm }: Figure, grouping: Grouping): string {
  const shown = formatValue(value, kind, grouping) || '–';
  const raw = value instanceof Date ? value.toISOString() : (value ?? '');
  const unit = currency === undefined ? '' : ` <span class="unit">${htmlText(currency)}</span>`;
  const sign = alarm ? '<span class="sign" title="Look at this">!</span> ' : '';
  return `<div class="figure${alarm ? ' alarm' : ''}" data-figure="${htmlText(id)}" data-value="${htmlText(String(raw))}"><dt>${htmlText(label)}</dt><dd>${sign}${htmlText(shown)}${unit}</dd></div>`;
}

function chartHtml(chart: Chart, grouping: Grouping): string {
  const picture = isFlat(chart) ? '<p class="none">Nothing in this time.</p>' : chartSvg(chart, grouping);
  return `<figure><figcaption>${htmlText(chart.title)}, ${htmlText(chart.unit)}</figcaption>${picture}</figure>`;
}

const NUMERIC: ReadonlySet<ValueKind> = new Set(['count', 'money', 'hours', 'days', 'share']);

function tableHtml({ id, title, columns, rows, cut }: Table, grouping: Grouping): string {
  if (rows.length === 0) return `<h3>${htmlText(title)}</h3><p class="none">None.</p>`;
  const numeric = columns.map(({ kind }) => NUMERIC.has(kind));
  const head = columns
    .map(({ label }, at) => {
      const kind = numeric[at] ? ' class="number"' : '';
      return `<th scope="col"${kind} aria-sort="none"><button type="button">${htmlText(label)}</button></th>`;
    })
    .join('');
  const body = rows
    .map((row) => `<tr>${row.map((value, at) => cellHtml(value, columns[at]?.kind ?? 'text', grouping)).join('')}</tr>`)
    .join('\n');
  const more = cut ? `<p class="note">The first ${rows.length}; there are more in the workbook.</p>` : '';
  return `<h3>${htmlText(title)}</h3><div class="scroll" tabindex="0"><table id="table-${htmlText(id)}"><thead><tr>${head}</tr></thead><tbody>
${body}
</tbody></table></div>${more}`;
}

function cellHtml(value: Value | Linked, kind: ValueKind, grouping: Grouping): string {
  if (value !== null && typeof value === 'object' && !(value instanceof Date)) {
    return `<td><a href="${htmlText(value.href)}" rel="noreferrer">${htmlText(value.text)}</a></td>`;
  }
  const shown = htmlText(formatValue(value, kind, grouping));
  if (kind === 'day' || kind === 'instant') return `<td class="date">${shown}</td>`;
  if (!NUMERIC.has(kind)) return `<td>${shown}</td>`;
  return `<td class="number" data-v="${htmlText(value === null ? '' : String(value))}">${shown}</td>`;
}
