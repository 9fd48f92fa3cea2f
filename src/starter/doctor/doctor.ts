import type { FilingApi } from '../../api/client';
import { ConfigError, loadConfig, type Config, type Environment, type Section } from '../../config/config';
import { checkContract, checkQuota, documentsCheck, ledgerChecks } from './ledger-checks';
import { wrong, fine, type CheckResult, clockResult } from './finding';
import { temporalChecks } from './temporal-checks';
import { ApiError } from '../../api/errors/api-error';
import { createPool } from '../../ledger/pool';
import { firstLine } from '../errors';

export type { CheckResult } from './finding';

/** Checks whose failure does not prevent counting calls in the ledger. */
const CHECKS_BESIDE_BUDGET = ['vault keys', 'ledger', 'runs'];

/**
 * Checks everything that a worker needs. Changes nothing except a probe in the document store, and uses one call of the
 * 100 a minute.
 * @param api the service, within the workers' budget
 */
export async function examine(
  env: Environment | undefined,
  api: () => Promise<FilingApi>,
  connectWithinMs?: number,
): Promise<CheckResult[]> {
  const temporal = validPart(env, 'temporal');
  const sections = ['database', 'encryption', 'extraction', 'api', 'documents', 'mode', 'schedules', 'quota'] as const;
  const valid = Object.assign({}, ...sections.map((section) => validPart(env, section))) as Partial<Config>;
  const { databaseUrl, encryptionKeys, extraction, apiUrl, apiKey, documents, mode, schedules, quota } = valid;
  const planned = mode && schedules ? { mode, schedules } : undefined;
  const more = { applicationName: 'ebrc-doctor', max: 2, timeouts: { connectMs: 5_000 } };
  const pool = databaseUrl === undefined ? null : createPool({ url: databaseUrl, ...more });
  try {
    const ledger = pool ? await ledgerChecks(pool, encryptionKeys, mode) : [];
    const links = await Promise.all([
      temporal === undefined ? [] : temporalChecks({ ...temporal, extraction }, planned, connectWithinMs),
      documents === undefined ? [] : documentsCheck(documents, pool).then((result) => [result]),
    ]);
    // The call budget is in the ledger: without a ledger no call is made, and an empty one is not migrated for it.
    const counted = ledger.length > 0 && ledger.every(({ ok, check }) => ok || CHECKS_BESIDE_BUDGET.includes(check));
    const service = apiUrl === undefined ? [] : await serviceChecks(apiUrl, counted ? api : null);
    const calls = counted && pool && apiKey !== undefined ? [await checkQuota(pool, apiKey)] : [];
    const contract = counted && pool && mode && quota ? [await checkContract(pool, mode, quota)] : [];
    return [...configurationChecks(env), ...ledger, ...links.flat(), ...service, ...calls, ...contract];
  } finally {
    await pool?.end();
  }
}

/** A part of the configuration; undefined if invalid, which the check `configuration` reports. */
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
      `${config.payloadKeys.length > 0 ? 'results are encrypted' : 'nothing is encrypted'}; plain text is ${config.payloads === 'any' ? 'taken' : 'refused'}`,
    ),
  ];
}

const ANSWER_WITHIN_MS = 10_000;

const ADVICE: Readonly<Record<string, string>> = {
  unauthorized: 'Check EBRC_API_KEY: the service does not know this key.',
  forbidden: 'Check that the agreements are signed and that EBRC_API_KEY is a platform key.',
};

/** Checks that the service is reachable, accepts the key, and agrees in time. Without `api` the key is not tried. */
async function serviceChecks(apiUrl: string, api: (() => Promise<FilingApi>) | null): Promise<CheckResult[]> {
  const clock = await checkClock(apiUrl);
  // If the service does not answer, do not spend a call of the budget.
  if (!clock.reached) return [wrong('service', clock.why, 'Check EBRC_API_URL, and that it can be reached from here.')];
  const key = api ? await checkKey(api) : fine('service', 'reached; the key is tried once the ledger is usable');
  return [key, ...(clock.result ? [clock.result] : [])];
}

async function checkKey(api: () => Promise<FilingApi>): Promise<CheckResult> {
  try {
    for await (const _customer of (await api()).listCustomers({ limit: 1 }, {})) break;
    return fine('service', 'reached, and accepts the key');
  } catch (error) {
    const kind = error instanceof ApiError ? error.kind : '';
    const advice = ADVICE[kind] ?? 'Check EBRC_API_URL, and run `ebrc doctor` again in a minute.';
    return wrong('service', firstLine(error), advice);
  }
}

/** Asks without the key, which uses no budget: the refusal has a Date header too (spec: "Authentication"). */
async function checkClock(
  apiUrl: string,
): Promise<{ reached: true; result: CheckResult | null } | { reached: false; why: string }> {
  try {
    const asked = Date.now();
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const answer = await fetch(`${apiUrl}/platform-customers`, { signal, redirect: 'manual' });
    const answered = Date.now();
    await answer.body?.cancel();
    const theirs = Date.parse(answer.headers.get('date') ?? '');
    if (Number.isNaN(theirs)) return { reached: true, result: null };
    const times = { asked, theirs, answered, coarseMs: 1_000 };
    return { reached: true, result: clockResult('clock of the service', 'the filing service', times) };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { reached: false, why: `it does not answer (${firstLine(cause)})` };
  }
}
