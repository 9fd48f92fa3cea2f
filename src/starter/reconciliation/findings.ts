import type { FindingKind, FindingView } from '../../domain/reconciliation/findings';
import { acknowledgeFinding as acknowledgeInLedger, listFindings } from '../../ledger/reconciliation/findings';
import { partyOf } from '../../ledger/reconciliation/parties';
import { refusal } from '../errors';
import { exporterIdOf } from '../exporters/lookup';
import type { EbrcReaderDependencies } from '../dependencies';

export interface FindingsRequest {
  /** Id or e-mail; clients with one IEC share their findings. */
  exporter?: string;
  kind?: FindingKind;
  /** Also closed and acknowledged findings. */
  all?: boolean;
}

export interface Acknowledgement {
  id: string;
  /** Why it is no cause for concern. */
  note: string;
  by: string;
}

type Deps = Pick<EbrcReaderDependencies, 'pool' | 'mode'>;

/** Findings, oldest first: open ones that nobody has acknowledged, or all. */
export async function findings(deps: Deps, { exporter, kind, all }: FindingsRequest = {}): Promise<FindingView[]> {
  const { pool, mode } = deps;
  return listFindings(pool, { mode, partyId: await partyIdOf(deps, exporter), kind, all });
}

/** Acknowledges a finding without closing it. @throws RefusedError if there is no such finding, or the note is empty */
export async function acknowledgeFinding({ pool, mode }: Deps, finding: Acknowledgement): Promise<FindingView> {
  const { id, by } = finding;
  const note = finding.note.trim();
  if (note === '') throw refusal('note_missing', 'Give a note that says why the finding is no cause for concern.');
  const acknowledged = await acknowledgeInLedger(pool, { mode, id, by, note, at: new Date() });
  if (acknowledged) return acknowledged;
  throw refusal('unknown_finding', `There is no finding ${id} in ${mode} mode. \`ebrc findings\` lists them.`);
}

async function partyIdOf({ pool, mode }: Deps, exporter: string | undefined): Promise<number | undefined> {
  if (exporter === undefined) return undefined;
  const party = await partyOf(pool, await exporterIdOf(pool, mode, exporter));
  if (!party) throw refusal('unknown_exporter', `Exporter ${exporter} is not in this ledger.`);
  return party.partyId;
}
