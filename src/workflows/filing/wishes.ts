/**
 * What people ask of a filing stands in the ledger until it is carried out, so that it outlives the run that was asked.
 */
import { condition } from '@temporalio/workflow';
import type { WishKind, Wishes } from '../../activities/filings/filing-ledger';
import type { FilingRun } from './filing-run';

/** Keeps what a person asked. */
export async function keepWish<K extends WishKind>(
  run: FilingRun,
  kind: K,
  args: NonNullable<Wishes[K]>,
): Promise<void> {
  if (!run.filing) return;
  await run.steps(`Record the request: ${kind}`).keepWish({ filingId: run.filingId, kind, args });
}

/** What a person asked was carried out or refused. */
async function dropWish(run: FilingRun, kind: WishKind): Promise<void> {
  if (!run.filing) return;
  await run.steps(`Clear the request: ${kind}`).dropWish({ filingId: run.filingId, kind });
}

/** Takes every resolve out of the ledger once it was carried out or refused, whichever run was asked. Never ends. */
export async function dropResolutions(run: FilingRun): Promise<never> {
  for (;;) {
    await condition(() => run.resolution !== null);
    const args = run.resolution;
    await condition(() => run.resolution !== args);
    await run.inTurn(() => dropWish(run, 'resolve'));
  }
}
