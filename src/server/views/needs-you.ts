/** What needs somebody: filings in groups, and findings. */
import type { FilingSummary } from '../../domain/filing/view';
import type { FindingView } from '../../domain/reconciliation/findings';
import { listFilings } from '../../ledger/views/lists';
import type { LedgerDependencies } from '../../starter/dependencies';
import { findings } from '../../starter/reconcile';

/** Most entries of each group; the others come up as these are done. */
export const MOST = 60;

interface Group {
  title: string;
  filings: FilingSummary[];
}

/** What is asked of a filing, from the gravest on. */
const GROUPS: readonly [title: string, of: (filing: FilingSummary) => boolean][] = [
  ['It is not known whether these were filed', ({ state, asked }) => state === 'outcome_unknown' && asked],
  ['Waiting for an approval', ({ actions }) => actions.includes('approve')],
  ['Waiting for credentials or access', ({ state }) => state === 'needs_credentials' || state === 'needs_access'],
  ['To be corrected', ({ actions }) => actions.includes('correct')],
  ['Late, or to be looked at', () => true],
];

/** What needs somebody. */
export interface Needs {
  groups: Group[];
  found: FindingView[];
}

/** What needs somebody, the gravest first; in each group the oldest. */
export async function readNeeds(deps: LedgerDependencies, exporters: readonly string[] | null): Promise<Needs> {
  const [groups, open] = await Promise.all([groupsOf(deps, exporters), findings(deps, { exporters, limit: 2 * MOST })]);
  // What a filing asks by itself is not said twice.
  const listed = new Set(groups.flatMap(({ filings }) => filings.map(({ filingId }) => filingId)));
  const own = (kind: string) => kind === 'outcome_unknown' || kind === 'filing_overdue';
  const found = open.filter(({ kind, filingId }) => !(own(kind) && listed.has(filingId))).slice(0, MOST);
  return { groups, found };
}

async function groupsOf({ pool, mode }: LedgerDependencies, exporters: readonly string[] | null): Promise<Group[]> {
  const page = { mode, exporters, attention: true, oldestFirst: true, limit: MOST };
  const [asked, all] = await Promise.all([
    listFilings(pool, { ...page, states: ['outcome_unknown', 'awaiting_approval'] }),
    listFilings(pool, page),
  ]);
  const filings = new Map([...asked, ...all].map((filing) => [filing.filingId, filing]));
  const groups = GROUPS.map(([title]): Group => ({ title, filings: [] }));
  for (const filing of filings.values()) groups[GROUPS.findIndex(([, of]) => of(filing))]?.filings.push(filing);
  return groups.filter((group) => group.filings.length > 0);
}
