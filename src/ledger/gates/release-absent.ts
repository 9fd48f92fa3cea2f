/** The release gate's ground `absent`: nothing of an attempt, or of a request, was filed. */
import { MAYBE_FILED, partsOfAttemptId, type SubmissionKey } from '../../domain/filing/attempt';
import { certificatesAgree } from '../../domain/filing/questions';
import { lockFiling } from '../filings/filing-lock';
import { sqlWords, type Queryable } from '../pool';
import { endRequest, isDenial, lockRequests, type RequestRecord } from '../submissions/requests';
import { settleSubmission } from '../submissions/submissions';
import { agreeingCertificates, completeLook, lastProblem, lineageSend, settleWindow } from './absence';
import { insertAttempt, isInDoubt, lockAttempts, requestOf, type AttemptRow } from './attempts';
import { unexplainedUse } from './balance-evidence';
import { anyRow, freeRows, planAgain, recordRelease, SENT, type Release } from './held-rows';
import { releaseRejected } from './release';
import { writeVerdict } from './verdict';

/** The attempt in doubt, or the request and its rows, that is said to have filed nothing. */
export type AbsentSubject =
  { attemptId: string } | { requestId: string; filingId: string; submission: number; positions?: readonly number[] };

type Absence =
  /** The submission may be sent again. */
  | { outcome: 'again' }
  /** Rows were freed: a row was certified or rejected, a refusal or the filing's end came, or a request was judged. */
  | { outcome: 'freed'; freed: number[] }
  | ReturnType<typeof refused>;

const refused = (code: 'too_early' | 'look' | 'agrees' | 'used' | 'unfinished' | 'not_in_doubt', why: string) => ({
  outcome: 'refused' as const,
  code,
  why,
});

/** Judges an attempt or request as absent. Requires the filing's lock. */
export async function releaseAbsent(
  client: Queryable,
  args: {
    subject: AbsentSubject;
    /** The settle window of this process; a sender's that was longer counts instead. */
    settleMs: number;
    /** Two persons said so although no complete look was possible for a whole window. */
    unseen: boolean;
    /** Certificates that two persons named as not of these rows. */
    notOurs: readonly string[];
    /** Two persons said so: then a use of the IRMs that no certificate accounts for is another filing's. */
    byTwo?: boolean;
    /** When the first of the persons said so: a word from before the end of the window does not count. */
    saidAt?: Date;
    /** Recorded with the release and the verdict. */
    reason: string;
    /** The authority's errors for freed rows. Default: the reason. */
    errors?: string[];
    at: Date;
  },
): Promise<Absence> {
  const { subject, at } = args;
  const { filingId, submission } = 'attemptId' in subject ? partsOfAttemptId(subject.attemptId) : subject;
  const positions = 'attemptId' in subject ? undefined : subject.positions;
  const filing = await lockFiling(client, filingId);
  if (!filing) return refused('not_in_doubt', `filing ${filingId} is not in this ledger`);
  const attempts = await lockAttempts(client, filingId, submission);
  const open = await livePositions(client, { filingId, submission });
  if (open.length === 0 && attempts.length > 0)
    return refused('not_in_doubt', 'every row has its certificate by now, or is free, so there is nothing to answer');
  if (positions && (positions.length === 0 || positions.some((each) => !open.includes(each))))
    return refused('not_in_doubt', 'only rows of the request that have no outcome can be answered for');
  const { ms: settleMs, end } = await settleWindow(client, { filingId, submission, settleMs: args.settleMs });
  const requests = await lockRequests(client, filingId, submission);
  const subjectState = stateOfSubject({ subject, attempts, requests, settleMs, at });
  if ('outcome' in subjectState) return subjectState;

  // The settle window must be over, and a complete look must have begun after it.
  const { statementSince, statementAt } = subjectState;
  const window = new Date(Math.max(end?.getTime() ?? 0, statementSince ? statementSince.getTime() + settleMs : 0));
  if (at < window || (args.saidAt && args.saidAt < window))
    return refused(
      'too_early',
      `its certificates may still appear: wait for the end of the settle window at ${window.toISOString()}`,
    );
  const send = await lineageSend(client, { filingId, submission, positions });
  const from = send.from ?? at;
  const since = statementAt && statementAt > window ? statementAt : window;
  const lookId = await completeLook(client, { exporterId: filing.exporterId, since, from });
  const windowAgo = { exporterId: filing.exporterId, since: new Date(at.getTime() - settleMs), from };
  if (lookId === null && (!args.unseen || (await completeLook(client, windowAgo)) !== null)) {
    const problem = await lastProblem(client, filing.exporterId);
    return refused('look', `no complete look at the certificates was possible since ${since.toISOString()}${problem}`);
  }

  // No certificate may agree, except those that two persons named.
  const agreeing = await agreeingCertificates(client, { filingId, submission, positions, from, before: send.before });
  const unnamed = agreeing.map(({ eBRCNumber }) => eBRCNumber).filter((each) => !args.notOurs.includes(each));
  if (unnamed.length > 0) return refused('agrees', `${certificatesAgree(unnamed)} with its rows`);
  if (!args.byTwo) {
    const use = await unexplainedUse(client, { filingId, submission, positions: positions ?? open, window });
    if (use !== null) return refused('used', use);
  }

  const { reason, notOurs, errors = [reason] } = args;
  // Errors that a request's record has for a row take precedence, because its correction needs them.
  const onRecord = new Map(
    requests.flatMap(({ errored }) => errored.map((row) => [row.position, row.errors] as const)),
  );
  const errorsOf = (freed: readonly number[]) => new Map(freed.map((row) => [row, onRecord.get(row) ?? errors]));
  const proof = { lookId, unseen: lookId === null, notOurs, from, reason, at };
  const release = { filingId, submission, ground: 'absent' as const, ...proof };
  if ('attemptId' in subject) {
    const of = { release: { ...release, ...subject }, attempts, requests, errorsOf, ended: filing.ended };
    return releaseAttempt(client, subject.attemptId, of);
  }
  const { requestId } = subject;
  const { attemptId } = subjectState;
  return releaseRequest(client, requestId, { release: { ...release, requestId }, positions, attemptId, errorsOf });
}

const ABSENT = { state: 'absent', processingStatus: null, errored: [] } as const;

/** The errors of freed rows, by position. */
type ErrorsOf = (positions: readonly number[]) => ReadonlyMap<number, string[]>;

/** A submission is filed as a whole or not at all: if a row is certified, or it is not sent again, rows are freed. */
async function releaseAttempt(
  client: Queryable,
  attemptId: string,
  args: {
    release: Release;
    attempts: readonly AttemptRow[];
    requests: readonly RequestRecord[];
    errorsOf: ErrorsOf;
    ended: boolean;
  },
): Promise<Absence> {
  const { release, attempts, requests, errorsOf, ended } = args;
  const { filingId, submission, reason, at } = release;
  // Records an attempt that the ledger has lost, so that a worker that still holds it finds it closed.
  await insertAttempt(client, attemptId);
  const certified = await anyRow(client, { filingId, submission }, `state = 'certified'`);
  // Another attempt that is, or may be, at the service may have filed the rows: the certificates may be from that one.
  const another = attempts.some((each) => each.attemptId !== attemptId && MAYBE_FILED.includes(each.verdict));
  const verdict = certified && !another ? 'accepted' : 'absent';
  await writeVerdict(client, { attemptId, from: ['open', 'marked', 'accepted'], verdict, reason, at });
  const own = attempts.findIndex((each) => each.attemptId === attemptId);
  const refusedSince = attempts.slice(own + 1).some((each) => each.verdict === 'refused');
  if (another) {
    await recordRelease(client, release);
    const freed = await releaseRejected(client, { filingId, submission, at });
    return ended || freed.length > 0 ? { outcome: 'freed', freed } : { outcome: 'again' };
  }
  // Those that the service denies were named for this attempt, and no other is sent while they are followed.
  const followed = requests.filter(({ state }) => state === 'followed');
  for (const request of followed) await endRequest(client, request, { ...ABSENT, at });
  if (certified || refusedSince || ended) {
    const positions = await livePositions(client, { filingId, submission });
    const of = { release, errors: errorsOf(positions), from: [...SENT, 'planned'] } as const;
    const freed = await freeRows(client, { ...of, state: 'needs_correction' });
    const state = certified ? 'settled' : 'released';
    await settleSubmission(client, { filingId, submission, state, at });
    return { outcome: 'freed', freed };
  }
  await recordRelease(client, release);
  await planAgain(client, attemptId);
  return { outcome: 'again' };
}

async function releaseRequest(
  client: Queryable,
  requestId: string,
  args: { release: Release; positions?: readonly number[]; attemptId: string | null; errorsOf: ErrorsOf },
): Promise<Absence> {
  const { release, positions, attemptId, errorsOf } = args;
  const { filingId, submission, reason, at } = release;
  const asked = positions ?? (await livePositions(client, { filingId, submission }));
  const freed = await freeRows(client, { release, state: 'needs_correction', errors: errorsOf(asked), from: SENT });
  // The request is followed on for the sent rows that this judgement leaves; planned ones are not sent before its end.
  if (await anyRow(client, { filingId, submission }, `live AND state IN (${sqlWords(SENT)})`))
    return { outcome: 'freed', freed };
  await endRequest(client, { filingId, submission, requestId }, { ...ABSENT, at });
  if (attemptId !== null)
    await writeVerdict(client, { attemptId, from: ['marked', 'accepted'], verdict: 'absent', reason, at });
  return { outcome: 'freed', freed };
}

async function livePositions(client: Queryable, { filingId, submission }: SubmissionKey) {
  const { rows } = await client.query<{ position: number }>(
    `SELECT position FROM filing_rows WHERE filing_id = $1 AND submission = $2 AND live AND state <> 'certified' ORDER BY position`,
    [filingId, submission],
  );
  return rows.map(({ position }) => position);
}

/** What is recorded about the subject; refused if it was filed, or if something else must be judged first. */
function stateOfSubject(args: {
  subject: AbsentSubject;
  attempts: readonly AttemptRow[];
  requests: readonly RequestRecord[];
  settleMs: number;
  at: Date;
}):
  | {
      /** The attempt that a request answers or was named for, if the subject is a request. */
      attemptId: string | null;
      /** When the service first and last said so. */
      statementSince: Date | null;
      statementAt: Date | null;
    }
  | ReturnType<typeof refused> {
  const { subject, attempts, requests, settleMs, at } = args;
  // A request that the service denied for a whole window blocks no other, or two such requests would block each other.
  const deniedThrough = ({ statement, statementSince: since }: RequestRecord) =>
    isDenial(statement) && since !== null && since.getTime() <= at.getTime() - settleMs;
  if ('attemptId' in subject) {
    const own = attempts.find(({ attemptId }) => attemptId === subject.attemptId);
    const request = own && requestOf(own, requests);
    if (request)
      return refused(
        'not_in_doubt',
        `the service answered attempt ${subject.attemptId} with request ${request.requestId}, so it was filed`,
      );
    const followed = requests.find((each) => each.state === 'followed' && !deniedThrough(each));
    if (followed)
      return refused('unfinished', `request ${followed.requestId} of the submission is still being asked about`);
    if (own && !MAYBE_FILED.includes(own.verdict))
      return refused('not_in_doubt', `attempt ${own.attemptId} is ${own.verdict}: there is nothing to answer`);
    return { attemptId: null, ...newestStatement(requests) };
  }
  const own = requests.find(({ requestId }) => requestId === subject.requestId);
  if (!own || own.state === 'not_ours')
    return refused('not_in_doubt', `request ${subject.requestId} is not one of the submission`);
  const other = requests.find(
    (each) => each.requestId !== own.requestId && each.state === 'followed' && !deniedThrough(each),
  );
  if (other) return refused('unfinished', `request ${other.requestId} of the submission is still being asked about`);
  // If a person named this request for the attempt in doubt, one judgement decides on both.
  const named = own.source === 'named';
  const [doubt, second] = attempts.filter((each) => each.attemptId !== own.attemptId && isInDoubt(each, requests));
  if (doubt && (second || !named))
    return refused('unfinished', `attempt ${doubt.attemptId} of the submission is in doubt too`);
  if (own.state === 'followed' && own.statement === null)
    return refused('unfinished', `request ${own.requestId} has no outcome yet: the service still processes it`);
  const attemptId = own.attemptId ?? doubt?.attemptId ?? null;
  return { attemptId, ...newestStatement(requests, own) };
}

/** Until the service denied the last of a submission's requests, that one may have been processed. */
function newestStatement(requests: readonly RequestRecord[], own?: RequestRecord) {
  const denied = requests.filter((each) => each === own || each.state === 'followed');
  const newest = (times: (Date | null)[]) => times.reduce((a, b) => (a && b && a > b ? a : (b ?? a)), null);
  return {
    statementSince: newest(denied.map((each) => each.statementSince)),
    statementAt: newest(denied.map((each) => each.statementAt)),
  };
}
