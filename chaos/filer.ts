import { setTimeout as sleep } from 'node:timers/promises';
import type { Finding } from '../src/domain/rules/finding';
import type { EbrcClient } from '../src/starter/client';
import { RefusedError, UsageError } from '../src/starter/errors';
import type { PlannedExporter, PlannedFiling } from './plan';
import type { Random } from './random';
import { forEachLimited } from '../src/domain/values';

const AT_ONCE = 12;
/** One filing in this many has its command repeated. */
const AGAIN_EVERY = 10;
/** One in this many has its rows filed again under another reference. */
const OTHER_REFERENCE_EVERY = 25;
const AGAIN_WITHIN_MS = 60_000;
const PAUSE_MS = 1_000;

export interface FilerReport {
  started: number;
  /** Repeated commands, and those that found another filing than the first. */
  again: number;
  wrongAgain: string[];
  /** Rows filed again under another reference, and those that were not refused. */
  otherReferences: number;
  acceptedElsewhere: string[];
  /** Filings that could not be started, with the reason; and those of them that have a twin, by reference. */
  refused: string[];
  refusedTwins: string[];
}

/** How the filer files: with the typed client, or over HTTP (http-apis.ts). Both throw while servers are away. */
export interface Caller {
  file(filing: PlannedFiling, reference: string): Promise<Filed>;
  show(reference: string): Promise<{ filingId: string | null }>;
}

export type Filed = { filingId: string | null; state: string } | { refused: string };

export const callerOf = (client: EbrcClient): Caller => ({
  async file({ message, exporter, channel }, reference) {
    try {
      const request = { source: { message }, exporter: exporter.email, reference, channel, madeBy: 'chaos' };
      const { filing } = await client.file(request);
      if (filing.state === 'refused')
        return { refused: (filing.errors as Finding[]).map(({ message }) => message).join(' ') };
      // No worker has recorded it within the command's time.
      if (filing.filingId === null) throw new Error(`${reference} is ${filing.state}`);
      return { filingId: filing.filingId, state: filing.state };
    } catch (error) {
      if (error instanceof RefusedError || error instanceof UsageError) return { refused: error.message };
      throw error;
    }
  },
  show: (reference) => client.show(reference),
});

/** Onboards the exporters of a plan and waits until each is ready. */
export async function onboardAll(client: EbrcClient, exporters: readonly PlannedExporter[]): Promise<void> {
  await forEachLimited(exporters, AT_ONCE, async ({ name, email, iec, username, password }) => {
    const credentials = { username, password };
    const outcome = await client.onboard({ name, email, iec, credentials, by: 'chaos' }, { wait: true });
    if (outcome.state !== 'ready') throw new Error(`${email} is ${outcome.state}: ${outcome.message ?? ''}`);
  });
}

/** Starts every filing of the plan as a user would; repeats some, and files some rows under another reference. */
export async function fileAll(
  caller: Caller,
  filings: readonly PlannedFiling[],
  { deadline, random, otherReferences }: { deadline: number; random: Random; otherReferences: boolean },
): Promise<FilerReport> {
  const report: FilerReport = {
    started: 0,
    again: 0,
    wrongAgain: [],
    otherReferences: 0,
    acceptedElsewhere: [],
    refused: [],
    refusedTwins: [],
  };
  const late: Promise<void>[] = [];
  await forEachLimited([...filings.entries()], AT_ONCE, async ([nth, filing]) => {
    const first = await file(caller, filing, filing.reference, deadline);
    if ('refused' in first) {
      if (filing.hasTwin && first.refused.includes('has certificate')) report.refusedTwins.push(filing.reference);
      else report.refused.push(`${filing.reference}: ${first.refused}`);
      return;
    }
    report.started += 1;
    if (nth % AGAIN_EVERY === 0) late.push(fileAgain(filing));
    if (otherReferences && nth % OTHER_REFERENCE_EVERY === 0) late.push(fileUnderOtherReference(filing));
  });
  await Promise.all(late);
  return report;

  async function fileAgain(filing: PlannedFiling): Promise<void> {
    await sleep(random() * AGAIN_WITHIN_MS);
    const second = await file(caller, filing, filing.reference, deadline);
    const { filingId } = await showing(caller, filing.reference, deadline);
    report.again += 1;
    // Before a worker has opened the filing, the command returns its reference without an id.
    if ('refused' in second) report.wrongAgain.push(`${filing.reference}: ${second.refused}`);
    else if (second.filingId !== null && second.filingId !== filingId) report.wrongAgain.push(filing.reference);
  }

  async function fileUnderOtherReference(filing: PlannedFiling): Promise<void> {
    await sleep(random() * AGAIN_WITHIN_MS);
    // The first filing must be in the ledger: otherwise whichever of the two gets there first is filed.
    await showing(caller, filing.reference, deadline);
    const reference = filing.reference.replace('CHAOS', 'OTHER');
    const outcome = await file(caller, filing, reference, deadline);
    report.otherReferences += 1;
    const refused = 'refused' in outcome || outcome.filingId === null || outcome.state === 'needs_correction';
    if (!refused) report.acceptedElsewhere.push(reference);
  }
}

/** Repeats the command of a filing; throws while the servers are unavailable. */
export async function fileOnceMore(caller: Caller, filing: PlannedFiling): Promise<void> {
  await file(caller, filing, filing.reference, 0);
}

/** Retries the command while the servers are unavailable; the reference makes that safe. */
const file = (caller: Caller, filing: PlannedFiling, reference: string, deadline: number) =>
  retryUntilFixed(deadline, () => caller.file(filing, reference));

const showing = (caller: Caller, reference: string, deadline: number) =>
  retryUntilFixed(deadline, () => caller.show(reference));

async function retryUntilFixed<T>(deadline: number, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
