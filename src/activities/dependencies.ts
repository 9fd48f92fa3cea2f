/** What activities are given: their dependencies, and the settings that a workflow asks them for. */
import type { Client } from '@temporalio/client';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { FilingApi } from '../api/client';
import type { ExtractionApi } from '../api/endpoints/extraction';
import type { DocumentStore } from '../documents/document-store';
import type { Cadence } from '../domain/filing/poll-cadence';
import { changeExporterInput, refreshIrmsInput, updateCredentialsInput } from '../domain/contracts';
import { IN_PLAIN_WORDS, issueText } from '../domain/issues';
import type { Mode } from '../domain/names';
import type { Pace } from '../assistant/extraction/extractions';
import type { Vault } from '../ledger/vault/vault';
import type { ReportRenderer } from '../reports/render';
import type { Workbooks } from '../workbook/workbooks';
import type { Queueing } from './filings/filing-request';

/** The settings of a filing; they go into its history, so that a replay sees what the first run saw. */
export interface WorkerSettings {
  httpTimeoutMs: number;
  rateWindowMs: number;
  overdueAfterMs: number;
  settleAfterMs: number;
  pollFirstMs: number;
  pollMinMs: number;
  pollMaxMs: number;
  /** One person answers for the installation: two words of the same person, a day apart, count as two. */
  singlePerson: boolean;
}

/** How fast a worker with these settings may call, and how often it polls. */
export const cadenceOf = ({ rateWindowMs, pollFirstMs, pollMinMs, pollMaxMs }: WorkerSettings): Cadence => ({
  rateWindowMs,
  poll: { firstMs: pollFirstMs, minMs: pollMinMs, maxMs: pollMaxMs },
});

/** What a worker with an extraction service has; without it every extraction is refused as extraction_unconfigured. */
export interface ExtractionDependencies {
  api: ExtractionApi;
  /** Address and version word: answers are kept by it. */
  service: string;
  /** Hash of the address and the key: a failure that they cause is kept until one of them changes. */
  access: string;
  pace: Pace;
}

/** Everything that activities need, built once in `worker.ts`; tests pass their own. */
export interface Deps {
  mode: Mode;
  pool: pg.Pool;
  api: FilingApi;
  vault: Vault;
  documents: DocumentStore;
  /** Away from the worker's own thread, bounded in time and memory. */
  workbooks: Workbooks;
  reports: ReportRenderer;
  /** Root of the Temporal UI and the namespace, for links in reports; left out: no links. */
  temporalUi?: { address: string; namespace: string };
  /** Milliseconds since the epoch; tests pass the clock of the time-skipping server. */
  clock: () => number;
  logger: Logger;
  settings: WorkerSettings;
  /** Search attributes that the server knows; a missing one is left out and never stops a workflow. */
  searchAttributes: readonly string[];
  /** Calls that wait for a slot, by rate class, over all workers of the key. */
  queueing: () => Promise<Queueing>;
  /** For signals: filings that wait for credentials, or for an answer that came late, go on at once. */
  client: () => Client;
  /** Left out: extraction is not configured. */
  extraction?: ExtractionDependencies;
}

export const now = ({ clock }: Pick<Deps, 'clock'>): Date => new Date(clock());

export interface ReadSettingsResult extends WorkerSettings {
  /** The search attributes that the server knows; others are left out. */
  searchAttributes: readonly string[];
  mode: 'test' | 'live';
  /** What is wrong with the input that was handed in; absent where none was. */
  inputProblems?: readonly string[];
}

/** Workflows whose input no other activity looks at as a whole, and what it has to be. */
const INPUTS = {
  changeExporter: changeExporterInput,
  refreshIrms: refreshIrmsInput,
  updateCredentials: updateCredentialsInput,
};

export interface StartedWorkflow {
  workflow: keyof typeof INPUTS;
  input: unknown;
}

/** Settings reach a workflow through its history: it cannot read the environment, and a replay has to see the same. */
export function settingsOf({ settings, searchAttributes, mode }: Deps): ReadSettingsResult {
  return { ...settings, searchAttributes, mode };
}

/** The settings; with `started`, also what is wrong with the workflow's input: workflow code has no schemas. */
function readSettings(deps: Deps, started?: StartedWorkflow): Promise<ReadSettingsResult> {
  const { error } = started ? INPUTS[started.workflow].safeParse(started.input, IN_PLAIN_WORDS) : {};
  const inputProblems = (error?.issues ?? []).map(issueText);
  return Promise.resolve({ ...settingsOf(deps), ...(started && { inputProblems }) });
}

export const settingsActivities = { readSettings };
