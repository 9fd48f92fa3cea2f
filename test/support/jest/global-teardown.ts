/**
 * Stops what the set-up started. @throws when a test file left something open: that fails the run. The
 * message names the file
 */
export default async function globalTeardown(): Promise<void> {
  await globalThis.stopTestPostgres?.();
  const left = globalThis.whatTestsLeftOpen?.() ?? [];
  if (left.length > 0) throw new Error(`Left open by tests:\n  ${left.join('\n  ')}`);
}
