/** The dependencies of activities, and the settings that workflows read through them. */
import type pg from 'pg';
import type { Logger } from 'pino';
import type { FilingApi } from '../api/client';
import type { createExtractionApi } from '../api/endpoints/extraction';
import type { DocumentStore } from '../documents/document-store';
import { changeExporterInput, refreshIrmsInput, updateCredentialsInput } from '../domain/contracts';
import { IN_PLAIN_WORDS, issueText } from '../domain/issues';
import type { Mode, RateClass } from '../domain/names';
import type { Quota } from '../domain/service/limits';
import type { Pace } from '../assistant/extraction/extractions';
import type { SeenTime } from '../ledger/time';
import type { Vault } from '../ledger/vault/vault';
import type { ReportRenderer } from '../reports/render';
import type { Workbooks } from '../workbook/workbooks';

/** The settings of a filing. They go into its history, so that a replay sees the same ones. */
export interface WorkerSettings {
  httpTimeoutMs: number;
  rateWindowMs: number;
  overdueAfterMs: number;
  settleAfterMs: number;
  /** How far back an exporter's certificates are read at first. */
  historyMs: number;
  pollFirstMs: number;
  pollMinMs: number;
  pollMaxMs: number;
  /** The installation has one person, whose two words a day apart count as two persons'. */
  singlePerson: boolean;
}

/** The extraction service; without it every extraction is refused as extraction_unconfigured. */
export interface ExtractionDependencies {
  api: ReturnType<typeof createExtractionApi>;
  /** Address and version of the service, by which answers are kept. */
  service: string;
  /** Hash of the address and the key; a failure that they cause is kept until one of them changes. */
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
  /** Runs in other threads, with limits of time and memory. */
  workbooks: Workbooks;
  reports: ReportRenderer;
  /** Root of the Temporal UI and the namespace, for links in reports. Default: no links. */
  temporalUi?: { address: string; namespace: string };
  /** What the contract with the service includes, for the daily report. Default: free general use. */
  quota?: Quota;
  /** Epoch ms. Tests pass the clock of the time-skipping server. */
  clock: () => number;
  logger: Logger;
  settings: WorkerSettings;
  /** Search attributes that the server has. A missing one is skipped and never stops a workflow. */
  searchAttributes: readonly string[];
  /** The ledger's time as this process saw it. */
  seen: SeenTime;
  /** Calls that wait for a slot, by rate class, over all workers of the key. */
  queueing: () => Promise<ReadonlyMap<RateClass, number>>;
  /** Wakes a filing's run, so that it looks at the ledger at once. Never throws: it looks again by itself. */
  poke: (workflowId: string) => Promise<void>;
  /** Wakes a filing's run, or starts one where none is running. Never throws: the hourly sweep does it too. */
  pokeOrStart: (filingId: string) => Promise<void>;
  /** Undefined: extraction is not configured. */
  extraction?: ExtractionDependencies;
}

export interface ReadSettingsResult extends WorkerSettings {
  searchAttributes: readonly string[];
  mode: 'test' | 'live';
  /** What is wrong with the given input; absent if none was given. */
  inputProblems?: readonly string[];
}

/** Schemas of workflow inputs that no other activity checks as a whole. */
const INPUTS = {
  changeExporter: changeExporterInput,
  refreshIrms: refreshIrmsInput,
  updateCredentials: updateCredentialsInput,
};

export interface StartedWorkflow {
  workflow: keyof typeof INPUTS;
  input: unknown;
}

/** Workflows get settings through their history, because they cannot read the environment and a replay must match. */
function settingsOf({ settings, searchAttributes, mode }: Deps): ReadSettingsResult {
  return { ...settings, searchAttributes, mode };
}

/** Reads the settings. With `started` it also checks the workflow's input, because workflow code has no schemas. */
function readSettings(deps: Deps, started?: StartedWorkflow): Promise<ReadSettingsResult> {
  const { error } = started ? INPUTS[started.workflow].safeParse(started.input, IN_PLAIN_WORDS) : {};
  const inputProblems = (error?.issues ?? []).map(issueText);
  return Promise.resolve({ ...settingsOf(deps), ...(started && { inputProblems }) });
}

export const settingsActivities = { readSettings };
