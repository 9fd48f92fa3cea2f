import { TRANSPORT_FAULTS, faultSchema, type EffectKind, type Fault } from './fault-schema';
import type { FaultInput, FaultedOperation } from './fault-schema';

export interface CallFacts {
  irmNumbers?: readonly string[];
  documents?: readonly string[];
  eBRCNumber?: string;
  platformCustomerId?: string;
  requestId?: string;
}

export interface ArmedFault {
  id: string;
  fault: Fault;
  /** Matching calls seen, and to how many of them it was applied. */
  seen: number;
  applied: number;
}

const FILING: readonly FaultedOperation[] = ['push-irm', 'bulk-upload'];
const PORTAL: readonly FaultedOperation[] = [
  ...FILING,
  'status',
  'fetch-details',
  'download-pdf',
  'refresh-irms',
  'check-dgft-credentials',
];

/** The operations that a kind applies to, also with `*` as the operation; all when not listed. */
const CONCERNS: Partial<Record<Fault['kind'], readonly FaultedOperation[]>> = {
  'truncated-pdf': ['download-pdf', 'bulk-template'],
  'odd-pdf': ['download-pdf'],
  'not-a-pdf': ['download-pdf'],
  'stale-status': ['status'],
  'unknown-status-word': ['status'],
  'processed-with-incomplete-list': ['status'],
  'errored-empty': ['status'],
  'failed-ack': FILING,
  'stale-balance': ['refresh-irms'],
  'empty-details': ['fetch-details'],
  'pdf-not-found': ['download-pdf'],
  'accepted-but-invisible': FILING,
  'irm-amended': FILING,
  'irm-cancelled': FILING,
  'password-expired': PORTAL,
  'account-locked': PORTAL,
  'activation-pending': PORTAL,
  'portal-down': PORTAL,
};

const BEFORE_ACCEPT: readonly Fault['kind'][] = ['drop-before-accept', 'reset-before-accept', 'close-keep-alive'];

interface Armed extends ArmedFault {
  random: () => number;
}

/** Armed faults, in the order in which they were added. */
export class FaultRegistry {
  private armed: Armed[] = [];
  private nextId = 1;

  constructor(initial: readonly FaultInput[]) {
    for (const fault of initial) this.add(fault);
  }

  /** @throws ZodError when the fault is not one of `faultSchema`. */
  add(input: FaultInput): ArmedFault {
    const fault = faultSchema.parse(input);
    const entry = { id: `fault-${this.nextId++}`, fault, seen: 0, applied: 0, random: seededRandom(fault.rngSeed) };
    this.armed.push(entry);
    return view(entry);
  }

  remove(id: string): boolean {
    const before = this.armed.length;
    this.armed = this.armed.filter((entry) => entry.id !== id);
    return this.armed.length < before;
  }

  clear(): void {
    this.armed = [];
  }

  list(): readonly ArmedFault[] {
    return this.armed.map(view);
  }

  /**
   * The transport fault of a call: of several that are due the first, and the others stay due.
   * @param facts left out while only the headers of the call have come
   */
  transport(operation: FaultedOperation, reused: boolean, facts?: CallFacts): Fault | undefined {
    const suits = (fault: Fault) =>
      isTransport(fault) && isEarly(fault) === (facts === undefined) && (fault.kind !== 'close-keep-alive' || reused);
    return this.due(operation, facts ?? {}, suits)
      .slice(0, 1)
      .map(applied)[0];
  }

  /** The effect faults of a call that takes effect. */
  effects(operation: FaultedOperation, facts: CallFacts): Fault[] {
    return this.due(operation, facts, (fault) => !isTransport(fault)).map(applied);
  }

  /** Every fault that a call matches counts it, so that two on one operation do not disturb each other's counts. */
  private due(operation: FaultedOperation, facts: CallFacts, suits: (fault: Fault) => boolean): Armed[] {
    return this.armed
      .filter(({ fault }) => concerns(fault, operation) && suits(fault) && matches(fault, facts))
      .filter(isDue);
  }
}

/** Counts a matching call. @returns whether the fault is due at it */
function isDue(entry: Armed): boolean {
  const { fault } = entry;
  entry.seen += 1;
  if (entry.seen <= fault.skip) return false;
  const repeats = fault.every !== undefined || fault.probability !== undefined;
  const times = fault.times ?? (repeats ? Number.POSITIVE_INFINITY : 1);
  if (entry.applied >= times) return false;
  if (fault.every !== undefined && (entry.seen - fault.skip) % fault.every !== 0) return false;
  return fault.probability === undefined || entry.random() < fault.probability;
}

function applied(entry: Armed): Fault {
  entry.applied += 1;
  return entry.fault;
}

/** Whether it applies before the body is read; a `match` needs the body. */
function isEarly(fault: Fault): boolean {
  return BEFORE_ACCEPT.includes(fault.kind) && Object.keys(fault.match).length === 0;
}

function isTransport({ kind }: Fault): boolean {
  return (TRANSPORT_FAULTS as readonly string[]).includes(kind);
}

function concerns(fault: Fault, operation: FaultedOperation): boolean {
  if (fault.operation !== '*' && fault.operation !== operation) return false;
  return CONCERNS[fault.kind]?.includes(operation) ?? true;
}

function matches({ match }: Fault, facts: CallFacts): boolean {
  return (
    (match.irmNumber === undefined || (facts.irmNumbers ?? []).includes(match.irmNumber)) &&
    (match.document === undefined || (facts.documents ?? []).includes(match.document)) &&
    (match.eBRCNumber === undefined || facts.eBRCNumber === match.eBRCNumber) &&
    (match.platformCustomerId === undefined || facts.platformCustomerId === match.platformCustomerId) &&
    (match.requestId === undefined || facts.requestId === match.requestId)
  );
}

function view({ id, fault, seen, applied }: ArmedFault): ArmedFault {
  return { id, fault, seen, applied };
}

/** The first effect fault of a kind among those that apply to a call. */
export function effectOf(effects: readonly Fault[], kind: EffectKind): Fault | undefined {
  return effects.find((fault) => fault.kind === kind);
}

/** mulberry32, numbers in [0, 1): the same seed gives the same run of faults. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
