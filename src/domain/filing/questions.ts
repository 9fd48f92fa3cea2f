/** What somebody has to look at about a filing: kinds, until when they stand, and what may be done. */
import { type FilingState, isEnd, needsAttention, QUESTION_OF_STATE } from './states';

export interface Question {
  kind: string;
  text: string;
  /** `fact`: until a fact closes it, or somebody acknowledges it; the filing's end closes none of these. */
  until: 'move' | 'state' | 'fact';
}

/** The question that a move opens; null: none. */
export function questionOfMove(move: {
  state: FilingState;
  attention: string | null;
  needsAttention?: boolean;
  event: { kind: string; text: string };
}): Question | null {
  const { state, event } = move;
  if (!(move.needsAttention ?? needsAttention(state))) return null;
  const text = move.attention ?? event.text;
  // What was brought back from the document store stays to be looked at.
  if (isEnd(state) && event.kind === 'imported') return { kind: 'imported', text, until: 'fact' };
  if (event.kind === 'not_moving') return { kind: 'not_moving', text, until: 'state' };
  const kind = QUESTION_OF_STATE[state];
  return kind === undefined ? { kind: event.kind, text, until: 'move' } : { kind, text, until: 'state' };
}

const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  awaiting_approval: ['approve', 'abandon'],
  needs_credentials: ['credentials', 'abandon'],
  needs_access: ['abandon'],
  outcome_unknown: ['resolve', 'abandon'],
  filing_overdue: ['resolve', 'abandon'],
  needs_correction: ['correct'],
  agreeing: ['resolve', 'abandon'],
  changed_after_end: ['resolve', 'acknowledge'],
  second_person: ['resolve', 'permit', 'withdraw'],
  workflow_problem: ['resume', 'abandon'],
  filing_without_workflow: ['resume', 'abandon'],
  filing_set_aside: ['resume', 'abandon'],
  not_moving: ['abandon'],
};

/** What may be done about a question, by the names of the commands. */
export const actionsOfQuestion = ({ kind, until }: Pick<Question, 'kind' | 'until'>): readonly string[] =>
  ACTIONS[kind] ?? (until === 'fact' ? ['acknowledge'] : ['abandon']);

/** What may be done about a filing next, by the names of the commands. */
export function actionsOfFiling(filing: {
  state: FilingState;
  asked: boolean;
  needsAttention: boolean;
  correctable: boolean;
}): readonly string[] {
  const { state, asked, correctable } = filing;
  if (isEnd(state)) return correctable ? ['correct'] : [];
  // Until a person is asked, evidence is gathered; access comes back by itself.
  if (state === 'outcome_unknown' && !asked) return ['abandon'];
  const own = state === 'needs_access' ? undefined : ACTIONS[QUESTION_OF_STATE[state] ?? ''];
  return own ?? (filing.needsAttention ? ['resume', 'abandon'] : ['abandon']);
}

export interface QuestionView {
  id: string;
  kind: string;
  text: string;
  actions: readonly string[];
  since: string;
  lastSeenAt: string;
  attemptId: string | null;
  eBRCNumber: string | null;
  row: number | null;
}

/** Code of an update's failure: what was said stands, and is carried out once a second person says the same. */
export const SECOND_PERSON = 'second_person';

/** What became of a person's word about a send. */
export type Carried =
  /** Nothing was filed: the submission may be sent again. */
  | { outcome: 'again' }
  /** Rows without a certificate are free, and wait for a correction. */
  | { outcome: 'freed'; freed: number }
  /** A request that a person had named is another filing's: it is not asked about any more. */
  | { outcome: 'not_ours' }
  /** A duplicate may go beside the rows that were named. */
  | { outcome: 'permitted' }
  /** A request was added, or rows have their certificates. */
  | { outcome: 'filed' }
  /** It is refused, or stands until a second person says the same. */
  | { outcome: 'refused' | 'stands'; why: string };

const CERTIFICATES_NAMED = 5;

/** `certificate 3210… agrees`, `certificates 3210…, 3211… and 3 more agree`. */
export function certificatesAgree(numbers: Iterable<string>): string {
  const [first = '', ...others] = new Set(numbers);
  if (others.length === 0) return `certificate ${first} agrees`;
  const more = others.length - CERTIFICATES_NAMED + 1;
  const named = [first, ...others.slice(0, CERTIFICATES_NAMED - 1)].join(', ');
  return `certificates ${named}${more > 0 ? ` and ${more} more` : ''} agree`;
}
