import { BANK_CHARGES } from '../../domain/money';
import { groupBy } from '../../domain/values';
import { bestFlow } from './flow';
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
