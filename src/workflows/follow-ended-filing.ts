/** Follows a filing after its end: requests without an outcome, and a person's answer about its rows. */
import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { ResolveArgs } from '../domain/update-contracts';
import { calls, steps } from './activity-profiles';
import { collectionOf, startCollection } from './collect-certificates';
import { orNull } from './failures';

/** Carries out the answer, polls each request once, and starts collecting missing PDFs. */
export async function followEndedFiling(ended: {
  filingId: string;
  exporterId: string;
  /** Submissions with a request that is still followed. */
  submissions: number[];
  /** A person's answer about a send or a request; carried out before the requests are polled. */
  answer?: ResolveArgs & { submission: number };
}) {
  const { filingId, answer } = ended;
  const answered = answer ? await carryOut(ended, answer) : { refused: null };
  if (answered.refused !== null) return answered;
  const submissions = new Set([...ended.submissions, ...(answer ? [answer.submission] : [])]);
  for (const submission of submissions) await askOnce(ended, submission);
  const { due } = await steps('Which certificates have no PDF yet?').listToArchive({ filingId, limit: 1 });
  if (due.length > 0) await startCollection(collectionOf(ended));
  return answered;
}

async function askOnce(ended: { filingId: string; exporterId: string }, submission: number): Promise<void> {
  const { filingId, exporterId } = ended;
  const status = { summary: `Status of submission ${submission}`, rateClass: 'api', exporterId } as const;
  const polled = await orLater(() =>
    calls('helpful', { ...status, priorityKey: 5 }).pollStatus({ filingId, submission, ackErrors: [], once: true }),
  );
  if (!polled || polled.outcome === 'not_yet' || polled.requestId === null) return;
  if (polled.outcome !== 'settled') await look(ended, submission, null);
  const text = `request ${polled.requestId}: ${polled.outcome}, after the filing’s end`;
  await steps('Record the outcome of the request').noteAfterEnd({ filingId, text });
}

/** Looks at the certificates and certifies the rows that have theirs. */
function look(
  { filingId, exporterId }: { filingId: string; exporterId: string },
  submission: number,
  attemptId: string | null,
): Promise<unknown> {
  const summary = 'Look for certificates of the filing';
  const about = { summary, rateClass: 'details', exporterId, priorityKey: 1 } as const;
  return orLater(() => calls('helpful', about).gatherEvidence({ filingId, submission, exporterId, attemptId }));
}

/**
 * @returns `refused`: why the answer was refused or what it still needs; null if it was carried out. `stands`: it stays
 * open until a second person says the same
 */
async function carryOut(
  ended: { filingId: string; exporterId: string },
  answer: ResolveArgs & { submission: number },
): Promise<{ refused: string | null; stands?: boolean }> {
  const { filingId, exporterId } = ended;
  const { as, by, note, submission, attemptId = null, requestId = null, rows = null } = answer;
  const { certificates = [], notOurs = [], unseen = false, grant: grantId = null } = answer;
  if (as === 'filed' && requestId !== null && certificates.length === 0) {
    const about = { summary: `Check that the service has request ${requestId}`, rateClass: 'api', exporterId } as const;
    const found = await orLater(() => calls('helpful', about).knowsRequest({ exporterId, requestId }));
    if (!found?.known)
      return { refused: `the service does not know request ${requestId}, or cannot be asked about it now` };
  } else {
    // Certificates and used balances since the filing's last look have to count.
    const refresh = { summary: 'Refresh the IRMs', rateClass: 'irm-refresh', exporterId, priorityKey: 1 } as const;
    const read = { ...refresh, summary: 'Read the IRMs', rateClass: 'api' } as const;
    await orLater(async () => {
      await calls('helpful', refresh).refreshIrms({ exporterId });
      await calls('helpful', read).readIrms({ exporterId });
    });
    await look(ended, submission, as === 'not-filed' && requestId !== null ? null : attemptId);
  }
  const kind = as === 'filed' ? ('filed' as const) : ('not_filed' as const);
  const word = { kind, by, note, attemptId, requestId, sourceRows: rows, certificates, notOurs, unseen, grantId };
  const saidBy = workflowInfo().workflowId;
  const wordId = await steps(`Record what ${by} said: ${as}`).recordWord({ filingId, ...word, saidBy });
  const carried = await steps(`Carry out “${as}”, stated by ${by}`).carryOutAfterEnd({
    filingId,
    wordId,
    attemptId,
    event: { kind: 'resolved', who: by, text: note },
  });
  if (!('why' in carried)) return { refused: null };
  return { refused: carried.why, stands: carried.outcome === 'stands' };
}

/** Makes an optional call; after a failure the next sweep repeats it. */
const orLater = <T>(call: () => Promise<T>): Promise<T | null> =>
  orNull(call, ({ message }) => setCurrentDetails(message));
