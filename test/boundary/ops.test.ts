/** What operators load into other programs: alert rules, the dashboard, and the runbooks that they point at. */
import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { FILING_STATES } from '../../src/domain/filing/states';
import { ERROR_KIND_NAMES } from '../../src/domain/service/error-kinds';
import { RATE_CLASSES } from '../../src/domain/names';
import { FINDING_KINDS } from '../../src/domain/reconciliation/findings';
import { COUNTERS, HISTOGRAMS, LEDGER_GAUGES, PROCESS_GAUGES } from '../../src/worker/metrics';
import { expressionsOf, metricsIn, type AlertFile } from '../support/ops-files';
import { ROOT, anchorsOf, readProject } from './project';

const exported = new Set([
  ...Object.keys({ ...LEDGER_GAUGES, ...PROCESS_GAUGES }),
  ...Object.keys(COUNTERS).map((name) => `${name}_total`),
  ...Object.keys(HISTOGRAMS).flatMap((name) => ['_bucket', '_sum', '_count'].map((part) => name + part)),
]);

const alerts = (parse(readProject('ops/alerts.yaml')) as AlertFile).groups.flatMap(({ rules }) => rules);

it.each(['ops/alerts.yaml', 'ops/grafana-dashboard.json'])('%s names metrics that are exported', (file) => {
  const named = metricsIn(expressionsOf(file)).filter((name) => name.startsWith('ebrc_'));
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !exported.has(name))).toEqual([]);
});

it('shows every metric of the catalogue on the dashboard', () => {
  const shown = metricsIn(expressionsOf('ops/grafana-dashboard.json'));
  const names = Object.keys({ ...LEDGER_GAUGES, ...PROCESS_GAUGES, ...COUNTERS, ...HISTOGRAMS });
  expect(names.filter((name) => !shown.some((each) => each.startsWith(name)))).toEqual([]);
});

it('selects states, kinds and classes that there are', () => {
  const text = [...expressionsOf('ops/alerts.yaml'), ...expressionsOf('ops/grafana-dashboard.json')].join('\n');
  const known: Record<string, readonly string[]> = {
    state: [...FILING_STATES, 'stored', 'missing', 'damaged'],
    kind: [...ERROR_KIND_NAMES, ...FINDING_KINDS, 'ok'],
    rate_class: RATE_CLASSES,
  };
  const selectors = [...text.matchAll(/\b(state|kind|rate_class)[!=]?[=~]"([^"]*)"/g)];
  expect(selectors.length).toBeGreaterThan(8);
  for (const [, label = '', values = ''] of selectors) {
    for (const value of values.split('|')) expect(known[label]).toContain(value);
  }
});

it('alerts for each mode by itself', () => {
  const ours = alerts.filter(({ expr }) => /\bebrc_/.test(expr));
  const mixed = ours.filter(({ expr }) => /\b(max|min|sum|count) ?(by \((?![^)]*mode)[^)]*\) ?)?\((?!last)/.test(expr));
  expect(ours.length).toBeGreaterThan(20);
  expect(mixed.map(({ alert }) => alert)).toEqual([]);
});

it('names a section of the documentation for every alert', () => {
  const anchors = anchorsOf('docs/operations.md');
  expect(alerts.length).toBeGreaterThan(15);
  for (const { alert, annotations, labels } of alerts) {
    const [file, anchor = ''] = annotations.runbook.split('#');
    expect([alert, file, anchors.has(anchor), anchor]).toEqual([alert, 'docs/operations.md', true, anchor]);
    expect(['page', 'ticket']).toContain(labels.severity);
    expect(annotations.summary.length).toBeGreaterThan(20);
  }
});

/** A checker of Prometheus's makers: on the PATH, or where `go install` puts it. */
async function findTool(name: string): Promise<string | null> {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), join(homedir(), 'go', 'bin')];
  for (const folder of folders) {
    const path = join(folder, name);
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return null;
}

it('has rules that promtool accepts, and that fire when they should', async () => {
  const promtool = await findTool('promtool');
  if (!promtool) {
    process.stderr.write('promtool is not installed: the alert rules were read by our own tests alone.\n');
    return;
  }
  const { stdout } = await promisify(execFile)(promtool, ['check', 'rules', join(ROOT, 'ops/alerts.yaml')]);
  expect(stdout).toContain(`SUCCESS: ${alerts.length} rules found`);
  await promisify(execFile)(promtool, ['test', 'rules', join(ROOT, 'ops/alerts.test.yaml')]);
});

interface Route {
  receiver: string;
  matchers?: string[];
  routes?: Route[];
}

it('has an example that tells somebody of every alert, and keeps its secrets in files', async () => {
  const text = readProject('ops/alertmanager.yaml');
  const { route, receivers } = parse(text) as {
    route: Route;
    receivers: { name: string; email_configs?: unknown[]; slack_configs?: unknown[] }[];
  };
  // Severities are matched, everything else falls to the first receiver; each has an address.
  for (const { receiver } of [route, ...(route.routes ?? [])]) {
    const { email_configs, slack_configs } = receivers.find(({ name }) => name === receiver) ?? {};
    expect([receiver, email_configs, slack_configs]).toEqual([receiver, expect.any(Array), expect.any(Array)]);
  }
  const matched = (route.routes ?? []).flatMap(({ matchers = [] }) => matchers);
  expect(matched).toEqual(['severity = page']);
  expect(text).not.toMatch(/^[ -]*(smtp_auth_password|auth_password|api_url|slack_api_url):/mu);

  const amtool = await findTool('amtool');
  if (!amtool) {
    process.stderr.write('amtool is not installed: the receivers were read by our own tests alone.\n');
    return;
  }
  const file = join(ROOT, 'ops/alertmanager.yaml');
  await promisify(execFile)(amtool, ['check-config', file]);
  const receiverOf = async (severity: string) => {
    const args = ['config', 'routes', 'test', `--config.file=${file}`, `severity=${severity}`];
    return (await promisify(execFile)(amtool, args)).stdout.trim();
  };
  expect([await receiverOf('page'), await receiverOf('ticket')]).toEqual(['on-call', 'office']);
});
