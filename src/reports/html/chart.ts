import { init, type EChartsOption } from 'echarts';
import { formatShort, type Grouping, type Chart } from '../report';

/**
 * Drawn at the width of a phone, so that its texts are readable there; wider screens show several charts side by side.
 */
const WIDTH = 420;
const LINE_HEIGHT = 200;
const BAR_HEIGHT = 26;
const MAX_LABEL_LENGTH = 26;

/** Colours are those of the page, so that they follow its light or dark scheme. */
const COLOURS = [1, 2, 3, 4].map((n) => `var(--c${n})`);
const MUTED = { color: 'var(--muted)', fontFamily: 'inherit', fontSize: 12 };
const LINE = { lineStyle: { color: 'var(--line)' } };

/** A chart as an SVG element, drawn without a browser. It contains no script and loads nothing. */
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
    // Text is measured without a browser here, and is wider in a browser.
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
    // Counts have no fractions, and hours are shown with one digit: an axis of minutes would have 0 at each line.
    minInterval: unit === 'hours' ? 0.1 : 1,
    splitLine: LINE,
    axisLabel: { ...MUTED, formatter, hideOverlap: true },
  };
}

const short = (label: string): string =>
  label.length > MAX_LABEL_LENGTH ? `${label.slice(0, MAX_LABEL_LENGTH - 1)}…` : label;

/**
 * Makes the chart as wide as its container, adds a label for screen readers, and removes the rules for pointer events,
 * which a still picture does not need.
 */
function tidy(svg: string, name: string): string {
  const label = name.replace(/[&<>"']/gu, ' ');
  return svg
    .replace(/<style ?>.*?<\/style>/su, '')
    .replace(/ class="[^"]*"| pointer-events="visible"/gu, '')
    .replace(/^<svg width="\d+" height="\d+"/u, `<svg role="img" aria-label="${label}"`);
}
