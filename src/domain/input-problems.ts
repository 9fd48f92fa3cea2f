/** What is wrong with an input, as a person reads it. */

/** A problem that a schema found: which field, and what is wrong with it. */
export function issueText({ path, message }: { path: readonly PropertyKey[]; message: string }): string {
  return `${path.join('.') || 'input'}: ${message}`;
}

/** Of an input for the other mode. @param what as in `The report is for` */
export function otherModeText(what: string, asked: string, own: string): string {
  return `${what} ${asked} mode, but this worker's key works in ${own} mode.`;
}
