/** Looks at a party's certificates, on record with their times: absence is judged by them alone. */
import type { FilingDate } from '../../domain/dates';
import { isoFromFilingDate } from '../../domain/dates';
import type { Queryable } from '../pool';

export interface Look {
  exporterId: string;
  beganAt: Date;
  endedAt: Date;
  from: FilingDate;
  to: FilingDate;
  /** Why it is not complete; null: every day of the span was read, and every entry. */
  problem: string | null;
}

/** Records a look, which serves all filings of the exporter's party. */
export async function recordLook(
  db: Queryable,
  { exporterId, beganAt, endedAt, from, to, problem }: Look,
): Promise<void> {
  await db.query(
    `INSERT INTO looks (party_id, began_at, ended_at, from_date, to_date, complete, problem)
     SELECT party_id, $2, $3, $4, $5, $6, $7 FROM exporters WHERE exporter_id = $1`,
    [exporterId, beganAt, endedAt, isoFromFilingDate(from), isoFromFilingDate(to), problem === null, problem],
  );
}
