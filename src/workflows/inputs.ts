/** What callers in any SDK hand in: the input of a workflow, and the argument of an update. */
import type { UpdateDefinition } from '@temporalio/common';
import { ApplicationFailure, setHandler } from '@temporalio/workflow';
import type { z } from 'zod';
import type { RefusalDetails } from '../domain/update-contracts';
import { IN_PLAIN_WORDS, invalidInput } from '../domain/issues';
import { cutText } from '../domain/text';
import { errorAt } from '../domain/rules/finding';
import { isObject } from '../domain/values';

/** A push message has rules of its own, and the state of a continued run is ours. */
const AS_THEY_ARE: ReadonlySet<string> = new Set(['message', 'resume']);

/** Without null fields, at any depth: some SDKs write them for what is left out. */
export function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (!isObject(value)) return value;
  const given = Object.entries(value).filter(([, each]) => each !== null);
  return Object.fromEntries(
    given.map(([field, each]) => [field, AS_THEY_ARE.has(field) ? each : withoutNulls(each)]),
  ) as T;
}

/**
 * The input of a workflow; its schema is tried by an activity, as a replay must not depend on it. What is no object
 * fails the workflow: reading a property would fail the task for ever. @throws ApplicationFailure `invalid_input`
 */
export function needInput<T>(workflow: string, input: T): T {
  if (isObject(input)) return withoutNulls(input);
  const message = `${workflow} takes one object; schemas/${workflow}.input.schema.json describes it.`;
  throw ApplicationFailure.nonRetryable(message, 'invalid_input');
}

/** @throws ApplicationFailure with which an update is refused */
export function refuse(message: string, details: Partial<RefusalDetails> = {}): never {
  const { code = 'refused', errors = [errorAt(null, null, code, message)] } = details;
  throw ApplicationFailure.create({ message, type: code, nonRetryable: true, details: [{ ...details, code, errors }] });
}

/** As many problems of an argument are told. */
const PROBLEMS_TOLD = 20;
const MESSAGE_BYTES = 1_000;

/**
 * Handles an update, which is refused where its argument is not of the schema: a validator's refusal leaves no trace in
 * the history. @param mayTake refuses one of the right form
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
      const errors = invalidInput(error).slice(0, PROBLEMS_TOLD);
      refuse(cutText(errors.map(({ message }) => message).join('; '), MESSAGE_BYTES), { errors });
    },
  });
}
