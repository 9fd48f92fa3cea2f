import type { z } from 'zod';
import { IN_PLAIN_WORDS, issueText } from '../domain/issues';
import { errorAt } from '../domain/rules/finding';
import { RefusedError } from './errors';

/** The input of a workflow, as its schema takes it. @throws RefusedError that names every wrong field */
export function checkedInput<S extends z.ZodType>(
  schema: S,
  input: z.input<S>,
  details?: Record<string, unknown>,
): z.output<S> {
  const checked = schema.safeParse(input, IN_PLAIN_WORDS);
  if (checked.success) return checked.data;
  const errors = checked.error.issues.map((issue) =>
    errorAt(null, issue.path.join('.') || null, 'invalid_input', issueText(issue)),
  );
  throw new RefusedError(errors, details);
}
