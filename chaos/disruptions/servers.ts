/** Disruptions of Temporal, of the disk, and of the workers' versions. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Workers } from '../workers';
import { between, pick, type Random } from '../random';
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
