import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createPool } from '../../src/ledger/pool';
import { LOST_SUFFIX } from '../disruptions/postgres';
import type { Stage } from '../stage';
import { FIGURES, type Verdict } from '../verdict';
import { checkHistory, type HistoryCheck } from './check';
import { readChanges } from './recorder';
import { knownSteps } from './model-steps';

/**
 * Checks the history of the ledger, and of the one that a restore replaced, against the protocol's model. A history
 * with a step that the model does not have is written into the run's folder.
 */
export async function judgeHistory(
  { pool, databaseUrl, folder }: Pick<Stage, 'pool' | 'databaseUrl' | 'folder'>,
  { restored }: { restored: boolean },
): Promise<Verdict> {
  const histories = [{ name: 'history', changes: await readChanges(pool), known: knownSteps({ restored }) }];
  if (restored) {
    const lost = createPool({ url: `${databaseUrl}${LOST_SUFFIX}`, max: 1 });
    const changes = await readChanges(lost).finally(() => lost.end());
    histories.push({ name: 'history-of-the-lost-ledger', changes, known: knownSteps({ restored: false }) });
  }
  const checks: HistoryCheck[] = [];
  for (const { name, changes, known } of histories) {
    const check = checkHistory(changes, known);
    checks.push(check);
    if (check.refused.length > 0) await writeFile(join(folder, `${name}.json`), JSON.stringify(changes));
  }
  const refused = checks.flatMap((check) => check.refused);
  return {
    figures: [
      [FIGURES.steps, checks.reduce((sum, { steps }) => sum + steps, 0)],
      [FIGURES.unknownSteps, refused.length],
    ],
    problems: refused,
  };
}
