import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export interface AlertFile {
  groups: {
    rules: {
      alert: string;
      expr: string;
      labels: { severity: string };
      annotations: { summary: string; runbook: string };
    }[];
  }[];
}

/** Every PromQL expression of `ops/alerts.yaml` or of a dashboard. */
export function expressionsOf(file: string): string[] {
  const text = readFileSync(join(__dirname, '..', '..', file), 'utf8');
  if (file.endsWith('.yaml'))
    return (parse(text) as AlertFile).groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
  const { panels } = JSON.parse(text) as { panels: { targets?: { expr: string }[] }[] };
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** The metrics that expressions name, each once. */
export function metricsIn(expressions: readonly string[]): string[] {
  return [...new Set(expressions.flatMap((each) => each.match(/\b(ebrc|temporal)_[a-z0-9_]+/g) ?? []))].sort();
}
