/**
 * The model's traces in the form that docs/protocol.md describes: a list of steps, each with its actor, its action and
 * the state that it leads to.
 */
import { readFileSync } from 'node:fs';

const {
  filing: FILING,
  row: ROW,
  attempt: ATTEMPT,
  execution: EXECUTION,
  request: REQUEST,
  run: RUN,
} = JSON.parse(readFileSync(new URL('./state-names.json', import.meta.url), 'utf8'));

const NAMES = { fst: FILING, row: ROW, att: ATTEMPT, step: RUN };

/** @param lines the model's output: `@ actor | action` and after it `@= numbers`. */
export function toSteps(lines, { executions }) {
  const steps = [];
  let repeated = false;
  for (const line of lines) {
    if (line.startsWith('@=')) {
      if (steps.length > 0) steps.at(-1).state = stateOf(line.slice(2).trim().split(' ').map(Number), executions);
      continue;
    }
    const { actor, action } = readLine(line);
    if (actor === 'repeat' && action.startsWith('the next step')) repeated = true;
    else {
      steps.push({ actor, action, ...(repeated ? { repeatedLater: true } : {}), state: null });
      repeated = false;
    }
  }
  return steps;
}

/**
 * A trace in the form in which test/conformance keeps it: actor, action, and the state as one base-36 digit a variable.
 */
export function toCompact(lines) {
  const steps = [];
  let repeated = false;
  for (const line of lines) {
    if (line.startsWith('@=')) {
      const digits = line
        .slice(2)
        .trim()
        .split(' ')
        .map((value) => Number(value).toString(36));
      if (steps.length > 0) steps.at(-1)[2] = digits.join('');
      continue;
    }
    const { actor, action } = readLine(line);
    if (actor === 'repeat' && action.startsWith('the next step')) repeated = true;
    else {
      steps.push([actor, action, '', ...(repeated ? [1] : [])]);
      repeated = false;
    }
  }
  return steps;
}

/**
 * A step of the list of steps as text: `filing/row/attempt/attempt > …`, and behind a colon which attempt got another
 * mark or a send. `sending!`: the mark counts.
 * @param numbers as steps.pml prints them
 */
export function toStepText(numbers) {
  const viewOf = ([fst, row, one, oneArmed, two, twoArmed]) =>
    [FILING[fst], ROW[row], attempt(one, oneArmed), attempt(two, twoArmed)].join('/');
  const attempt = (state, armed) => `${ATTEMPT[state]}${armed ? '!' : ''}`;
  const said = ['marked 1', 'sent 1', 'marked 2', 'sent 2'].filter((_, at) => numbers[12 + at]);
  return `${viewOf(numbers.slice(0, 6))} > ${viewOf(numbers.slice(6, 12))}${said.length > 0 ? `: ${said.join(', ')}` : ''}`;
}

/** A trace as a person reads it. */
export function toText(lines) {
  const steps = toSteps(lines, { executions: 0 });
  return steps.map(
    ({ actor, action, repeatedLater }, at) =>
      `${String(at + 1).padStart(3)}  ${actor.padEnd(10)} ${action}${repeatedLater ? ' (a stale worker is to do the same later)' : ''}`,
  );
}

function readLine(line) {
  const [actor, action] = line.slice(1).split(' | ');
  const named = action.trim().replace(/\b(fst|row|att|step)=(\d+)/g, (_, kind, value) => NAMES[kind][Number(value)]);
  return { actor: actor.trim(), action: named };
}

function stateOf(numbers, executions) {
  let at = 0;
  const take = (count) => numbers.slice(at, (at += count));
  const [fst, row, att, snd, armed, sends, file] = [take(2), take(2), take(4), take(4), take(4), take(4), take(4)];
  const [ex, xa, xn, net, rp, ra] = [take(4), take(4), take(4), take(4), take(2), take(2)];
  const [wrong] = take(1);
  const sender = (value) => (value === 0 ? null : value === executions + 1 ? 'void' : value - 1);
  return {
    filings: fst.map((state, f) => ({ state: FILING[state], row: ROW[row[f]] })),
    attempts: att.map((state, a) => ({
      filing: Math.floor(a / 2),
      number: (a % 2) + 1,
      state: ATTEMPT[state],
      sender: sender(snd[a]),
      markCounts: armed[a] === 1,
    })),
    sends: sends.slice(0, executions).map(sender),
    files: file.slice(0, executions).map(sender),
    executions: ex.slice(0, executions).map((state, e) => ({
      state: EXECUTION[state],
      attempt: state === 0 ? null : xa[e],
      sendNumber: xn[e] || null,
      request: REQUEST[net[e]],
    })),
    runs: rp.map((step, f) => ({ step: RUN[step], attempt: ra[f] })),
    certificates: net.filter((state) => state === 2 || state === 6).length,
    wrongAnswers: wrong,
  };
}
