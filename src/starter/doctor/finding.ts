import { EncryptionError } from '../../encryption/keys';
import { firstLine } from '../errors';

export interface CheckResult {
  check: string;
  ok: boolean;
  message: string;
  /** What to do; null if nothing. */
  advice: string | null;
}

export const fine = (check: string, message: string): CheckResult => ({ check, ok: true, message, advice: null });

/** Nothing is wrong yet, but somebody should know. */
export const warned = (check: string, message: string, advice: string): CheckResult => ({
  ...fine(check, message),
  advice,
});

export const wrong = (check: string, message: string, advice: string): CheckResult => ({
  check,
  ok: false,
  message,
  advice,
});

const KEYS = 'Give this program the keys of the workers: EBRC_PAYLOAD_KEY, or EBRC_ENCRYPTION_KEY.';

/** Runs a check. One that throws counts as failed. */
export async function checked(check: string, advice: string, run: () => Promise<CheckResult>): Promise<CheckResult> {
  try {
    return await run();
  } catch (error) {
    return wrong(check, firstLine(error), error instanceof EncryptionError ? KEYS : advice);
  }
}

const SKEW_MS = 5_000;

/** Compares a server's clock with ours. @param asked @param answered ms since 1970 @param coarseMs its rounding */
export function clockResult(
  check: string,
  server: string,
  { asked, theirs, answered, coarseMs = 0 }: { asked: number; theirs: number; answered: number; coarseMs?: number },
): CheckResult {
  // The server read its clock between `asked` and `answered` and rounded down. Only a time outside of that is wrong.
  const off = theirs > answered ? theirs - answered : theirs + coarseMs < asked ? theirs + coarseMs - asked : 0;
  if (Math.abs(off) <= SKEW_MS) return fine(check, `agrees with ${server}`);
  const seconds = Math.round(Math.abs(off) / 1_000);
  const message = `${server} is ${seconds} s ${off > 0 ? 'ahead of' : 'behind'} this machine`;
  return wrong(check, message, 'Synchronise both clocks by NTP: waits, windows and evidence depend on them.');
}
