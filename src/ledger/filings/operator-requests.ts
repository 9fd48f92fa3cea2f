import type { AbandonArgs, ApproveArgs, ResolveArgs } from '../../domain/contracts';
import type { Queryable } from '../pool';

/** The requests that an operator can make of a filing, with their arguments. */
export interface OperatorRequests {
  approve?: ApproveArgs;
  resolve?: ResolveArgs;
  abandon?: AbandonArgs;
}

export type OperatorRequestKind = keyof OperatorRequests;

/**
 * Saves an operator's request until it is carried out, so that it outlives the run that received it. A later request
 * of the same kind replaces it.
 */
export async function saveOperatorRequest<K extends OperatorRequestKind>(
  db: Queryable,
  request: { filingId: string; kind: K; args: NonNullable<OperatorRequests[K]>; at: Date },
): Promise<void> {
  await db.query(
    `INSERT INTO operator_requests (filing_id, kind, args, asked_at)
     SELECT filing_id, $2, $3, $4 FROM filings WHERE filing_id = $1 AND closed_at IS NULL
     ON CONFLICT (filing_id, kind) DO UPDATE SET args = $3, asked_at = $4`,
    [request.filingId, request.kind, JSON.stringify(request.args), request.at],
  );
}

/** Called once the request was carried out or refused. */
export async function deleteOperatorRequest(
  db: Queryable,
  { filingId, kind }: { filingId: string; kind: OperatorRequestKind },
): Promise<void> {
  await db.query('DELETE FROM operator_requests WHERE filing_id = $1 AND kind = $2', [filingId, kind]);
}
