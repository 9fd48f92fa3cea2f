/** Disruptions of Temporal, of the disk, and of the workers' versions. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Workers } from '../workers';
import { between, pick, type Random } from '../random';
import type pg from 'pg';
import type { SmallDisk } from './small-disk';
import type { Stage } from '../stage';

/** Seconds until Temporal starts again. */
const AWAY_S = [1, 8] as const;
const FULL_MS = [5_000, 12_000] as const;
const TRY_AGAIN_MS = 500;
const CURRENT_WITHIN_MS = 60_000;

/** Temporal's server is killed or stopped, and starts again on the same port with the same database. */
export async function restartTemporal({ temporalServer }: Stage, random: Random): Promise<string> {
  const signal = pick(random, ['SIGKILL', 'SIGTERM'] as const);
  const awayMs = between(random, AWAY_S[0], AWAY_S[1]) * 1_000;
  await temporalServer.restart(signal, () => sleep(awayMs));
  return signal === 'SIGKILL' ? 'Temporal killed' : 'Temporal stopped';
}

/** Temporal loses everything, as docs/operations.md tells: an empty server, then `ebrc resume --all`. */
export async function loseTemporal({ temporalServer, command }: Stage): Promise<void> {
  await temporalServer.lose();
  await command(['resume', '--all']);
}

/** Fills the disk of the documents to the last byte for a while. */
export async function fillDisk(disk: SmallDisk, random: Random): Promise<void> {
  await disk.fill();
  await sleep(between(random, ...FULL_MS));
  await disk.free();
}

const ATTENTION_WITHIN_MS = 60_000;
const HEALED_WITHIN_MS = 180_000;

/**
 * A wrong build takes over while filings are sent, polled and in doubt, then another one, then the right one is back.
 * @throws Error if attention came later than within a minute, or did not go
 */
export async function deployWrongBuilds(workers: Workers, { pool, command }: Stage, say: (message: string) => void) {
  for (const [CHAOS_BUNDLE, error] of Object.entries({ broken: 'TypeError', longer: 'TMPRL1100' })) {
    const seen = () => countRunFindings(pool, error);
    // The old workers end one by one, as in an upgrade.
    await workers.replaceAll({ CHAOS_BUNDLE }, () => Promise.resolve());
    const seconds = await until(ATTENTION_WITHIN_MS, async () => (await seen()) > 0);
    const listed = JSON.parse(await command(['list', '--attention', '--json'])) as { attention: string | null }[];
    const shown = listed.filter(({ attention }) => attention?.includes('fails at every try')).length;
    say(`build "${CHAOS_BUNDLE}": ${await seen()} findings, ${shown} listed, ${seconds} s after the old workers ended`);
    if (shown === 0) throw new Error('`ebrc list --attention` shows no filing whose workflow fails');
  }
  await workers.replaceAll({}, () => Promise.resolve());
  const seconds = await until(HEALED_WITHIN_MS, async () => (await countRunFindings(pool, '')) === 0);
  say(`the right build is back: every run goes on after ${seconds} s`);
}

/** Open findings about runs of filings that fail, with this error. */
async function countRunFindings(pool: pg.Pool, error: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM findings
      WHERE kind = 'run_failing' AND filing_id IS NOT NULL AND closed_at IS NULL AND strpos(text, $1) > 0`,
    [error],
  );
  return rows[0]?.count ?? 0;
}

/** Waits for a condition. @returns after how many seconds it held */
async function until(withinMs: number, holds: () => Promise<boolean>): Promise<number> {
  const began = Date.now();
  while (!(await holds())) {
    if (Date.now() - began > withinMs) throw new Error(`not within ${withinMs / 1_000} s`);
    await sleep(TRY_AGAIN_MS);
  }
  return Math.round((Date.now() - began) / 1_000);
}

const DEPLOYMENT = 'ebrc-chaos';
export const FIRST_VERSION = 1;
export const versionOf = (nth: number) => ({ EBRC_DEPLOYMENT: DEPLOYMENT, EBRC_BUILD_ID: `build-${nth}` });

/** A rolling upgrade as in docs/operations.md: start new workers, make their version current, stop the old ones. */
export async function upgrade(workers: Workers, stage: Stage, version: number): Promise<void> {
  await workers.replaceAll(versionOf(version), () => makeCurrent(stage, version));
}

/** Retries until a worker of the version has polled every queue. */
export async function makeCurrent({ command }: Stage, version: number): Promise<void> {
  const deadline = Date.now() + CURRENT_WITHIN_MS;
  for (;;) {
    try {
      await command(['deploy', 'current'], versionOf(version));
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(TRY_AGAIN_MS);
    }
  }
}
