import { BANK_CHARGES } from '../../domain/money';
import { groupBy } from '../../domain/values';
import {
  byDate,
  confidenceOf,
  explain,
  prepareDocument,
  prepareIrm,
  type OpenDocument,
  type OpenIrm,
  type Prepared,
  type Score,
} from './score';

export type { OpenDocument, OpenIrm } from './score';

/** One IRM mapped to one document; each may be mapped to several of the other. */
export interface Proposal extends Score {
  irm: OpenIrm;
  document: OpenDocument;
  /** Exact decimal text in the currency of both. */
  amount: string;
  /** Other IRMs that would fit the document almost as well, the best first. */
  alternatives: OpenIrm[];
}

export interface Proposals {
  proposals: Proposal[];
  /** Number of pairs that were ignored because both sides have better ones. */
  cut: number;
}

/** Pairs below this are ignored. */
const MIN_CONFIDENCE = 0.45;
/** Each side is compared with all entries of the other, and may be mapped to this many of them, the best. */
const BEST = 12;
const MAX_ALTERNATIVES = 5;
/** How much less likely than the proposal an alternative may be. */
const ALTERNATIVE_MARGIN = 0.15;

/**
 * Assigns open balances to open documents so that the whole assignment is the most likely one. An amount given to one
 * pair is not available to another, so this is a transportation problem; taking the best pair first would not solve it.
 * Only pairs of one currency are made. Nothing is filed.
 */
export function propose(irms: readonly OpenIrm[], documents: readonly OpenDocument[]): Proposals {
  const proposals: Proposal[] = [];
  let cut = 0;
  const byCurrency = groupBy(documents, ({ currency }) => currency);
  for (const [currency, group] of groupBy(irms, (irm) => irm.currency)) {
    const made = proposeIn(group, byCurrency.get(currency) ?? []);
    proposals.push(...made.proposals);
    cut += made.cut;
  }
  return {
    proposals: proposals.sort((a, b) => byDate(a.document, b.document) || (a.irm.irmNumber < b.irm.irmNumber ? -1 : 1)),
    cut,
  };
}

interface Pair {
  irm: number;
  document: number;
  confidence: number;
}

function proposeIn(irms: readonly OpenIrm[], documents: readonly OpenDocument[]): Proposals {
  const suppliers = irms.map(prepareIrm).filter(({ units }) => units > 0);
  const consumers = [...documents]
    .sort(byDate)
    .map(prepareDocument)
    .filter(({ units }) => units > 0);
  const { pairs, cut } = bestPairs(suppliers, consumers);
  const flows = bestFlow(
    suppliers.map(({ units }) => units),
    consumers.map(({ units }) => units),
    pairs.map(({ irm, document, confidence }) => ({ from: irm, to: document, worth: confidence * 200 })),
  );
  const perDocument = groupBy(pairs, ({ document }) => String(document));
  const flowsPerDocument = groupBy(flows, ({ to }) => String(to));
  const proposals = flows.flatMap(({ from, to, amount }): Proposal[] => {
    const [irm, document] = [suppliers[from], consumers[to]];
    if (!irm || !document) return [];
    // An amount that bank charges left open does not justify a row from another remittance.
    const others = (flowsPerDocument.get(String(to)) ?? []).length > 1;
    if (others && amount <= document.units * BANK_CHARGES) return [];
    const score = explain(irm, document);
    const alternatives = (perDocument.get(String(to)) ?? [])
      .filter((pair) => pair.irm !== from && pair.confidence >= score.confidence - ALTERNATIVE_MARGIN)
      .sort((a, b) => b.confidence - a.confidence)
      .slice(0, MAX_ALTERNATIVES)
      .flatMap((pair) => suppliers[pair.irm]?.entry ?? []);
    return [{ ...score, irm: irm.entry, document: document.entry, amount: decimalOf(amount), alternatives }];
  });
  return { proposals, cut };
}

function bestPairs(
  suppliers: readonly Prepared<OpenIrm>[],
  consumers: readonly Prepared<OpenDocument>[],
): { pairs: Pair[]; cut: number } {
  const perIrm: Pair[][] = suppliers.map(() => []);
  const perDocument: Pair[][] = consumers.map(() => []);
  let likely = 0;
  suppliers.forEach((supplier, irm) =>
    consumers.forEach((consumer, document) => {
      const confidence = confidenceOf(supplier, consumer);
      if (confidence < MIN_CONFIDENCE) return;
      likely += 1;
      const pair = { irm, document, confidence };
      keepBest(perIrm[irm] ?? [], pair);
      keepBest(perDocument[document] ?? [], pair);
    }),
  );
  const pairs = [...new Set([...perIrm.flat(), ...perDocument.flat()])];
  return { pairs, cut: likely - pairs.length };
}

/** Keeps the list sorted and at most {@link BEST} long; of equal entries the first stays in front. */
function keepBest(best: Pair[], pair: Pair): void {
  const last = best[best.length - 1];
  if (best.length === BEST && last && last.confidence >= pair.confidence) return;
  let at = best.length;
  while (at > 0 && (best[at - 1]?.confidence ?? 0) < pair.confidence) at -= 1;
  best.splice(at, 0, pair);
  if (best.length > BEST) best.pop();
}

function decimalOf(units: number): string {
  const part = units % 100;
  return part === 0
    ? String(units / 100)
    : `${Math.floor(units / 100)}.${String(part).padStart(2, '0').replace(/0$/, '')}`;
}

/** A possible flow from a supplier to a consumer, up to what both have; each unit is worth `worth`. */
export interface Link {
  from: number;
  to: number;
  /** A whole number, above 0. */
  worth: number;
}

/**
 * Distributes `supply` over `demand` along `links` so that the sum of amount × worth is as large as possible: the
 * transportation problem, solved by successive shortest paths with all paths of one length at a time (primal-dual).
 * Worths are small whole numbers, so there are at most as many rounds as the largest worth. Amounts are whole numbers
 * (minor units).
 */
export function bestFlow(
  supply: readonly number[],
  demand: readonly number[],
  links: readonly Link[],
): { from: number; to: number; amount: number }[] {
  const network = new Network(supply.length, demand.length);
  supply.forEach((amount, from) => network.add(0, network.supplier(from), amount, 0));
  const first = network.size;
  for (const { from, to, worth } of links)
    network.add(
      network.supplier(from),
      network.consumer(to),
      Math.min(supply[from] ?? 0, demand[to] ?? 0),
      -Math.max(1, Math.round(worth)),
    );
  demand.forEach((amount, to) => network.add(network.consumer(to), network.sink, amount, 0));
  network.run();
  return links
    .map(({ from, to }, index) => ({ from, to, amount: network.carried(first + 2 * index) }))
    .filter(({ amount }) => amount > 0);
}

/** Edges are stored in pairs: an even one and, after it, its reverse. */
class Network {
  readonly sink: number;
  private readonly heads: number[][];
  private readonly target: number[] = [];
  private readonly room: number[] = [];
  private readonly cost: number[] = [];
  private readonly potential: Float64Array;

  constructor(
    private readonly suppliers: number,
    consumers: number,
  ) {
    this.sink = suppliers + consumers + 1;
    this.heads = Array.from({ length: this.sink + 1 }, () => []);
    this.potential = new Float64Array(this.sink + 1);
  }

  get size(): number {
    return this.target.length;
  }

  supplier = (index: number): number => 1 + index;
  consumer = (index: number): number => 1 + this.suppliers + index;
  carried = (edge: number): number => this.room[edge + 1] ?? 0;

  add(from: number, to: number, room: number, cost: number): void {
    this.heads[from]?.push(this.size);
    this.target.push(to);
    this.room.push(room);
    this.cost.push(cost);
    this.heads[to]?.push(this.size);
    this.target.push(from);
    this.room.push(0);
    this.cost.push(-cost);
  }

  run(): void {
    this.startPotentials();
    // A path increases the total worth only while its cost is negative.
    while (this.shortestPaths() && this.at(this.sink) < this.at(0)) {
      for (let pushed = true; pushed;) {
        const seen = new Uint8Array(this.sink + 1);
        pushed = this.push(0, Infinity, seen) > 0;
      }
    }
  }

  private at(node: number): number {
    return this.potential[node] ?? 0;
  }

  /** The graph has three layers at first, so one pass over the edges in order finds all distances. */
  private startPotentials(): void {
    for (let node = 0; node <= this.sink; node += 1) {
      for (const edge of this.heads[node] ?? []) {
        const to = this.target[edge] ?? 0;
        if ((this.room[edge] ?? 0) > 0)
          this.potential[to] = Math.min(this.at(to), this.at(node) + (this.cost[edge] ?? 0));
      }
    }
  }

  /** Dijkstra over the reduced costs, with a bucket for each distance. False where the sink cannot be reached. */
  private shortestPaths(): boolean {
    const distance = new Float64Array(this.sink + 1).fill(Infinity);
    const buckets: number[][] = [[0]];
    distance[0] = 0;
    for (let far = 0; far < buckets.length; far += 1) {
      const bucket = buckets[far] ?? [];
      for (let node = bucket.pop(); node !== undefined; node = bucket.pop()) {
        if (distance[node] !== far) continue;
        for (const edge of this.heads[node] ?? []) {
          if ((this.room[edge] ?? 0) <= 0) continue;
          const to = this.target[edge] ?? 0;
          const next = far + (this.cost[edge] ?? 0) + this.at(node) - this.at(to);
          if (next >= (distance[to] ?? 0)) continue;
          distance[to] = next;
          while (buckets.length <= next) buckets.push([]);
          buckets[next]?.push(to);
        }
      }
    }
    const reach = distance[this.sink] ?? Infinity;
    if (reach === Infinity) return false;
    // Distances beyond the sink are not needed; cut off there, all reduced costs stay at 0 or above.
    for (let node = 0; node <= this.sink; node += 1)
      this.potential[node] = this.at(node) + Math.min(distance[node] ?? Infinity, reach);
    return true;
  }

  /** Pushes along edges of the shortest length alone. */
  private push(node: number, most: number, seen: Uint8Array): number {
    if (node === this.sink) return most;
    seen[node] = 1;
    let pushed = 0;
    for (const edge of this.heads[node] ?? []) {
      const to = this.target[edge] ?? 0;
      const room = this.room[edge] ?? 0;
      if (room <= 0 || seen[to] === 1 || (this.cost[edge] ?? 0) + this.at(node) - this.at(to) !== 0) continue;
      const went = this.push(to, Math.min(most - pushed, room), seen);
      if (went === 0) continue;
      this.room[edge] = room - went;
      this.room[edge ^ 1] = (this.room[edge ^ 1] ?? 0) + went;
      pushed += went;
      if (pushed === most) break;
    }
    // Flow may return from elsewhere in this round and use the remaining capacity behind it.
    if (pushed > 0 && node !== 0) seen[node] = 0;
    return pushed;
  }
}
