import type { z } from 'zod';
import { changeExporterInput, refreshIrmsInput, updateCredentialsInput } from '../domain/contracts';
import { IN_PLAIN_WORDS, issueText } from '../domain/issues';
import type { Deps, WorkerSettings } from './dependencies';

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
  return Promise.resolve({
    ...settingsOf(deps),
    ...(started && { inputProblems: problemsOf(INPUTS[started.workflow], started.input) }),
  });
}

function problemsOf(schema: z.ZodType, input: unknown): string[] {
  const { error } = schema.safeParse(input, IN_PLAIN_WORDS);
  return (error?.issues ?? []).map(issueText);
}

export const settingsActivities = { readSettings };
