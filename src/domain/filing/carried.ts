/** What became of a person's word about a send. */
export type Carried =
  /** Nothing was filed: the submission may be sent again. */
  | { outcome: 'again' }
  /** Rows without a certificate are free, and wait for a correction. */
  | { outcome: 'freed'; freed: number }
  /** A request that a person had named is another filing's: it is not asked about any more. */
  | { outcome: 'not_ours' }
  /** A duplicate may go beside the rows that were named. */
  | { outcome: 'permitted' }
  /** A request was added, or rows have their certificates. */
  | { outcome: 'filed' }
  /** It is refused, or stands until a second person says the same. */
  | { outcome: 'refused' | 'stands'; why: string };
