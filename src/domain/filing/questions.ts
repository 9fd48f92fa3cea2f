/** Questions about a filing: their kinds, how long they stay open, and what may be done about them. */
import { type FilingState, isEnd, needsAttention, QUESTION_OF_STATE } from './states';

export interface Question {
  kind: string;
  text: string;
  /** What closes the question. `fact`: a fact or an acknowledgement, but not the filing's end. */
  until: 'move' | 'state' | 'fact';
}

/** The question that a move opens, or null. */
export function questionOfMove(move: {
  state: FilingState;
  attention: string | null;
  needsAttention?: boolean;
  event: { kind: string; text: string };
}): Question | null {
  const { state, event } = move;
  if (!(move.needsAttention ?? needsAttention(state))) return null;
  const text = move.attention ?? event.text;
  // A filing that was imported from the document store has to be looked at even after its end.
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

/** The commands that may answer a question. */
export const actionsOfQuestion = ({ kind, until }: Pick<Question, 'kind' | 'until'>): readonly string[] =>
  ACTIONS[kind] ?? (until === 'fact' ? ['acknowledge'] : ['abandon']);

/** The commands that may be used on a filing next. */
export function actionsOfFiling(filing: {
  state: FilingState;
  asked: boolean;
  needsAttention: boolean;
  correctable: boolean;
}): readonly string[] {
  const { state, asked, correctable } = filing;
  if (isEnd(state)) return correctable ? ['correct'] : [];
  // Before a person is asked, the run still gathers evidence. `needs_access` needs no command: access is retried.
  if (state === 'outcome_unknown' && !asked) return ['abandon'];
  const ofState = state === 'needs_access' ? undefined : ACTIONS[QUESTION_OF_STATE[state] ?? ''];
  return ofState ?? (filing.needsAttention ? ['resume', 'abandon'] : ['abandon']);
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

/** Error code of an update: the word is recorded and is carried out once a second person says the same. */
export const SECOND_PERSON = 'second_person';

/** The result of carrying out a person's word about a send. */
export type Carried =
  /** Nothing was filed: the submission may be sent again. */
  | { outcome: 'again' }
  /** Rows without a certificate were freed and wait for a correction. */
  | { outcome: 'freed'; freed: number }
  /** A request that a person had named is another filing's and is no longer polled. */
  | { outcome: 'not_ours' }
  /** A duplicate of the named rows may be filed. */
  | { outcome: 'permitted' }
  /** A request was added, or rows got their certificates. */
  | { outcome: 'filed' }
  /** The word was refused, or stays open until a second person says the same. */
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
