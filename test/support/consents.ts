import type { Queryable } from '../../src/ledger/pool';

/** The consents of an exporter as the ledger has them, newest first. */
export async function consentsOf(db: Queryable, exporterId: string) {
  const { rows } = await db.query<
    Record<'exporterId' | 'accountHash' | 'givenBy' | 'statement' | 'evidenceHash', string> & { givenAt: Date }
  >(
    `SELECT exporter_id AS "exporterId", account_hash AS "accountHash", given_by AS "givenBy", given_at AS "givenAt", statement,
            evidence_hash AS "evidenceHash" FROM consents WHERE exporter_id = $1 ORDER BY given_at DESC, consent_id DESC`,
    [exporterId],
  );
  return rows;
}
