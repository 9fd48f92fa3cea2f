/** SQL that lists share. Marks hold whole microseconds as text, because a JavaScript date would round them. */

/** The time of a column as epoch ms. */
export const MS = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)::float8`;

/** The time of a column as ISO 8601, in the form of `toISOString`. */
export const ISO = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The time of a column as epoch microseconds, for a mark. */
export const MICROSECONDS = (column: string) => `(extract(epoch FROM ${column}) * 1000000)::bigint::text`;

/** The time that a parameter with epoch microseconds stands for. */
const timeOf = (parameter: string) => `('epoch'::timestamptz + ${parameter}::bigint * interval '1 microsecond')`;

/** The conditions of a list with their values. Unused ones are left out, because PostgreSQL would plan for them. */
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

  /** Only entries after a mark, in a list with the newest first and equal times ordered by id. */
  behind(mark: { at: string; id: string } | undefined, columns: { at: string; id: string }): this {
    if (mark === undefined) return this;
    const at = timeOf(`$${this.values.push(mark.at)}`);
    return this.add(mark.id, (id) => `${columns.at} <= ${at} AND (${columns.at} < ${at} OR ${columns.id} > ${id})`);
  }

  get text(): string {
    return this.asked.join('');
  }
}
