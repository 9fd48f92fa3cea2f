import type pg from 'pg';
import type { EncryptionKey } from '../../encryption/keys';
import { createBoxOpener } from '../../encryption/sealed-box';
import { keysOfVault, readServerState, tablesWithoutRights, refuseSharedSessions } from '../../ledger/diagnosis';
import { runsWithProblem } from '../../ledger/runs';
import { changedMigrations, readSchemaState } from '../../ledger/schema-state';
import { readLedgerStatus } from '../../ledger/went-back';
import { hashOfKey } from '../../budget/budget';
import { readBudgetUsage } from '../../budget/store';
import type { Mode } from '../../domain/names';
import { counted } from '../../domain/text';
import { createDocumentStore } from '../../documents/document-store';
import { publishedKey } from '../../ledger/vault/vault';
import { quotaUsed } from '../../ledger/reports/service-use';
import { QUOTA_WARNED_AT, type Quota } from '../../domain/service/limits';
import { checked, clockResult, fine, warned, wrong, type CheckResult } from './finding';
import { statfs } from 'node:fs/promises';
import { otherStore } from '../connect';
import { isS3 } from '../../documents/s3-location';

const REACH = 'Start PostgreSQL, or set DATABASE_URL to where it runs; user, password and TLS are in it too.';

/** Reachable, writable, clock, schema, rights, whether the ledger is whole, its runs, vault keys. */
export async function ledgerChecks(
  pool: pg.Pool,
  keys: readonly EncryptionKey[] | undefined,
  mode: Mode | undefined,
): Promise<CheckResult[]> {
  const shared = await refuseSharedSessions(pool).catch((error: unknown) => error as Error);
  if (shared instanceof Error) return [wrong('postgresql', shared.message, REACH)];
  const asked = Date.now();
  const state = await readServerState(pool).catch((error: unknown) => error as Error);
  if (state instanceof Error) return [wrong('postgresql', state.message, REACH)];
  const answered = Date.now();
  const link = state.readOnly
    ? wrong('postgresql', 'the server takes no writes', 'Name the primary in DATABASE_URL, not a standby.')
    : fine('postgresql', `reached in ${answered - asked} ms`);
  const clock = clockResult('clock of postgresql', 'PostgreSQL', { asked, theirs: state.now.getTime(), answered });
  const schema = await checked('schema', REACH, () => checkSchema(pool));
  if (!schema.ok) return [link, clock, schema];
  return [
    link,
    clock,
    schema,
    await checked('rights', REACH, () => checkRights(pool)),
    ...(mode ? [await checked('ledger', REACH, () => checkWhole(pool, mode))] : []),
    ...(mode ? [await checked('runs', REACH, () => checkRuns(pool, mode))] : []),
    ...(keys ? [await checked('vault keys', REACH, () => checkKeys(pool, keys, mode))] : []),
  ];
}

async function checkSchema(pool: pg.Pool): Promise<CheckResult> {
  const { missing, unknown, changed } = await readSchemaState(pool);
  if (unknown.length > 0) {
    const message = `the ledger has migrations that this version does not know: ${unknown.join(', ')}`;
    return wrong('schema', message, 'Use the version that the workers run; migrations are never reverted.');
  }
  if (changed.length > 0) {
    const { message, advice } = changedMigrations(changed);
    return wrong('schema', message, advice);
  }
  if (missing.length === 0) return fine('schema', 'it is the schema of this version');
  const message = `migrations are missing: ${missing.join(', ')}`;
  return wrong('schema', message, 'Start a worker of this version: it applies them.');
}

async function checkRights(pool: pg.Pool): Promise<CheckResult> {
  const tables = await tablesWithoutRights(pool);
  if (tables.length === 0) return fine('rights', 'every table can be used as a worker needs it');
  const advice =
    'Make the user of DATABASE_URL a member of ebrc_run, and run `ebrc ledger migrate` as the owner of the ledger.';
  return wrong('rights', `the user lacks rights on these tables: ${tables.join(', ')}`, advice);
}

async function checkKeys(pool: pg.Pool, keys: readonly EncryptionKey[], mode?: Mode): Promise<CheckResult> {
  const published = mode && (await publishedKey(pool, mode));
  const ours = await createBoxOpener(keys).publicKeys();
  if (published && !ours.some(({ publicKey }) => publicKey.equals(published.publicKey))) {
    const message = `passwords are sealed to key ${published.keyId}, which is not configured here`;
    const advice =
      'Give EBRC_ENCRYPTION_KEY the value that the workers have; a worker with other keys publishes its own at its start.';
    return wrong('vault keys', message, advice);
  }
  const lost = (await keysOfVault(pool)).filter((id) => keys.every((key) => key.id !== id));
  if (lost.length === 0) return fine('vault keys', 'the key of every stored password is configured');
  const message = `stored passwords are encrypted under keys that are not configured: ${lost.join(', ')}`;
  const advice =
    'Add them after the first key in EBRC_ENCRYPTION_KEY, then run `ebrc vault rotate`; or submit the credentials again.';
  return wrong('vault keys', message, advice);
}

/** Whether the ledger has all that Temporal knows, so that it may send. */
async function checkWhole(pool: pg.Pool, mode: Mode): Promise<CheckResult> {
  const { state, missing, heartbeat } = await readLedgerStatus(pool, mode);
  if (state === 'whole') return fine('ledger', `it has all that Temporal knows; heartbeat ${heartbeat.beat}`);
  const message = `it went back, or has not been compared with Temporal: nothing is sent. ${missing[0]?.text ?? ''}`;
  const advice = 'See `ebrc ledger status`, and "Restore from a backup" in docs/operations.md.';
  return wrong('ledger', message.trim(), advice);
}

/** Whether the run of every open filing goes on, as the workers' sweep found. */
async function checkRuns(pool: pg.Pool, mode: Mode): Promise<CheckResult> {
  const { count, first } = await runsWithProblem(pool, mode);
  if (first === null) return fine('runs', 'no open filing has a workflow that fails or is gone');
  const message = `${counted(count, 'open filing')} with a workflow that fails or is gone, such as ${first.reference}: ${first.text}`;
  const advice = 'See `ebrc list --attention`, and "A build that fails" in docs/operations.md.';
  return wrong('runs', message, advice);
}

const REFUSED_LATELY_MS = 3_600_000;

/** Whether the calls of our key fit into the service's limits. */
export function checkQuota(pool: pg.Pool, apiKey: string): Promise<CheckResult> {
  const advice = 'Find out what else uses EBRC_API_KEY: the workers keep to the limits by themselves.';
  return checked('quota', advice, async () => {
    const usage = await readBudgetUsage(pool, hashOfKey(apiKey));
    const refused = usage.filter(({ refusedAt }) => refusedAt && Date.now() - refusedAt.getTime() < REFUSED_LATELY_MS);
    const waiting = usage.reduce((sum, used) => sum + used.waiting, 0);
    const classes = refused.map(({ rateClass }) => rateClass).join(', ');
    if (refused.length > 0) return wrong('quota', `the service refused calls within the last hour: ${classes}`, advice);
    return fine('quota', `nothing was refused within the last hour; ${waiting} calls wait for their turn`);
  });
}

/** What is used of the contract with the service; beyond it the service may refuse. */
export function checkContract(pool: pg.Pool, mode: Mode, included: Quota): Promise<CheckResult> {
  const advice =
    'Agree on more with the service, and set EBRC_QUOTA_CERTIFICATES and EBRC_QUOTA_EXPORTERS to what the contract includes.';
  return checked('contract', advice, async () => {
    const used = await quotaUsed(pool, mode);
    const message = `${used.certificates} of ${included.certificates} certificates this month, ${used.exporters} of ${included.exporters} exporters`;
    if (mode === 'test') return fine('contract', `${message}; test mode is not metered`);
    const share = Math.max(used.certificates / included.certificates, used.exporters / included.exporters);
    if (share > 1) return wrong('contract', message, advice);
    return share >= QUOTA_WARNED_AT ? warned('contract', message, advice) : fine('contract', message);
  });
}

const MIN_FREE_BYTES = 500 * 1024 * 1024;

/** Checks for the own store of the ledger: writable, with free space or (S3) the writes that never overwrite. */
export async function documentsCheck(root: string, pool: pg.Pool | null): Promise<CheckResult> {
  // If the ledger or the store cannot be read, other checks report it.
  const problem = pool && (await otherStore(pool, createDocumentStore({ root }), root).catch(() => null));
  if (problem !== null) return wrong('documents', problem, 'Correct EBRC_DOCUMENTS, or mount the folder.');
  const advice = isS3(root)
    ? 'Check EBRC_DOCUMENTS, the region, endpoint and credentials of the AWS SDK, and the rights to list, read, write and delete below the prefix.'
    : 'Set EBRC_DOCUMENTS to a folder that workers and command line share and may write to.';
  return checked('documents', advice, async () => {
    await createDocumentStore({ root }).probe();
    if (isS3(root)) {
      return fine('documents', `${root.split('?')[0]} takes, shows and lists objects, and refuses a name that exists`);
    }
    const { bavail, bsize } = await statfs(root);
    const free = Number(bavail) * Number(bsize);
    const room = `${Math.round(free / 1024 / 1024)} MB free in ${root}`;
    return free < MIN_FREE_BYTES
      ? wrong('documents', room, 'Free some space: bulk uploads and PDFs wait while the disk is full.')
      : fine('documents', room);
  });
}
