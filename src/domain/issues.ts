/** Turns schema errors into plain messages and findings. */
import type { z } from 'zod';
import { errorAt, firstErrors, type Finding } from './rules/finding';
import { listed } from './rules/value-messages';
import { cutText } from './text';

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
  nonoptional: 'a value',
};

const kindOf = (expected: string): string => KINDS[expected] ?? expected;

function kindOfValue(value: unknown): string {
  if (value === null) return 'null';
  // A query parameter that is not a number is coerced to NaN.
  if (Number.isNaN(value)) return 'no number';
  return kindOf(Array.isArray(value) ? 'array' : typeof value);
}

const FORMATS: Readonly<Record<string, string>> = {
  email: 'an e-mail address',
  uuid: 'a UUID',
  url: 'an address such as https://host/path',
  datetime: 'a time such as 2026-07-01T09:00:00Z',
  date: 'a day such as 2026-07-01',
};

const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries', set: ' entries' };

/** Never includes the value, which may be a misplaced password. undefined: use zod's own message. */
function inPlainWords(issue: z.core.$ZodRawIssue): string | undefined {
  const missing = issue.input === undefined;
  switch (issue.code) {
    case 'invalid_type':
      return `is ${missing ? 'missing' : kindOfValue(issue.input)}; allowed: ${kindOf(issue.expected)}`;
    case 'invalid_value':
      return `${missing ? 'is missing; ' : ''}allowed: ${issue.values.map(String).join(', ')}`;
    case 'invalid_format':
      return `is not ${FORMATS[issue.format] ?? `of the form ${issue.pattern ?? issue.format}`}`;
    case 'too_small':
      return `allowed: ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${UNITS[issue.origin] ?? ''}`;
    case 'too_big':
      return `allowed: at most ${issue.maximum}${UNITS[issue.origin] ?? ''}`;
    case 'unrecognized_keys':
      return `there is no field ${listed(issue.keys.map(shortName))}`;
    case 'invalid_union':
      return 'has none of the allowed forms';
    default:
      return undefined;
  }
}

/** A name that somebody chose, for a message. */
export const shortName = (name: string): string => cutText(name, 100);

/** Passed to each parse instead of set globally, so that an application that uses our client keeps its own messages. */
export const IN_PLAIN_WORDS = { error: inPlainWords };

/** A schema error as `field: message`. */
export function issueText({ path, message }: { path: readonly PropertyKey[]; message: string }): string {
  return `${path.join('.') || 'input'}: ${message}`;
}

/** The errors of a schema, as findings without a row. */
export function invalidInput({ issues }: Pick<z.ZodError, 'issues'>): Finding[] {
  const found = firstErrors<Finding>();
  for (const issue of issues) {
    const field = shortName(issue.path.join('.'));
    found.add([
      errorAt(null, field || null, 'invalid_input', issueText({ path: [field || 'input'], message: issue.message })),
    ]);
  }
  return found.all();
}
