/** Filings that need somebody, by what is asked. */
import type { FilingSummary } from '../../domain/filing/view';
import { listFilings } from '../../ledger/views/lists';
import type { LedgerDependencies } from '../../starter/dependencies';

/** Most entries of each group; the others come up as these are done. */
export const MOST = 60;

export interface Group {
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

/** What needs somebody, the gravest first; in each group the oldest. */
export async function groupsOf(
  { pool, mode }: LedgerDependencies,
  exporters: readonly string[] | null,
): Promise<Group[]> {
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
