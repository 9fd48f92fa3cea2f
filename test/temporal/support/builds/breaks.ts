/** A build that breaks in every task. */
export function fileRemittances(): Promise<void> {
  throw new TypeError('this build is broken');
}
