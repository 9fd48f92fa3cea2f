import type { ActivityDependencies, WorkerSettings } from './dependencies';

export interface ReadSettingsResult extends WorkerSettings {
  /** The search attributes that the server knows; others are left out. */
  searchAttributes: readonly string[];
  mode: 'test' | 'live';
}

/** Settings reach a workflow through its history: it cannot read the environment, and a replay has to see the same. */
export function createSettingsActivities({ settings, searchAttributes, mode }: ActivityDependencies) {
  return {
    readSettings: (): Promise<ReadSettingsResult> => Promise.resolve({ ...settings, searchAttributes, mode }),
  };
}
