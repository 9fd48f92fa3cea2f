/** A filing of the ledger in the words of the protocol's model, and what is the same to both. */

/** `sending!`: its mark counts, so its sender may still write. */
export interface View {
  filing: string;
  row: string;
  attempts: readonly [string, string];
}

export const NOTHING: View = { filing: 'none', row: 'none', attempts: ['none', 'none'] };

const ENDS = new Set(['certified', 'rejected', 'needs_correction', 'abandoned']);

/**
 * The same for what is the same: PDFs are collected after the protocol is over; the filing's move follows an acceptance
 * in a transaction of its own; a certificate says what an attempt in doubt became.
 */
export function normalised({ filing, row, attempts }: View): View {
  const certified = row === 'certified';
  const shown = attempts.map((state) => {
    if (certified && state.startsWith('sending')) return 'accepted';
    // Nothing of either is at the service; whether the rows are freed or sent again is in the rows.
    return state === 'refused' ? 'not_sent' : state;
  });
  const accepted = shown.includes('accepted');
  const open = ['checking', 'submitting', 'outcome_unknown'].includes(filing);
  // Said before or after the first attempt is opened, which is what the model knows of it.
  const begins = filing === 'checking' && row !== 'none';
  const settled = filing === 'collecting' || (certified && !ENDS.has(filing));
  return {
    filing: settled ? 'certified' : accepted && open ? 'processing' : begins ? 'submitting' : filing,
    row,
    attempts: [shown[0] ?? 'none', shown[1] ?? 'none'],
  };
}

export const textOf = ({ filing, row, attempts }: View): string => [filing, row, ...attempts].join('/');
