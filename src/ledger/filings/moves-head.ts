/**
 * The head of a filing's moves: the number of the last one, and a hash over all of them. It stands in the record of
 * each send, outside the database: a history that was rewritten afterwards shows.
 */
export interface MovesHead {
  seq: number;
  sha256: string;
}

/**
 * SQL for the head of the moves of a filing up to a number. Moves are made under the filing's lock, one number after
 * the other; other events are not, so that one may still come before the last that is seen.
 */
export const movesUpTo = (filingId: string, seq: string): string => `(
  SELECT jsonb_build_object('seq', coalesce(max(v.seq), 0), 'sha256', encode(sha256(convert_to(coalesce(string_agg(
      jsonb_build_array(v.seq, (extract(epoch FROM v.at) * 1000000)::bigint, v.kind, v.state, v.who, v.text, v.data)::text,
      E'\\n' ORDER BY v.seq), ''), 'UTF8')), 'hex'))
    FROM filing_events v WHERE v.filing_id = ${filingId} AND v.seq <= ${seq})`;
