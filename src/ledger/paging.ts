/** What the statements of lists share. Marks hold whole microseconds as text: a JavaScript date would round them. */

/** The time of a column in ms since the epoch. */
export const MS = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)::float8`;

/** The time of a column as ISO 8601, as `toISOString` writes it. */
export const ISO = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The time of a column as whole microseconds, for a mark. */
export const MICROSECONDS = (column: string) => `(extract(epoch FROM ${column}) * 1000000)::bigint::text`;

/** The time that a parameter with such a text stands for. */
const timeOf = (parameter: string) => `('epoch'::timestamptz + ${parameter}::bigint * interval '1 microsecond')`;

/** The conditions of a list and their values; PostgreSQL would plan for one that is not asked for. */
export class Conditions {
  readonly values: unknown[];
  private readonly asked: string[] = [];

  constructor(...values: unknown[]) {
    this.values = values;
  }

  add(value: unknown, condition: (parameter: string) => string): this {
    if (value !== undefined && value !== null) this.asked.push(` AND ${condition(`$${this.values.push(value)}`)}`);
    return this;
  }

  /** Only what comes behind a mark, in a list of the newest first, those of one time by their ids. */
  behind(mark: { at: string; id: string } | undefined, columns: { at: string; id: string }): this {
    if (mark === undefined) return this;
    const at = timeOf(`$${this.values.push(mark.at)}`);
    return this.add(mark.id, (id) => `${columns.at} <= ${at} AND (${columns.at} < ${at} OR ${columns.id} > ${id})`);
  }

  get text(): string {
    return this.asked.join('');
  }
}
