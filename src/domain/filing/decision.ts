/** What persons said about a filing, and whether it is enough. Pure; docs/protocol.md says why. */
import { DAY_MS } from '../dates';
import { addedTo, NO_READING } from './evidence';

export type DecisionKind = 'approve' | 'filed' | 'not_filed' | 'abandon';

export interface NamedCertificate {
  /** Excel row of a workbook, `serialNo` of a message. */
  row: number;
  eBRCNumber: string;
}

/** A decision that nothing came of yet. Times are epoch ms. */
export interface Said {
  id: string;
  kind: DecisionKind;
  /** Null: the name is a claim. */
  principalId: string | null;
  name: string;
  /** A person who still is a checker, and may still see the exporter: it counts as one of two. */
  counts: boolean;
  at: number;
  attempt: number | null;
  /** The names of the evidence that was shown. */
  shown: readonly string[];
  certificates: readonly NamedCertificate[];
  ends: boolean;
  note: string | null;
}

/** What open decisions come to: those that are carried out, those that no longer hold, and what the others wait for. */
export interface Judgement {
  carriedOut: readonly Said[];
  /** The evidence that every one of them was shown. */
  shown: readonly string[];
  void: readonly { said: Said; why: string }[];
  waitsFor: 'person' | 'reading' | null;
}

const nothing: Judgement = { carriedOut: [], shown: [], void: [], waitsFor: null };

/** Whether these are the words of two persons: two principals or, where there is only one, hers a day apart. */
function areTwo(one: Said, other: Said, singlePerson: boolean): boolean {
  if (!one.counts || !other.counts || one.principalId === null || other.principalId === null) return false;
  return one.principalId !== other.principalId || (singlePerson && Math.abs(one.at - other.at) >= DAY_MS);
}

/** The first pair of two persons that fits. */
function pairOf(
  said: readonly Said[],
  singlePerson: boolean,
  fits: (one: Said, other: Said) => boolean = () => true,
): [Said, Said] | null {
  for (const [index, one] of said.entries()) {
    const other = said.slice(index + 1).find((each) => areTwo(one, each, singlePerson) && fits(one, each));
    if (other) return [one, other];
  }
  return null;
}

const shownToAll = ([first, ...others]: readonly Said[]): string[] =>
  (first?.shown ?? []).filter((name) => others.every(({ shown }) => shown.includes(name)));

/** Splits what was said: it holds while nothing is added to what was shown, and the person may decide. */
function standing(said: readonly Said[], names: readonly string[]) {
  const found = names.filter((name) => name !== NO_READING);
  const whyVoid = ({ shown, principalId, counts, name }: Said): string | null => {
    const added = addedTo(shown, found);
    if (added.length > 0) return `it was said before this was found: ${added.join(', ')}`;
    return principalId !== null && !counts ? `${name} may not decide any more` : null;
  };
  const judged = said.map((each) => ({ said: each, why: whyVoid(each) }));
  return {
    valid: judged.flatMap((each) => (each.why === null ? [each.said] : [])),
    voided: judged.flatMap(({ said: each, why }) => (why === null ? [] : [{ said: each, why }])),
  };
}

export interface ApprovalFacts {
  /** What stands against sending it, by name. */
  names: readonly string[];
  /** It asks for an approval and has none. */
  pending: boolean;
  makerId: string | null;
  madeAt: number;
  singlePerson: boolean;
}

/** Whether the maker may approve: only where there is one person, a day after it was made. */
export const mayApprove = (who: { principalId: string | null; at: number }, facts: ApprovalFacts): boolean =>
  who.principalId !== null &&
  (who.principalId !== facts.makerId || (facts.singlePerson && who.at - facts.madeAt >= DAY_MS));

/** How many checkers have to approve: the maker is the first person, where a principal made it; not of evidence. */
export const approversNeeded = ({ names, pending, makerId }: ApprovalFacts): 0 | 1 | 2 =>
  names.length > 0 ? 2 : pending ? (makerId === null ? 2 : 1) : 0;

export function judgeApproval(said: readonly Said[], facts: ApprovalFacts): Judgement {
  const needed = approversNeeded(facts);
  if (needed === 0) return { ...nothing, void: said.map((each) => ({ said: each, why: 'nothing is to be approved' })) };
  const { names, singlePerson } = facts;
  // An unreadable list is evidence here: nothing is read before it is let go.
  const sees = ({ shown }: Said) => addedTo(shown, names).length === 0;
  const { valid, voided } = standing(said, names);
  const able = valid.filter((each) => each.counts && mayApprove(each, facts) && sees(each));
  const carriedOut = needed === 1 ? able.slice(0, 1) : (pairOf(able, singlePerson) ?? []);
  const waitsFor = carriedOut.length > 0 || valid.length === 0 ? null : 'person';
  return { carriedOut, shown: needed === 2 ? shownToAll(carriedOut) : [], void: voided, waitsFor };
}

export interface NotFiledFacts {
  attempt: number;
  /** What speaks against it, by name. */
  names: readonly string[];
  /** The service accepted the attempt: it takes two persons whatever was found. */
  accepted: boolean;
  /** When the last whole reading began whose evidence `names` has; null: there was none. */
  readAt: number | null;
  /** No reading was whole within a settle time. */
  unreadable: boolean;
  singlePerson: boolean;
}

/** How many persons have to say "not filed". */
export const personsNeeded = ({ names, accepted }: Pick<NotFiledFacts, 'names' | 'accepted'>): 1 | 2 =>
  accepted || names.some((name) => name !== NO_READING) ? 2 : 1;

/** "Not filed" needs a whole reading that began after it or, where none succeeds, two persons who were shown that. */
export function judgeNotFiled(said: readonly Said[], facts: NotFiledFacts): Judgement {
  const { attempt, names, readAt, unreadable, singlePerson } = facts;
  const about = said.filter((each) => each.attempt === attempt);
  const late = said
    .filter((each) => each.attempt !== attempt)
    .map((each) => ({ said: each, why: `attempt ${each.attempt} is no longer in question` }));
  const { valid, voided } = standing(about, names);
  const isRead = ({ at }: Said) => readAt !== null && readAt > at;
  const sawNone = ({ shown }: Said) => unreadable && shown.includes(NO_READING);
  const needed = personsNeeded(facts);
  const read = valid.filter(isRead);
  const carriedOut =
    (needed === 1 && read.length > 0 ? read.slice(0, 1) : null) ??
    pairOf(read, singlePerson) ??
    pairOf(valid.filter(sawNone), singlePerson) ??
    [];
  const gone = [...voided, ...late];
  if (carriedOut.length > 0 || valid.length === 0)
    return { carriedOut, shown: shownToAll(carriedOut), void: gone, waitsFor: null };
  const waitsFor = needed === 1 || pairOf(valid, singlePerson) ? 'reading' : 'person';
  return { ...nothing, void: gone, waitsFor };
}

const keysOf = ({ certificates }: Said): string =>
  JSON.stringify(certificates.map(({ row, eBRCNumber }) => `${row}=${eBRCNumber}`).sort());

/** Two persons have to name the same certificates. */
export function judgeCertificates(said: readonly Said[], { singlePerson }: { singlePerson: boolean }): Judgement {
  const { valid, voided } = standing(said, []);
  const carriedOut = pairOf(valid, singlePerson, (one, other) => keysOf(one) === keysOf(other)) ?? [];
  return {
    ...nothing,
    carriedOut,
    void: voided,
    waitsFor: carriedOut.length > 0 || valid.length === 0 ? null : 'person',
  };
}
