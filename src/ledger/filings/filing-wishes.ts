import type { AbandonArgs, ApproveArgs, ResolveArgs } from '../../domain/contracts';
import type { Queryable } from '../pool';

/** What people may ask of a filing, and with what. */
export interface Wishes {
  approve?: ApproveArgs;
  resolve?: ResolveArgs;
  abandon?: AbandonArgs;
}

export type WishKind = keyof Wishes;

/**
 * Keeps a request of a person (approve, abandon, resolve) until it is carried out, so that it outlives the run that
 * received it.
 */
export async function keepWish<K extends WishKind>(
  db: Queryable,
  wish: { filingId: string; kind: K; args: NonNullable<Wishes[K]>; at: Date },
): Promise<void> {
  await db.query(
    `INSERT INTO filing_wishes (filing_id, kind, args, asked_at)
     SELECT filing_id, $2, $3, $4 FROM filings WHERE filing_id = $1 AND closed_at IS NULL
     ON CONFLICT (filing_id, kind) DO UPDATE SET args = $3, asked_at = $4`,
    [wish.filingId, wish.kind, JSON.stringify(wish.args), wish.at],
  );
}

/** The wish was carried out, or refused. */
export async function dropWish(db: Queryable, { filingId, kind }: { filingId: string; kind: WishKind }): Promise<void> {
  await db.query('DELETE FROM filing_wishes WHERE filing_id = $1 AND kind = $2', [filingId, kind]);
}
