/**
 * Times in lists' marks: whole microseconds since 1970, as text. A JavaScript date would round them, and a page would
 * skip what was recorded within the same millisecond.
 */

/** The time of a column as such a text. */
export const MICROSECONDS = (column: string) => `(extract(epoch FROM ${column}) * 1000000)::bigint::text`;

/** The time that a parameter with such a text stands for. */
export const TIME_OF = (parameter: string) =>
  `('epoch'::timestamptz + ${parameter}::bigint * interval '1 microsecond')`;
