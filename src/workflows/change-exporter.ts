import { ApplicationFailure } from '@temporalio/workflow';
import type { ChangeExporterInput, ChangeExporterResult } from '../domain/contracts';
import { otherModeText } from '../domain/values';
import { calls } from './activity-profiles';
import { readFailure, needInput } from './failures';

/** Changes the name, the company name or the address of an exporter at the service; what is left out stays. */
export async function changeExporter(input: ChangeExporterInput): Promise<ChangeExporterResult> {
  needInput('changeExporter', input);
  const { mode, exporterId, ...change } = input;
  const settings = await calls('ledger', { summary: 'Read the settings' }).readSettings({
    workflow: 'changeExporter',
    input,
  });
  const problems = settings.inputProblems ?? [];
  if (problems.length > 0) throw ApplicationFailure.nonRetryable(problems.join('; '), 'invalid_input');
  if (settings.mode !== mode) {
    throw ApplicationFailure.nonRetryable(otherModeText('The change is for', mode, settings.mode), 'wrong_mode');
  }
  const about = { summary: 'Change the client at the service', rateClass: 'api', exporterId, priorityKey: 1 } as const;
  try {
    await calls('helpful', about).changeExporter({ exporterId, change });
    return { exporterId, state: 'changed', errors: [] };
  } catch (error) {
    const { kind, message } = readFailure(error);
    if (kind === null) throw error;
    return { exporterId, state: 'refused', errors: [{ code: kind, message }] };
  }
}
