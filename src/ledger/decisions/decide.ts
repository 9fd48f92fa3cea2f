/** The one function by which persons decide about filings: it judges at once who asks, and what is asked. */
import type pg from 'pg';
import { DAY_MS } from '../../domain/dates';
import type { Said } from '../../domain/filing/decision';
import { addedTo } from '../../domain/filing/evidence';
import { isEnd } from '../../domain/filing/states';
import { MAY, NEEDS_TOKEN, personKey, type Role } from '../../domain/principal';
import { recordAudit } from '../principals/principals';
import { withTransaction, type Queryable } from '../pool';
import { ASKED, refuse, textOf, type Asked, type Decision, type Refusal } from './asked';
import { carryOutDecisions, endDecisions, insertDecision, openDecisions } from './decisions';
import type { DecisionSettings } from './in-question';
import { lockFiling, lockIrmsOf, type LockedFiling } from '../filings/lock';
import { addEvent } from '../filings/move';

export type Decided =
  /** `why`: what the decision still waits for. */
  | { outcome: 'carried_out' | 'recorded'; why: string | null; filing: LockedFiling }
  | { outcome: 'refused'; code: string; why: string; filing: LockedFiling };

/** Decides about a filing in one transaction. What waits for a second person or a reading is carried out by its run. */
export async function decide(pool: pg.Pool, decision: Decision, settings: DecisionSettings): Promise<Decided> {
  return withTransaction(pool, async (client) => {
    await lockIrmsOf(client, decision.filingId);
    const filing = await lockFiling(client, decision.filingId);
    const decided = await judge(client, filing, decision, settings);
    const refused = 'code' in decided ? decided : null;
    const { principal } = decision.by;
    if (principal) {
      const use = { mode: filing.mode, at: new Date(filing.now), principal, action: `decide ${decision.kind}` };
      const outcome = refused ? 'refused' : 'used';
      await recordAudit(client, [
        { ...use, outcome, subject: filing.filingId, ...(refused && { code: refused.code }) },
      ]);
    }
    return 'code' in decided ? { outcome: 'refused', ...decided, filing } : { ...decided, filing };
  });
}

type Judged = Refusal | { outcome: 'carried_out' | 'recorded'; why: string | null };

async function judge(
  client: Queryable,
  filing: LockedFiling,
  decision: Decision,
  settings: DecisionSettings,
): Promise<Judged> {
  const { kind, by } = decision;
  const refusal = (await refusalOfPerson(client, filing, decision)) ?? refusalOfState(filing, kind);
  if (refusal) return refusal;
  const asked = await ASKED[kind](client, filing, decision, settings);
  if ('code' in asked) return asked;
  const open = (await openDecisions(client, filing.filingId)).filter((each) => each.kind === kind);
  const again = saidBefore(open, decision, asked, filing, settings);
  if (again && 'code' in again) return again;
  // What the same person said before, of other evidence or of something else, is replaced.
  if (again) await endDecisions(client, again, 'void', 'it was said anew');
  const name = by.principal?.name ?? by.name;
  const note = decision.note?.trim() || null;
  const { attempt, shown, requestId, certificates, ends } = asked;
  const principalId = by.principal?.principalId ?? null;
  const id = await insertDecision(client, filing.filingId, {
    ...{ kind, principalId, name, attempt, shown, requestId, certificates, ends, note },
  });
  if (asked.now) {
    await asked.now([{ name, note }]);
    await endDecisions(client, [{ id }], 'carried_out');
    return { outcome: 'carried_out', why: null };
  }
  await addEvent(client, filing, { kind: `said_${kind}`, who: name, text: `${name} said: ${textOf(asked, kind)}` });
  const waitsFor = await carryOutDecisions(client, filing, settings);
  const { rows } = await client.query<{ outcome: string | null; why: string | null }>(
    'SELECT outcome, why FROM decisions WHERE decision_id = $1',
    [id],
  );
  const { outcome = null, why = null } = rows[0] ?? {};
  if (outcome === 'carried_out') return { outcome, why: null };
  if (outcome !== null) return refuse(REFUSED[kind], why ?? 'it does not hold');
  return { outcome: 'recorded', why: waitsFor === 'reading' ? WAITS_READING : waitsPerson(name, settings) };
}

/** Why a decision is not carried out yet, although enough persons said it. */
export const WAITS_READING =
  'it is carried out once the certificates were read anew and nothing more speaks against it; while they cannot be read, two persons have to say so';

const waitsPerson = (name: string, { singlePerson }: DecisionSettings): string =>
  singlePerson ? `${name} has to say the same again, a day later` : `somebody else than ${name} has to say the same`;

const REFUSED = {
  ...{ approve: 'approve_refused', filed: 'resolve_refused' },
  ...{ not_filed: 'resolve_refused', abandon: 'abandon_refused' },
} as const;

const ROLES_OF = { approve: MAY.approve, filed: MAY.resolve, not_filed: MAY.resolve, abandon: MAY.abandon } as const;

/** Who asks: a principal with a role for it, as the ledger has it now, who may see the exporter; or a claimed name. */
async function refusalOfPerson(
  client: Queryable,
  filing: LockedFiling,
  { kind, by }: Decision,
): Promise<Refusal | null> {
  const { principal, name } = by;
  if (!principal) {
    if (personKey(name) === '') return refuse('invalid_input', `${JSON.stringify(name)} names nobody`);
    return kind === 'approve' ? refuse('needs_token', NEEDS_TOKEN) : null;
  }
  const { rows } = await client.query<{ roles: Role[]; sees: boolean }>(
    `SELECT roles, exporters IS NULL OR lower($3) = ANY (exporters) AS sees FROM principals
      WHERE principal_id = $1 AND mode = $2 AND removed_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())`,
    [principal.principalId, filing.mode, filing.exporterId],
  );
  const [found] = rows;
  if (!found) return refuse('unauthorized', `${principal.name} is no principal of this ledger any more`);
  if (!found.sees) return refuse('unknown_filing', `${principal.name} may not see the exporter`);
  const may: readonly Role[] = ROLES_OF[kind];
  if (!found.roles.some((role) => may.includes(role)))
    return refuse('role_missing', `${principal.name} has ${found.roles.join(', ')}; this needs ${may.join(' or ')}`);
  if (kind === 'abandon' && filing.makerId !== principal.principalId && !found.roles.includes('checker'))
    return refuse('role_missing', 'a maker abandons its own filings; for any other the role checker is needed');
  return null;
}

function refusalOfState({ closed, state, filingId }: LockedFiling, kind: Decision['kind']): Refusal | null {
  if (closed || isEnd(state)) return refuse('filing_ended', `filing ${filingId} has ended as ${state}`);
  if (kind === 'approve' && state !== 'awaiting_approval')
    return refuse('approve_refused', `it does not wait for an approval: it is ${state}`);
  return null;
}

/** What the same principal said before and nothing came of yet; refused where it stands and needs somebody else. */
function saidBefore(
  open: readonly Said[],
  { by }: Decision,
  asked: Asked,
  { now }: LockedFiling,
  { singlePerson }: DecisionSettings,
): Refusal | Said[] | null {
  const own = open.filter(({ principalId }) => principalId !== null && principalId === by.principal?.principalId);
  const key = ({ attempt, certificates, ends }: Pick<Said, 'attempt' | 'certificates' | 'ends'>) =>
    JSON.stringify([attempt, certificates, ends]);
  const same = own.filter((said) => key(said) === key(asked) && addedTo(said.shown, asked.shown).length === 0);
  const [first] = same;
  if (!first || !asked.two) return own.length > 0 ? own : null;
  if (singlePerson && now - first.at >= DAY_MS) return null;
  const at = new Date(first.at).toISOString();
  const next = singlePerson ? 'say it again a day later' : 'somebody else has to say the same';
  return refuse('said_already', `${first.name} said so at ${at}; ${next}`);
}
