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
} from './score';

/** One IRM mapped to one document. Either may be mapped to several of the other. */
export interface Proposal {
  /** 0 to 1. */
  confidence: number;
  reasons: string[];
  irm: OpenIrm;
  document: OpenDocument;
  /** Exact decimal text, in the currency that both have. */
  amount: string;
  /** Other IRMs that would fit the document almost as well, the best first. */
  alternatives: OpenIrm[];
}

/** Pairs with less confidence are ignored. */
const MIN_CONFIDENCE = 0.45;
/** Number of pairs, those with the highest confidence, that are kept for each IRM and for each document. */
const BEST_PAIRS = 12;
const MAX_ALTERNATIVES = 5;
/** How much lower an alternative's confidence may be. */
const ALTERNATIVE_MARGIN = 0.15;

/**
 * Assigns open balances to open documents so that the whole assignment is the most likely one. An amount given to one
 * pair is not available to another, so this is a transportation problem, which taking the best pair first would not
 * solve. Pairs have one currency. Nothing is filed.
 */
export function propose(
  irms: readonly OpenIrm[],
  documents: readonly OpenDocument[],
): {
  proposals: Proposal[];
  /** Number of pairs that were ignored because both sides have better ones. */
  cut: number;
} {
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

function proposeIn(irms: readonly OpenIrm[], documents: readonly OpenDocument[]) {
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
    // Bank charges leave a small amount open, which does not justify a row from another IRM.
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

/** Inserts a pair into the sorted list and keeps the {@link BEST} best; of equal ones the first stays in front. */
function keepBest(best: Pair[], pair: Pair): void {
  const last = best[best.length - 1];
  if (best.length === BEST_PAIRS && last && last.confidence >= pair.confidence) return;
  let at = best.length;
  while (at > 0 && (best[at - 1]?.confidence ?? 0) < pair.confidence) at -= 1;
  best.splice(at, 0, pair);
  if (best.length > BEST_PAIRS) best.pop();
}

function decimalOf(units: number): string {
  const part = units % 100;
  return part === 0
    ? String(units / 100)
    : `${Math.floor(units / 100)}.${String(part).padStart(2, '0').replace(/0$/, '')}`;
}

/**
 * Distributes `supply` over `demand` along `links` so that the sum of amount × worth is maximal: the transportation
 * problem, solved by successive cheapest paths. Amounts are whole numbers (minor units).
 * @param links possible flows from a supplier to a consumer; each unit is worth `worth`, a positive whole number
 */
export function bestFlow(
  supply: readonly number[],
  demand: readonly number[],
  links: readonly { from: number; to: number; worth: number }[],
): { from: number; to: number; amount: number }[] {
  const network = new Network(supply.length + demand.length + 2);
  const [source, sink] = [0, supply.length + demand.length + 1];
  const [supplier, consumer] = [(index: number) => 1 + index, (index: number) => 1 + supply.length + index];
  const carriers = links.map(({ from, to, worth }) => {
    const most = Math.min(supply[from] ?? 0, demand[to] ?? 0);
    return { from, to, edge: network.add(supplier(from), consumer(to), most, -Math.max(1, Math.round(worth))) };
  });
  supply.forEach((amount, from) => network.add(source, supplier(from), amount, 0));
  demand.forEach((amount, to) => network.add(consumer(to), sink, amount, 0));
  // A path adds worth only while its cost is negative.
  for (let path = network.cheapest(source, sink); path; path = network.cheapest(source, sink)) network.push(path);
  return carriers
    .map(({ from, to, edge }) => ({ from, to, amount: edge.back.room }))
    .filter(({ amount }) => amount > 0);
}

interface Edge {
  from: number;
  to: number;
  /** Remaining capacity; of a `back` edge, the amount that its edge carries. */
  room: number;
  cost: number;
  back: Edge;
}

class Network {
  private readonly leaving: Edge[][];

  constructor(private readonly nodes: number) {
    this.leaving = Array.from({ length: nodes }, () => []);
  }

  add(from: number, to: number, room: number, cost: number): Edge {
    const edge = { from, to, room, cost } as Edge;
    edge.back = { from: to, to: from, room: 0, cost: -cost, back: edge };
    this.leaving[from]?.push(edge);
    this.leaving[to]?.push(edge.back);
    return edge;
  }

  /** Finds the cheapest path (Bellman-Ford with a queue). @returns its edges; null if no path has a cost below 0 */
  cheapest(source: number, sink: number): Edge[] | null {
    const costs = new Float64Array(this.nodes).fill(Infinity);
    const arrival = new Map<number, Edge>();
    const queue = [source];
    const queued = new Uint8Array(this.nodes);
    costs[source] = 0;
    // Nodes that are reached at a lower cost are appended while the queue is read.
    for (const node of queue) {
      queued[node] = 0;
      for (const edge of this.leaving[node] ?? []) {
        const cost = (costs[node] ?? 0) + edge.cost;
        if (edge.room <= 0 || cost >= (costs[edge.to] ?? 0)) continue;
        costs[edge.to] = cost;
        arrival.set(edge.to, edge);
        if (queued[edge.to] === 0) queue.push(edge.to);
        queued[edge.to] = 1;
      }
    }
    if ((costs[sink] ?? 0) >= 0) return null;
    const path: Edge[] = [];
    for (let edge = arrival.get(sink); edge; edge = arrival.get(edge.from)) path.push(edge);
    return path;
  }

  /** Sends along a path as much as it can carry. */
  push(path: readonly Edge[]): void {
    const amount = Math.min(...path.map(({ room }) => room));
    for (const edge of path) {
      edge.room -= amount;
      edge.back.room += amount;
    }
  }
}
