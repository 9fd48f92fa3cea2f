import type { FaultInput } from '../src/sandbox/faults/fault-schema';
import { BAD_NETWORK, LOST_ANSWERS, SLOW_SUBMISSIONS } from './faults';
import type { TroubleKind } from './troubles';

export interface Scenario {
  name: string;
  faults: readonly FaultInput[];
  troubles: readonly TroubleKind[];
  /** Filings, where the number of the command line does not apply. */
  filings?: number;
  /** Variables of the workers that differ from every other scenario's. */
  variables?: Record<string, string>;
  /** How long new troubles are made; default: 40 % of the time for the filings. */
  troubleMs?: number;
  /** Nothing in it makes an outcome unknown: a filing that asks a person is a failure of the run. */
  asksNobody?: boolean;
}

const FEW = 60;

/** What runs when nothing is asked for in particular. */
export const SCENARIOS: readonly Scenario[] = [
  { name: 'lost answers', faults: LOST_ANSWERS, troubles: [] },
  { name: 'workers killed', faults: [...LOST_ANSWERS, ...SLOW_SUBMISSIONS], troubles: ['kill'] },
  {
    name: 'everything else',
    faults: [...LOST_ANSWERS, ...BAD_NETWORK, ...SLOW_SUBMISSIONS],
    troubles: ['kill', 'database', 'network'],
  },
  { name: 'read-only', faults: [], troubles: ['read-only'], filings: FEW, asksNobody: true },
  { name: 'silent', faults: [], troubles: ['silent'], filings: FEW },
  { name: 'failover', faults: [], troubles: ['failover'], asksNobody: true },
  { name: 'operators', faults: LOST_ANSWERS, troubles: ['operators'], filings: FEW },
  { name: 'ledger restored', faults: LOST_ANSWERS, troubles: ['restore'], filings: FEW },
  {
    name: 'restored together',
    faults: LOST_ANSWERS,
    troubles: ['restore-both'],
    filings: FEW,
    // New filings wait for this and the settle window after the restore.
    variables: { EBRC_OVERDUE_AFTER: '30s' },
  },
  { name: 'Temporal restarted', faults: LOST_ANSWERS, troubles: ['temporal'], filings: FEW },
  { name: 'bad network', faults: [], troubles: ['links'], filings: FEW },
  { name: 'full disk', faults: LOST_ANSWERS, troubles: ['full-disk'], filings: FEW },
  { name: 'rolling upgrade', faults: [], troubles: ['versions'], filings: FEW, asksNobody: true },
  { name: 'clocks apart', faults: [...LOST_ANSWERS, ...SLOW_SUBMISSIONS], troubles: ['clocks', 'kill'], filings: FEW },
  { name: 'odd texts', faults: [], troubles: ['odd-texts'], filings: FEW, asksNobody: true },
];

/** A minute or two of everything at once, for continuous integration; it runs when it is named. */
export const SMALL: Scenario = {
  name: 'small',
  faults: LOST_ANSWERS,
  troubles: ['kill', 'database', 'temporal', 'links'],
  filings: 20,
  troubleMs: 30_000,
};
