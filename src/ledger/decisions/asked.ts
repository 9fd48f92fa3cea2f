/** What may be decided about a filing now, and what is shown to who decides. */
import {
  approversNeeded,
  mayApprove,
  personsNeeded,
  type NamedCertificate,
  type Said,
} from '../../domain/filing/decision';
import { addedTo } from '../../domain/filing/evidence';
import { NEEDS_TOKEN, type Principal } from '../../domain/principal';
import type { Queryable } from '../pool';
import { abandonFiling, judgeNamed, nameRequest, type By } from './carry-out';
import { approvalFacts, readQuestion, type DecisionSettings } from './in-question';
import type { LockedFiling } from '../filings/lock';

/** What a person decides about a filing. */
export interface Decision {
  filingId: string;
  kind: Said['kind'];
  /** `name` is used without a principal: a claim. */
  by: { principal?: Principal; name: string };
  /** The attempt that was looked at; refused if another one is in question. */
  attempt?: number;
  /** The names of the evidence that were looked at; default: those that the ledger shows. */
  shown?: readonly string[];
  /** For `filed`: certificates of rows, or the request of the attempt. */
  certificates?: readonly NamedCertificate[];
  requestId?: string;
  /** For `not_filed`: the filing ends. */
  ends?: boolean;
  note?: string | null;
}

/** Why a decision cannot be made. */
export interface Refusal {
  code: string;
  why: string;
}

export const refuse = (code: string, why: string): Refusal => ({ code, why });

/** A decision that may be made now, with what is shown. `now`: it is carried out at once, by one person. */
export interface Asked {
  attempt: number | null;
  shown: readonly string[];
  requestId: string | null;
  certificates: readonly NamedCertificate[];
  ends: boolean;
  now?: (by: By) => Promise<void>;
  /** Two persons have to say it. */
  two: boolean;
}

export const ASKED = { approve: askedToApprove, filed: askedFiled, not_filed: askedNotFiled, abandon: askedToAbandon };

const NOTHING = { attempt: null, shown: [], requestId: null, certificates: [], ends: false, two: false };

/** What was looked at is never more than what the ledger shows. */
const shownOf = (decision: Decision, names: readonly string[]): readonly string[] =>
  decision.shown ? names.filter((name) => decision.shown?.includes(name)) : names;

async function askedToApprove(
  client: Queryable,
  filing: LockedFiling,
  decision: Decision,
  settings: DecisionSettings,
): Promise<Asked | Refusal> {
  const facts = await approvalFacts(client, filing, settings);
  const needed = approversNeeded(facts);
  if (needed === 0) return refuse('approve_refused', 'nothing is to be approved any more');
  const { principal } = decision.by;
  if (!principal) return refuse('needs_token', NEEDS_TOKEN);
  if (!mayApprove({ principalId: principal.principalId, at: filing.now }, facts)) {
    const why = settings.singlePerson
      ? `${principal.name} made this filing: approve it a day after it was made`
      : `${principal.name} made this filing; somebody else has to approve it`;
    return refuse('maker_approves', why);
  }
  const shown = shownOf(decision, facts.names);
  return added('approve_refused', shown, facts.names) ?? { ...NOTHING, shown, two: needed === 2 };
}

async function askedNotFiled(
  client: Queryable,
  filing: LockedFiling,
  decision: Decision,
  settings: DecisionSettings,
): Promise<Asked | Refusal> {
  const { refusal, attempt, names, ...question } = await readQuestion(client, filing, settings);
  if (refusal !== null) return refuse('resolve_refused', refusal);
  if (decision.attempt !== undefined && decision.attempt !== attempt)
    return refuse('attempt_changed', `attempt ${attempt} is in question, not attempt ${decision.attempt}`);
  const two = personsNeeded({ names, accepted: question.accepted }) === 2;
  if (two && !decision.by.principal) {
    const why = names.length > 0 ? `this speaks against it: ${names.join(', ')}` : 'the service accepted it';
    return refuse('needs_token', `${why}; ${NEEDS_TOKEN}`);
  }
  const shown = shownOf(decision, names);
  const isNew = added('resolve_refused', shown, names);
  return isNew ?? { ...NOTHING, attempt, shown, ends: decision.ends ?? false, two };
}

/** Refused where the evidence has grown since the person looked at it. */
function added(code: string, shown: readonly string[], names: readonly string[]): Refusal | null {
  const news = addedTo(shown, names);
  return news.length === 0 ? null : refuse(code, `look at it again, this was found since: ${news.join(', ')}`);
}

async function askedFiled(
  client: Queryable,
  filing: LockedFiling,
  decision: Decision,
  settings: DecisionSettings,
): Promise<Asked | Refusal> {
  const { certificates = [], by } = decision;
  const requestId = decision.requestId?.trim() ?? '';
  if ((requestId === '') === (certificates.length === 0))
    return refuse('invalid_input', 'name either the request under which it was filed, or the certificates of its rows');
  const question = await readQuestion(client, filing, settings);
  if (decision.attempt !== undefined && decision.attempt !== question.attempt)
    return refuse('attempt_changed', `attempt ${question.attempt} is in question, not attempt ${decision.attempt}`);
  if (certificates.length > 0) {
    if (!by.principal) return refuse('needs_token', NEEDS_TOKEN);
    const judged = await judgeNamed(client, filing, certificates, settings);
    if (typeof judged === 'string') return refuse('resolve_refused', judged);
    return { ...NOTHING, attempt: question.attempt || null, shown: question.names, certificates, two: true };
  }
  if (question.verdict === null || question.verdict === 'sending')
    return refuse('resolve_refused', question.refusal ?? 'no attempt of it is in question');
  if (question.requestId !== null) return refuse('resolve_refused', `its request is known: ${question.requestId}`);
  const { rows } = await client.query<{ holder: string }>(
    `SELECT filing_id AS holder FROM attempts WHERE mode = $1 AND lower(exporter_id) = lower($2) AND lower(request_id) = lower($3)`,
    [filing.mode, filing.exporterId, requestId],
  );
  if (rows[0]) return refuse('request_taken', `request ${requestId} belongs to filing ${rows[0].holder}`);
  const now = (named: By) => nameRequest(client, filing, named, requestId);
  return { ...NOTHING, attempt: question.attempt, shown: question.names, requestId, now };
}

async function askedToAbandon(client: Queryable, filing: LockedFiling): Promise<Asked | Refusal> {
  // Its run alone knows what it was told to send since the ledger went back.
  if (filing.epoch !== null && filing.epoch !== filing.ledger.epoch) {
    const why =
      'the ledger may have gone back, and its run has not looked yet whether it was sent: see `ebrc ledger status`';
    return refuse('abandon_refused', why);
  }
  const { rows } = await client.query<{ attempt: number | null; certified: boolean }>(
    `SELECT (SELECT number FROM attempts WHERE filing_id = $1 AND verdict IN ('sending', 'unknown', 'accepted')) AS attempt,
            EXISTS (SELECT FROM filing_rows WHERE filing_id = $1 AND state IN ('sent', 'certified')) AS certified`,
    [filing.filingId],
  );
  const { attempt = null, certified = true } = rows[0] ?? {};
  if (attempt !== null || certified) {
    const sent = attempt === null ? 'it was filed' : `attempt ${attempt} may have arrived at the service`;
    return refuse('abandon_refused', `${sent}: only what was not sent can be abandoned. Answer with \`ebrc resolve\``);
  }
  return { ...NOTHING, now: (by) => abandonFiling(client, filing, by) };
}

/** What was said, for the story. */
export function textOf({ attempt, certificates, requestId, ends, shown }: Asked, kind: Decision['kind']): string {
  const what = {
    approve: 'it may be sent',
    not_filed: `attempt ${attempt} was not filed${ends ? ', and the filing ends' : ''}`,
    filed: requestId === null ? 'its certificates are known' : `it was filed as request ${requestId}`,
    abandon: 'it is given up',
  }[kind];
  const named = certificates.map(({ row, eBRCNumber }) => `row ${row}: ${eBRCNumber}`).join(', ');
  const saw = shown.length === 0 ? '' : ` (shown: ${shown.join(', ')})`;
  return `${what}${named && ` (${named})`}${saw}`;
}
