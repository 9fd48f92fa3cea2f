import type { FilingApi } from '../../api/client-types';
import { ConfigError, loadConfig, type Config, type Environment, type Section } from '../../config/config';
import { documentsCheck } from './documents-check';
import { wrong, fine, type CheckResult } from './finding';
import { ledgerChecks, sendsCheck } from './ledger-checks';
import { serviceChecks } from './service-checks';
import { temporalChecks } from './temporal-checks';

export type { CheckResult } from './finding';

/** What is wrong with these does not keep the ledger from counting calls. */
const TOLD_ALONE = ['vault keys', 'privileges', 'connections'];

/**
 * Checks everything that a worker needs, and continues after a failed check. Changes nothing except for a probe in the
 * document store. Uses one call of the service's 100 a minute.
 * @param api the service, within the budget that the workers share
 */
export async function examine(
  env: Environment | undefined,
  api: () => Promise<FilingApi>,
  connectWithinMs?: number,
): Promise<CheckResult[]> {
  const temporal = validPart(env, 'temporal');
  const { encryptionKeys, databaseUrl, extraction, apiUrl, documents, mode, schedules } = {
    ...validPart(env, 'encryption'),
    ...validPart(env, 'database'),
    ...validPart(env, 'extraction'),
    ...validPart(env, 'api'),
    ...validPart(env, 'documents'),
    ...validPart(env, 'mode'),
    ...validPart(env, 'schedules'),
  };
  const planned = mode && schedules ? { mode, schedules } : undefined;
  const ledger = databaseUrl === undefined ? [] : await ledgerChecks(databaseUrl, encryptionKeys, mode);
  const links = await Promise.all([
    temporal === undefined ? [] : temporalChecks({ ...temporal, extraction }, mode, planned, connectWithinMs),
    documents === undefined ? [] : documentsCheck(documents, databaseUrl).then((result) => [result]),
  ]);
  // The budget is in the ledger: without a ledger no call is made, and an empty ledger is not migrated for it.
  const counted = ledger.length > 0 && ledger.every(({ ok, check }) => ok || TOLD_ALONE.includes(check));
  const stored = links.flat().some(({ check, ok }) => check === 'documents' && ok);
  const sends = counted && stored && databaseUrl && documents ? [await sendsCheck(databaseUrl, documents)] : [];
  const service = apiUrl === undefined ? [] : await serviceChecks(apiUrl, counted ? api : null);
  return [...configurationChecks(env), ...ledger, ...links.flat(), ...sends, ...service];
}

/** A part of the configuration; undefined if it is invalid, which the check `configuration` reports. */
function validPart<S extends Section>(env: Environment | undefined, section: S) {
  try {
    return loadConfig(env, { need: [section] });
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

function configurationChecks(env: Environment | undefined): CheckResult[] {
  let config: Config;
  try {
    config = loadConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ variable, problem }) =>
      wrong('configuration', `${variable} ${problem}`, `Set ${variable} as described in .env.example.`),
    );
  }
  const keys = config.encryptionKeys.map(({ id }) => id).join(', ');
  return [
    fine('configuration', `${config.mode} mode, task queue ${config.taskQueue}`),
    { check: 'encryption key', ok: true, message: keys, advice: config.warnings[0] ?? null },
    fine(
      'payloads',
      `${config.payloadKeys.length > 0 ? 'results are encrypted' : 'nothing is encrypted'}; inputs in plain text are taken, ` +
        'and approve nothing without a grant',
    ),
  ];
}
