/** Permits a duplicate beside rows of a filing, and withdraws statements. */
import { randomUUID } from 'node:crypto';
import type { Principal } from '../../domain/principal';
import type { Carried } from '../../domain/filing/questions';
import { addEvent } from '../../ledger/filings/filing-notes';
import { lockFiling } from '../../ledger/filings/filing-lock';
import { carryOutWord } from '../../ledger/gates/persons';
import { withTransaction } from '../../ledger/pool';
import { writeGrant } from '../../ledger/principals/grants';
import { shownOfSend } from '../../ledger/principals/shown';
import { recordWord, withdrawWord } from '../../ledger/submissions/words';
import type { EbrcReaderDependencies } from '../dependencies';
import { refusal } from '../errors';
import { filingOf, viewOf } from '../lookup';
import type { FilingOutcome } from './outcome';

/** Permits a duplicate beside rows in doubt, once two persons said so. @throws RefusedError if a row is not in doubt */
export async function permit(
  deps: EbrcReaderDependencies & { singlePerson: boolean; principal?: Principal },
  idOrReference: string,
  args: { rows: readonly number[]; note: string; by: string },
): Promise<FilingOutcome> {
  const { pool, principal, singlePerson } = deps;
  const { filingId, exporterId } = await filingOf(deps, idOrReference);
  const { rows } = args;
  const by = principal?.name ?? args.by;
  const note = noteOf(args);
  const sourceRows = [...new Set(rows)].sort((a, b) => a - b);
  const about = { attemptId: null, requestId: null, sourceRows, certificates: [], notOurs: [], unseen: false };
  const word = { filingId, kind: 'permit' as const, ...about };
  const at = new Date();
  const carried = await withTransaction(pool, async (client): Promise<Carried> => {
    await lockFiling(client, filingId);
    const shown = shownOfSend({ ...word, markedAt: null });
    const grantId =
      principal && (await writeGrant(client, principal, { action: 'permit', exporterId, filingId, shown }));
    const wordId = await recordWord(client, { ...word, by, note, at, grantId, step: randomUUID() });
    const judged = await carryOutWord(client, { filingId, wordId, settleMs: 0, singlePerson, at });
    const said = `duplicate beside row ${sourceRows.join(', ')}: ${note}`;
    const event = { filingId, at, who: by };
    if ('why' in judged)
      await addEvent(client, { ...event, kind: `permit_${judged.outcome}`, text: `${said}; ${judged.why}` });
    else await addEvent(client, { ...event, kind: 'permitted', text: said });
    return judged;
  });
  if (carried.outcome === 'refused')
    throw refusal('permit_refused', `Filing ${filingId}: ${carried.why}.`, { filingId });
  const stands = carried.outcome === 'stands';
  const notice = stands
    ? `Noted, and not carried out yet: ${carried.why}.`
    : `A duplicate may be filed beside row ${sourceRows.join(', ')} of ${filingId}.`;
  return { filing: await viewOf(deps, filingId), waitsForPerson: stands, secondPerson: stands, notice };
}

/** Withdraws a person's last statement that was not carried out. @throws RefusedError if there is none */
export async function withdraw(
  deps: EbrcReaderDependencies & { principal?: Principal },
  idOrReference: string,
  args: { note: string; by: string },
): Promise<FilingOutcome> {
  const { pool, principal } = deps;
  const { filingId } = await filingOf(deps, idOrReference);
  const by = principal?.name ?? args.by;
  const note = noteOf(args);
  const kind = await withTransaction(pool, async (client) => {
    await lockFiling(client, filingId);
    return withdrawWord(client, { filingId, by, isClaim: !principal, why: note, at: new Date() });
  });
  if (kind === null) {
    const token = principal ? '' : ' What a principal said is taken back with the principal’s token (EBRC_TOKEN).';
    const text = `${by} has no statement about filing ${filingId} that waits to be carried out.${token}`;
    throw refusal('nothing_to_withdraw', text, { filingId });
  }
  const notice = `The statement of ${by} (${kind}) is withdrawn.`;
  return { filing: await viewOf(deps, filingId), waitsForPerson: false, notice };
}

function noteOf({ note }: { note: string }): string {
  if (note.trim() === '') throw refusal('note_missing', 'Give a note that says why.');
  return note.trim();
}
