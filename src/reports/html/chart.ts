import { init, type EChartsOption } from 'echarts';
import { formatShort, type Grouping, type Chart } from '../report';

/** A phone's width, at which texts are readable there. Wider screens show charts side by side. */
const WIDTH = 420;
const LINE_HEIGHT = 200;
const BAR_HEIGHT = 26;
const MAX_LABEL_LENGTH = 26;

/** The page's colours, so that charts follow its light or dark scheme. */
const COLOURS = [1, 2, 3, 4].map((n) => `var(--c${n})`);
const MUTED = { color: 'var(--muted)', fontFamily: 'inherit', fontSize: 12 };
const LINE = { lineStyle: { color: 'var(--line)' } };

/** Renders a chart as an SVG element without a browser. It contains no script and loads nothing. */
export function chartSvg(chart: Chart, grouping: Grouping): string {
  const flat = chart.type === 'bar';
  const height = flat ? 60 + BAR_HEIGHT * chart.categories.length : LINE_HEIGHT;
  const drawing = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  try {
    drawing.setOption(flat ? bars(chart, grouping) : lines(chart, grouping));
    return tidy(drawing.renderToSVGString(), `${chart.title}, ${chart.unit}`);
  } finally {
    drawing.dispose();
  }
}

function lines({ categories, series, unit }: Chart, grouping: Grouping): EChartsOption {
  return {
    ...common(series.length > 1 ? 34 : 12),
    xAxis: {
      type: 'category',
      boundaryGap: false,
      data: categories.map((day) => day.slice(5)),
      axisLabel: { ...MUTED, interval: 6 },
      axisLine: LINE,
      axisTick: { show: false },
    },
    yAxis: valueAxis(grouping, unit),
    series: series.map(({ label, values }, at) => ({
      type: 'line',
      name: label,
      data: values,
      showSymbol: values.filter((value) => value !== null).length < 2,
      lineStyle: { color: COLOURS[at % COLOURS.length], width: 2 },
      itemStyle: { color: COLOURS[at % COLOURS.length] },
    })),
  };
}

function bars({ categories, series, unit }: Chart, grouping: Grouping): EChartsOption {
  return {
    // Room for labels: text is wider in a browser than when it is measured here.
    ...common(8, 26),
    xAxis: valueAxis(grouping, unit),
    yAxis: {
      type: 'category',
      inverse: true,
      data: categories.map(short),
      axisLabel: MUTED,
      axisLine: LINE,
      axisTick: { show: false },
    },
    series: series.map(({ label, values }, at) => ({
      type: 'bar',
      name: label,
      data: values,
      barMaxWidth: 16,
      itemStyle: { color: COLOURS[at % COLOURS.length] },
      label: {
        show: true,
        position: 'right',
        ...MUTED,
        formatter: ({ value }) => (typeof value === 'number' ? formatShort(value, grouping) : ''),
      },
    })),
  };
}

function common(top: number, left = 6): EChartsOption {
  return {
    animation: false,
    legend: { show: top > 20, top: 0, textStyle: MUTED, itemWidth: 14, itemHeight: 8 },
    grid: { left, right: 40, top, bottom: 4, containLabel: true },
  };
}

function valueAxis(grouping: Grouping, unit: string) {
  const formatter = (value: number) => formatShort(value, grouping);
  return {
    type: 'value' as const,
    min: 0,
    splitNumber: 3,
    // Counts have no fractions. Hours show one digit, so smaller steps would all be labelled 0.
    minInterval: unit === 'hours' ? 0.1 : 1,
    splitLine: LINE,
    axisLabel: { ...MUTED, formatter, hideOverlap: true },
  };
}

const short = (label: string): string =>
  label.length > MAX_LABEL_LENGTH ? `${label.slice(0, MAX_LABEL_LENGTH - 1)}…` : label;

/** Fits the SVG to its container, adds a label for screen readers, and removes rules for pointer events. */
function tidy(svg: string, name: string): string {
  const label = name.replace(/[&<>"']/gu, ' ');
  return svg
    .replace(/<style ?>.*?<\/style>/su, '')
    .replace(/ class="[^"]*"| pointer-events="visible"/gu, '')
    .replace(/^<svg width="\d+" height="\d+"/u, `<svg role="img" aria-label="${label}"`);
}

/** The page's styles, readable at 390 px, on paper, and in light and dark colour schemes. */
export const STYLE = `
:root {
  --back: #fff; --card: #f6f7f9; --text: #1b1f24; --muted: #59636e; --line: #d5d9de; --alarm: #b42318;
  --c1: #1f6feb; --c2: #c2410c; --c3: #15803d; --c4: #7e22ce;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0f1318; --card: #191f26; --text: #e6e9ed; --muted: #9aa4af; --line: #343c46; --alarm: #ff8a7a;
    --c1: #6ea8fe; --c2: #fb9a63; --c3: #5fd38a; --c4: #c89bff;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
header, main { max-width: 1360px; margin: 0 auto; padding: 16px; }
h1 { font-size: 1.5rem; margin: 0 0 4px; }
h2 { font-size: 1.2rem; margin: 0 0 4px; }
summary { cursor: pointer; }
summary h2 { display: inline; }
#to-do { border-top: 0; }
h3 { font-size: 1rem; margin: 20px 0 6px; }
header p { margin: 0 0 4px; }
a { color: var(--c1); }
nav { display: flex; flex-wrap: wrap; gap: 4px 14px; margin-top: 8px; }
section { border-top: 1px solid var(--line); padding: 20px 0; }
.definition, .note, .none { color: var(--muted); max-width: 80ch; margin: 0 0 10px; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 190px), 1fr)); gap: 8px; margin: 0; }
.figure { background: var(--card); border-left: 3px solid var(--line); border-radius: 4px; padding: 8px 10px; min-width: 0; }
.figure dt { color: var(--muted); font-size: .85rem; }
.figure dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; white-space: nowrap; overflow-x: auto; }
.figure.alarm { border-left-color: var(--alarm); }
.figure.alarm dd, .sign { color: var(--alarm); }
.sign { font-weight: 700; }
.unit { color: var(--muted); font-size: .85rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 360px), 1fr)); gap: 16px; margin-top: 14px; }
figure { margin: 0; min-width: 0; }
figcaption { color: var(--muted); font-size: .85rem; }
figure svg { display: block; width: 100%; max-width: 520px; height: auto; }
.scroll { overflow: auto; max-height: 30rem; border: 1px solid var(--line); border-radius: 4px; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { padding: 5px 9px; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
td { max-width: 36ch; overflow-wrap: break-word; }
th { position: sticky; top: 0; background: var(--card); }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
th, th.number { white-space: normal; vertical-align: bottom; }
td.date { white-space: nowrap; }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid var(--c1); outline-offset: 2px; }
th[aria-sort=ascending] button::after { content: ' \\2191'; }
th[aria-sort=descending] button::after { content: ' \\2193'; }
@media print {
  :root {
    --back: #fff; --card: #fff; --text: #000; --muted: #444; --line: #bbb; --alarm: #a00;
    --c1: #1f6feb; --c2: #c2410c; --c3: #15803d; --c4: #7e22ce;
  }
  body { font-size: 10pt; }
  nav { display: none; }
  .scroll { overflow: visible; max-height: none; border: 0; }
  th { position: static; }
  tr, .figure, figure { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
`;

/** Sorts a table by the clicked heading; a second click reverses the order. Rows without a value come last. */
export const SORT_SCRIPT = `
document.querySelectorAll('th button').forEach(function (button) {
  button.addEventListener('click', function () {
    var th = button.parentNode, row = th.parentNode, body = row.parentNode.parentNode.tBodies[0];
    var at = Array.prototype.indexOf.call(row.children, th);
    var down = th.getAttribute('aria-sort') === 'ascending', number = th.className === 'number';
    var read = function (tr) {
      var td = tr.children[at], text = number ? td.getAttribute('data-v') : td.textContent;
      return text === '' || text === null ? null : number ? Number(text) : text;
    };
    var rows = Array.prototype.map.call(body.rows, function (tr) { return { tr: tr, v: read(tr) }; });
    rows.sort(function (a, b) {
      if (a.v === null || b.v === null) return (a.v === null) - (b.v === null);
      var order = number ? a.v - b.v : a.v.localeCompare(b.v, 'en', { numeric: true });
      return down ? -order : order;
    });
    Array.prototype.forEach.call(row.children, function (other) { other.setAttribute('aria-sort', 'none'); });
    th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    rows.forEach(function (each) { body.appendChild(each.tr); });
  });
});
`;
