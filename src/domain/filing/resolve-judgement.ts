/** Judges whether a person's answer is about the attempt or request in question. */
import type { ResolveArgs } from '../update-contracts';
import type { FilingState } from './states';

/** The attempt or request that a person may answer for now. */
export interface InQuestion {
  /** The attempt in doubt, or the one whose request is in question; null if a person named that request. */
  attemptId: string | null;
  /** The request in question; null: the attempt itself is in doubt. */
  requestId: string | null;
  /** Set while the request is polled: a person may then name another one. */
  following?: true;
}

interface Asked {
  state: FilingState;
  /** Null if there is nothing to answer. */
  inQuestion: InQuestion | null;
  /** The request under which the filing was acknowledged. */
  requestId: string | null;
}

/** Why an answer is refused before it is recorded; null: it may be carried out. */
export function refusalOfResolve({ state, inQuestion, requestId: known }: Asked, args: ResolveArgs): string | null {
  const { as, attemptId, requestId, certificates = [], notOurs = [] } = args;
  // At the send gate, rows that were released as not filed wait for two persons' word about their certificates.
  const isAboutRows = as === 'not-filed' || certificates.length > 0;
  const atSendGate = state === 'submitting' && inQuestion !== null && isAboutRows;
  if (state !== 'outcome_unknown' && state !== 'overdue' && !atSendGate)
    return `The filing is ${state}; resolve is for outcome_unknown and overdue.`;
  // `notOurs` without a request id is about the attempt that the request was named for.
  const notOursAlone = notOurs.length > 0 && requestId === undefined;
  if (state === 'overdue' && !inQuestion?.following)
    return 'The authority has answered for its requests; only certificates are missing, so there is nothing to resolve.';
  if (state === 'overdue' && as === 'not-filed' && requestId === undefined && !notOursAlone)
    return `The service acknowledged this filing (request ${known ?? 'unknown'}), so it was filed.`;
  const aboutRequest = as === 'not-filed' && Boolean(inQuestion?.requestId) && !notOursAlone;
  const expected = (aboutRequest ? inQuestion?.requestId : inQuestion?.attemptId) ?? undefined;
  const given = aboutRequest ? requestId : attemptId;
  if (inQuestion && given === expected) return null;
  const expectedText = expected ?? 'none yet';
  return given === undefined
    ? `Name the attempt or request that you answer for (${expectedText}): attemptId or requestId, as the filing shows them in "attempt" and "request".`
    : `${given} is not in question (in question: ${expectedText}): look at the filing again.`;
}
