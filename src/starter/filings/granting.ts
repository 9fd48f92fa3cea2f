/** What a principal answers for is written into the ledger before it goes to Temporal, which carries its id alone. */
import type { AbandonArgs, ApproveArgs, ResolveArgs } from '../../domain/contracts';
import type { FilingRecord } from '../../ledger/filings/filings';
import { writeGrant } from '../../ledger/principals/grants';
import { shownOfFiling, shownOfSend } from '../../ledger/principals/granted-words';
import { markedAt } from '../../ledger/submissions/attempts';
import type { EbrcClientDependencies } from '../dependencies';

export type CommandArgs = ApproveArgs | ResolveArgs | AbandonArgs;

/** The arguments with the principal's name and grant; as they are where nobody but a name answers for them. */
export async function withGrant<A extends CommandArgs>(
  { pool, principal }: Pick<EbrcClientDependencies, 'pool' | 'principal'>,
  action: 'approve' | 'resolve' | 'abandon',
  filing: FilingRecord,
  args: A,
): Promise<A> {
  if (!principal) return args;
  const { filingId, exporterId } = filing;
  const shown =
    action === 'resolve'
      ? await shownToResolve(pool, filingId, args as ResolveArgs)
      : await shownOfFiling(pool, action, filing);
  const grant = await writeGrant(pool, principal, { action, exporterId, filingId, shown });
  return { ...args, by: principal.name, grant };
}

async function shownToResolve(
  pool: EbrcClientDependencies['pool'],
  filingId: string,
  { as, attemptId, requestId, rows, certificates = [], notOurs = [], unseen = false }: ResolveArgs,
): Promise<string> {
  return shownOfSend({
    filingId,
    kind: as === 'filed' ? 'filed' : 'not_filed',
    attemptId: attemptId ?? null,
    markedAt: attemptId === undefined ? null : await markedAt(pool, attemptId),
    requestId: requestId ?? null,
    sourceRows: rows ?? null,
    certificates,
    notOurs,
    unseen,
  });
}
