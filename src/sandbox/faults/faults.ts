import { EFFECT_FAULTS, TRANSPORT_FAULTS, faultSchema } from './fault-schema';
import type { Fault, FaultInput, FaultedOperation } from './fault-schema';

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

/** Armed faults; of several that match, the first one added applies. */
export class FaultRegistry {
  private armed: (ArmedFault & { random: () => number })[] = [];
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

  /** The transport fault of a call whose headers have come and whose body has not been read. */
  atHeaders(operation: FaultedOperation, reused: boolean): Fault | null {
    return this.due(operation, (fault) => isEarly(fault) && fitsConnection(fault, reused))[0] ?? null;
  }

  /** The transport fault of a call that has been read. */
  atBody(operation: FaultedOperation, facts: CallFacts, reused: boolean): Fault | null {
    const suits = (fault: Fault) =>
      isTransport(fault) && !isEarly(fault) && fitsConnection(fault, reused) && matches(fault, facts);
    return this.due(operation, suits)[0] ?? null;
  }

  /** The effect faults of a call that has been read. */
  effects(operation: FaultedOperation, facts: CallFacts): Fault[] {
    return this.due(operation, (fault) => isEffect(fault) && matches(fault, facts));
  }

  /** Every fault that matches counts the call, so that two on one operation do not disturb each other's counts. */
  private due(operation: FaultedOperation, suits: (fault: Fault) => boolean): Fault[] {
    return this.armed
      .filter(({ fault }) => concerns(fault, operation) && suits(fault))
      .filter(isDue)
      .map(({ fault }) => fault);
  }
}

/** Counts a matching call. @returns whether the fault applies to it */
function isDue(entry: ArmedFault & { random: () => number }): boolean {
  const { fault } = entry;
  entry.seen += 1;
  if (entry.seen <= fault.skip) return false;
  const repeats = fault.every !== undefined || fault.probability !== undefined;
  const times = fault.times ?? (repeats ? Number.POSITIVE_INFINITY : 1);
  if (entry.applied >= times) return false;
  if (fault.every !== undefined && (entry.seen - fault.skip) % fault.every !== 0) return false;
  if (fault.probability !== undefined && entry.random() >= fault.probability) return false;
  entry.applied += 1;
  return true;
}

/** Whether it applies before the body is read; a `match` needs the body. */
function isEarly(fault: Fault): boolean {
  return BEFORE_ACCEPT.includes(fault.kind) && Object.keys(fault.match).length === 0;
}

function isTransport(fault: Fault): boolean {
  return TRANSPORT_FAULTS.some((kind) => kind === fault.kind);
}

function isEffect(fault: Fault): boolean {
  return EFFECT_FAULTS.some((kind) => kind === fault.kind);
}

function concerns(fault: Fault, operation: FaultedOperation): boolean {
  if (fault.operation !== '*' && fault.operation !== operation) return false;
  return CONCERNS[fault.kind]?.includes(operation) ?? true;
}

function fitsConnection(fault: Fault, reused: boolean): boolean {
  return fault.kind !== 'close-keep-alive' || reused;
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
export function effectOf(effects: readonly Fault[], kind: (typeof EFFECT_FAULTS)[number]): Fault | undefined {
  return effects.find((fault) => fault.kind === kind);
}

/** mulberry32, numbers in [0, 1): the same seed gives the same run of faults and delays. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
