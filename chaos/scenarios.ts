import type { FaultInput } from '../sandbox/faults/fault-schema';
import { BAD_NETWORK, LOST_ANSWERS, SLOW_SUBMISSIONS } from './faults';
import type { DisruptionKind } from './disruptions/disruptions';

export interface Scenario {
  name: string;
  faults: readonly FaultInput[];
  disruptions: readonly DisruptionKind[];
  /** Filings, where the number of the command line does not apply. */
  filings?: number;
  /** Variables of the workers that differ from every other scenario's. */
  variables?: Record<string, string>;
  /** How long new disruptions are made; default: 40 % of the time for the filings. */
  disruptForMs?: number;
  /** Nothing in it can leave an outcome unknown: a question to a person fails the run. */
  expectsNoQuestions?: boolean;
  /** What is done may free rows that were not sent, so that a filing ends without a certificate or a question. */
  mayEndOtherwise?: boolean;
}

const FEW = 60;

/** What a run without options executes. */
export const SCENARIOS: readonly Scenario[] = [
  { name: 'lost answers', faults: LOST_ANSWERS, disruptions: [] },
  { name: 'workers killed', faults: [...LOST_ANSWERS, ...SLOW_SUBMISSIONS], disruptions: ['kill'] },
  {
    name: 'everything else',
    faults: [...LOST_ANSWERS, ...BAD_NETWORK, ...SLOW_SUBMISSIONS],
    disruptions: ['kill', 'database', 'network'],
  },
  { name: 'read-only', faults: [], disruptions: ['read-only'], filings: FEW, expectsNoQuestions: true },
  { name: 'silent', faults: [], disruptions: ['silent'], filings: FEW },
  { name: 'failover', faults: [], disruptions: ['failover'], expectsNoQuestions: true },
  { name: 'operators', faults: LOST_ANSWERS, disruptions: ['operators'], filings: FEW, mayEndOtherwise: true },
  { name: 'ledger restored', faults: LOST_ANSWERS, disruptions: ['restore'], filings: FEW, mayEndOtherwise: true },
  { name: 'Temporal restarted', faults: LOST_ANSWERS, disruptions: ['temporal'], filings: FEW },
  { name: 'Temporal lost', faults: LOST_ANSWERS, disruptions: ['temporal-lost'], filings: FEW },
  { name: 'bad network', faults: [], disruptions: ['links'], filings: FEW },
  { name: 'full disk', faults: LOST_ANSWERS, disruptions: ['full-disk'], filings: FEW },
  { name: 'rolling upgrade', faults: [], disruptions: ['versions'], filings: FEW, expectsNoQuestions: true },
  {
    name: 'bad deployment',
    faults: LOST_ANSWERS,
    disruptions: ['bad-deployment'],
    filings: FEW,
    variables: { EBRC_OVERDUE_AFTER: '2m' },
  },
  {
    name: 'clocks apart',
    faults: [...LOST_ANSWERS, ...SLOW_SUBMISSIONS],
    disruptions: ['clocks', 'kill'],
    filings: FEW,
  },
  { name: 'http-api', faults: LOST_ANSWERS, disruptions: ['http-api'], filings: 200 },
  {
    name: 'webhooks',
    faults: [],
    disruptions: ['webhooks', 'http-api', 'kill'],
    filings: FEW,
    variables: { EBRC_WEBHOOK_HOSTS: '127.0.0.1' },
  },
  { name: 'odd texts', faults: [], disruptions: ['odd-texts'], filings: FEW, expectsNoQuestions: true },
];

/** A minute or two of several disruptions at once, for continuous integration; runs only when named. */
export const SMALL: Scenario = {
  name: 'small',
  faults: LOST_ANSWERS,
  disruptions: ['kill', 'database', 'temporal', 'links'],
  filings: 20,
  disruptForMs: 30_000,
};
