import { type IecSource, SHOWN_BY } from '../../domain/exporter/exporter';
import type { Mode } from '../../domain/names';
import { movePartyOf } from './party-merge';
import { addEvent } from '../filings/filing-notes';
import { askAbout } from '../questions/questions';
import type { Queryable } from '../pool';

/** Any fixed number. Changes of parties are serialized, because each may read all other parties of its mode. */
const PARTY_CHANGES = 4;

/** Waits for other changes of a mode's parties. Every change takes this lock. */
export async function lockPartyChanges(client: Queryable, mode: Mode): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, $2))', [`parties/${mode}`, PARTY_CHANGES]);
}

/** Takes {@link lockPartyChanges}, and locks the filings, which come first in the order of locks (see filing-lock). */
export async function lockForPartyChange(
  client: Queryable,
  { mode, exporterId, iec, email }: { mode: Mode; exporterId: string; iec: string; email: string | null },
): Promise<void> {
  await lockPartyChanges(client, mode);
  await client.query(
    `WITH own AS (SELECT party_id FROM exporters WHERE mode = $1 AND (lower(exporter_id) = lower($2) OR lower(email) = lower($4)))
     SELECT 1 FROM filings WHERE EXISTS (SELECT FROM own) AND exporter_id IN (
       SELECT exporter_id FROM exporters JOIN parties p USING (party_id)
        WHERE p.mode = $1 AND (p.iec = $3 OR party_id IN (SELECT party_id FROM own)))
      ORDER BY filing_id FOR UPDATE`,
    [mode, exporterId, iec, email?.trim() ?? ''],
  );
}

/** A client's IEC (ten upper-case letters and digits) by its strongest source. Once known, it is never forgotten. */
export interface KnownIec {
  iec: string | null;
  iecSource: IecSource | null;
}

/** A new exporter's party: of its IEC, of the client with its e-mail, or new. Requires {@link lockPartyChanges}. */
export async function partyForNew(
  client: Queryable,
  { mode, iec, email }: { mode: Mode; iec: string | null; email: string | null },
): Promise<number> {
  if (iec !== null) return (await partyOfIec(client, mode, iec)) ?? newParty(client, mode, iec);
  return (await partyOfEmail(client, mode, email))?.partyId ?? newParty(client, mode, null);
}

/** Attaches an exporter and its filings to an IEC's party. Requires {@link lockForPartyChange}. */
export async function attachToIec(
  client: Queryable,
  { mode, exporterId, iec, at }: { mode: Mode; exporterId: string; iec: string; at: Date },
): Promise<void> {
  const current = await partyOfExporter(client, exporterId);
  if (current.iec === iec) return;
  const target = await partyOfIec(client, mode, iec);
  if (current.iec === null) {
    if (target) return movePartyOf(client, { from: current.partyId, to: target, exporterId: null, at });
    await client.query('UPDATE parties SET iec = $2 WHERE party_id = $1', [current.partyId, iec]);
    return;
  }
  const to = target ?? (await newParty(client, mode, iec));
  await movePartyOf(client, { from: current.partyId, to, exporterId, at });
}

/** Merges a client without an IEC that had this e-mail, because it is the same. Requires {@link lockForPartyChange}. */
export async function attachByEmail(
  client: Queryable,
  { mode, exporterId, email, at }: { mode: Mode; exporterId: string; email: string | null; at: Date },
): Promise<void> {
  const current = await partyOfExporter(client, exporterId);
  const former = await partyOfEmail(client, mode, email, 'AND p.iec IS NULL');
  if (!former || former.partyId === current.partyId) return;
  await movePartyOf(client, { from: former.partyId, to: current.partyId, exporterId: null, at });
}

/** Asks, in each open filing of an exporter, about an IEC that differs from the known one. */
export async function askAboutIec(
  client: Queryable,
  args: {
    exporterId: string;
    known: KnownIec;
    shown: string;
    source: IecSource;
    used: string | null;
    at: Date;
  },
): Promise<void> {
  const { exporterId, known, shown, source, used, at } = args;
  const { rows } = await client.query<{ filingId: string }>(
    `SELECT filing_id AS "filingId" FROM filings WHERE exporter_id = $1 AND closed_at IS NULL ORDER BY filing_id`,
    [exporterId],
  );
  const text =
    `Two IECs are shown for the exporter: ${SHOWN_BY[known.iecSource ?? 'client']} ${known.iec}, and ${SHOWN_BY[source]} ${shown}; ` +
    `${used} is used. Find out at the portal which is right: certificates are looked for under the one that is used.`;
  for (const { filingId } of rows) {
    const key = `${known.iec}/${shown}`;
    await addEvent(client, { filingId, step: `iec_differs/${key}`, at, kind: 'iec_differs', text });
    await askAbout(client, { filingId, kind: 'iec_differs', text, until: 'fact', key, at });
  }
}

async function partyOfExporter(client: Queryable, exporterId: string) {
  const party = await partyOf(client, 'lower(e.exporter_id) = lower($1)', [exporterId]);
  if (!party) throw new Error(`Exporter ${exporterId} is not in this ledger.`);
  return party;
}

async function partyOfIec(client: Queryable, mode: Mode, iec: string): Promise<number | undefined> {
  const { rows } = await client.query<{ partyId: number }>(
    'SELECT party_id AS "partyId" FROM parties WHERE mode = $1 AND iec = $2',
    [mode, iec],
  );
  return rows[0]?.partyId;
}

async function partyOfEmail(client: Queryable, mode: Mode, email: string | null, which = '') {
  if (!email?.trim()) return undefined;
  return partyOf(client, `e.mode = $1 AND lower(e.email) = lower($2) ${which}`, [mode, email.trim()]);
}

/** The party of the client that meets the SQL condition `is`; of several clients, the one read last. */
async function partyOf(client: Queryable, condition: string, values: string[]) {
  const { rows } = await client.query<{ partyId: number; iec: string | null }>(
    `SELECT p.party_id AS "partyId", p.iec FROM exporters e JOIN parties p USING (party_id) WHERE ${condition}
      ORDER BY e.read_at DESC, e.exporter_id LIMIT 1`,
    values,
  );
  return rows[0];
}

async function newParty(client: Queryable, mode: Mode, iec: string | null): Promise<number> {
  const { rows } = await client.query<{ partyId: number }>(
    'INSERT INTO parties (mode, iec) VALUES ($1, $2) RETURNING party_id AS "partyId"',
    [mode, iec],
  );
  if (!rows[0]) throw new Error('PostgreSQL returned no party.');
  return rows[0].partyId;
}
