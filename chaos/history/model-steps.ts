/**
 * The steps of a filing in the ledger that the protocol model has (model/steps.json), and those that stand above it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { normalised, textOf, type View } from './abstraction';

const FILE = join(__dirname, '..', '..', 'model', 'steps.json');

export interface Step {
  from: View;
  to: View;
  /** Which of the two attempts got another mark, and which a send: 1 or 2. */
  marked: readonly number[];
  sent: readonly number[];
}

export interface KnownSteps {
  has(step: Step): boolean;
}

/**
 * What happens to a filing before the protocol begins, and is not in the model: its rows are refused when it is opened,
 * or by a look at balances and documents before anything is sent.
 */
const BEFORE_THE_PROTOCOL = [
  'none/none/none/none > needs_correction/freed/none/none',
  'none/none/none/none > needs_correction/none/none/none',
  'checking/planned/none/none > needs_correction/freed/none/none',
];

/** @param restored with those that only a ledger which was put back makes */
export function knownSteps({ restored }: { restored: boolean }): KnownSteps {
  const listed = JSON.parse(readFileSync(FILE, 'utf8')) as { always: string[]; restored: string[] };
  const texts = [...listed.always, ...(restored ? listed.restored : []), ...BEFORE_THE_PROTOCOL];
  const known = new Set(texts.map((text) => keyOf(stepOf(text))));
  return { has: (step) => changesNothing(keyOf(step)) || known.has(keyOf(step)) };
}

export const nameOf = ({ from, to, marked, sent }: Step): string => {
  const said = [...marked.map((which) => `marked ${which}`), ...sent.map((which) => `sent ${which}`)].sort();
  return `${textOf(from)} > ${textOf(to)}${said.length > 0 ? `: ${said.join(', ')}` : ''}`;
};

const keyOf = ({ from, to, ...said }: Step): string => {
  // Whether a mark counts matters when it is set: its sender ends it too, once its exchange is over.
  const shown = ({ attempts: [one, two], ...view }: View, kept: readonly number[]): View =>
    normalised({
      ...view,
      attempts: [kept.includes(1) ? one : one.replace('!', ''), kept.includes(2) ? two : two.replace('!', '')],
    });
  return nameOf({ from: shown(from, []), to: shown(to, said.marked), ...said });
};

const changesNothing = (key: string): boolean => {
  const [from, to] = key.split(' > ');
  return from === to;
};

function stepOf(text: string): Step {
  const [views = '', said = ''] = text.split(': ');
  const [from = '', to = ''] = views.split(' > ');
  const which = (word: string) => [...said.matchAll(new RegExp(`${word} (\\d)`, 'gu'))].map(([, n]) => Number(n));
  return { from: viewOf(from), to: viewOf(to), marked: which('marked'), sent: which('sent') };
}

function viewOf(text: string): View {
  const [filing = '', row = '', one = '', two = ''] = text.split('/');
  return { filing, row, attempts: [one, two] };
}
