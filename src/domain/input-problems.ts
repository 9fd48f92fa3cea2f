/** Messages about invalid input, for people. */

/** A problem found by a schema: the field, and what is wrong with it. */
export function issueText({ path, message }: { path: readonly PropertyKey[]; message: string }): string {
  return `${path.join('.') || 'input'}: ${message}`;
}

/** The message about an input for the other mode. @param what for example `The report is for` */
export function otherModeText(what: string, asked: string, own: string): string {
  return `${what} ${asked} mode, but this worker's key works in ${own} mode.`;
}
