import type { FilingReadiness } from '../../domain/filing/first-moves';
import { ACTIVATES_AT } from '../exporters/exporters';
import { heldIrmsQuery, irmNumberOf } from '../exporters/irms';
import type { Queryable } from '../pool';

const NUMBER = `${irmNumberOf('irm_key')} AS number`;

/**
 * How fresh the balances of the IRMs are that a filing's unsent rows take from, read by whichever client of its
 * exporter's party, and whether the exporter may file yet.
 */
export async function readReadiness(
  db: Queryable,
  { filingId, exporterId }: { filingId: string; exporterId: string },
): Promise<FilingReadiness> {
  const { rows } = await db.query<FilingReadiness>(
    `WITH wanted AS (
       SELECT DISTINCT ${NUMBER} FROM filing_rows
        WHERE filing_id = $1 AND live AND submitted_at IS NULL
     ), newest AS (
       ${heldIrmsQuery({ columns: `${NUMBER}, read_at`, exporterId: '$2', numbers: 'ARRAY(SELECT number FROM wanted)' })}
     )
     SELECT CASE WHEN (SELECT count(*) FROM wanted) = (SELECT count(DISTINCT number) FROM newest)
              THEN (SELECT floor(extract(epoch FROM min(read_at)) * 1000)::float8 FROM newest) END AS "balancesReadAt",
            e.api_state AS "apiState",
            ${ACTIVATES_AT}
       FROM (VALUES (1)) AS one LEFT JOIN exporters e ON lower(e.exporter_id) = lower($2)`,
    [filingId, exporterId],
  );
  return rows[0] ?? { balancesReadAt: null, apiState: null, activatesAt: null };
}
