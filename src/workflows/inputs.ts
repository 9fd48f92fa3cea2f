/** Checks what callers in any SDK pass: workflow inputs and update arguments. */
import type { UpdateDefinition } from '@temporalio/common';
import { ApplicationFailure, setHandler } from '@temporalio/workflow';
import type { z } from 'zod';
import type { refusalDetails } from '../domain/contracts';
import { IN_PLAIN_WORDS, invalidInput } from '../domain/issues';
import { cutText } from '../domain/text';
import { isRefusedPlaintext, PLAINTEXT_CODE, plaintextText } from '../domain/plaintext';
import { errorAt } from '../domain/rules/finding';
import { isObject } from '../domain/values';

/** Fields that keep their nulls: a push message has its own rules, and `resume` is a continued run's own state. */
const FIELDS_WITH_NULLS: ReadonlySet<string> = new Set(['message', 'resume']);

/** Removes null fields at any depth, because some SDKs write null for fields that are left out. */
function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (!isObject(value)) return value;
  const given = Object.entries(value).filter(([, content]) => content !== null);
  return Object.fromEntries(
    given.map(([field, content]) => [field, FIELDS_WITH_NULLS.has(field) ? content : withoutNulls(content)]),
  ) as T;
}

/**
 * The input of a workflow. An activity checks its schema, because a replay must not depend on the schema. A value that
 * is no object fails the workflow here, because reading a property would fail each workflow task.
 * @throws ApplicationFailure `invalid_input`; `plaintext_refused`
 */
export function needInput<T>(workflow: string, input: T): T {
  if (isRefusedPlaintext(input))
    throw ApplicationFailure.nonRetryable(plaintextText(`The input of ${workflow}`), PLAINTEXT_CODE);
  if (isObject(input)) return withoutNulls(input);
  const message = `${workflow} takes one object; schemas/${workflow}.input.schema.json describes it.`;
  throw ApplicationFailure.nonRetryable(message, 'invalid_input');
}

/** Refuses an update. @throws ApplicationFailure */
export function refuse(message: string, details: Partial<z.infer<typeof refusalDetails>> = {}): never {
  const { code = 'refused', errors = [errorAt(null, null, code, message)] } = details;
  throw ApplicationFailure.create({ message, type: code, nonRetryable: true, details: [{ ...details, code, errors }] });
}

/** The most problems reported for one argument. */
const MAX_PROBLEMS = 20;
const MESSAGE_BYTES = 1_000;

/**
 * Handles an update. Its validator refuses an argument that does not match the schema, which leaves no trace in the
 * history. @param mayTake throws to refuse a valid argument
 */
export function handleUpdate<R, A extends object>(
  update: UpdateDefinition<R, [A]>,
  schema: z.ZodType<A>,
  answer: (args: A) => R | Promise<R>,
  mayTake: () => void = () => undefined,
): void {
  setHandler(update, (args) => answer(withoutNulls(args)), {
    validator: (args) => {
      const { error } = schema.safeParse(withoutNulls(args), IN_PLAIN_WORDS);
      if (!error) return mayTake();
      const errors = invalidInput(error).slice(0, MAX_PROBLEMS);
      refuse(cutText(errors.map(({ message }) => message).join('; '), MESSAGE_BYTES), { errors });
    },
  });
}
