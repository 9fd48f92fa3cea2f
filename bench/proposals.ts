/**
 * How long proposing takes: 500 IRMs and 1,000 documents of one currency, where every pair is possible. Beside it the
 * best pair first, which is what the assignment has to beat in value mapped. Run through `npm run bench`.
 */
import { propose, type OpenDocument, type OpenIrm } from '../src/assistant/proposals/assignment';
import { confidenceOf, prepareDocument, prepareIrm } from '../src/assistant/proposals/score';

const ROUNDS = 5;
const MAX_MS = 1_000;
const SIZES = [
  [125, 250],
  [250, 500],
  [500, 1_000],
] as const;

/** The same numbers in each run. */
function random(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

function world(irmCount: number, documentCount: number): { irms: OpenIrm[]; documents: OpenDocument[] } {
  const next = random(7);
  const buyers = Array.from({ length: 40 }, (_, index) => `Buyer ${index % 7} Textiles ${index} Inc`);
  const day = () => `${String(1 + Math.floor(next() * 28)).padStart(2, '0')}0${1 + Math.floor(next() * 9)}2026`;
  const amount = () => String(Math.floor(1_000 + next() * 90_000));
  const pick = () => buyers[Math.floor(next() * buyers.length)] ?? null;
  const irms = Array.from({ length: irmCount }, (_, index) => {
    const free = amount();
    const irmNumber = `IRM${String(index).padStart(6, '0')}`;
    const common = { irmAdCode: '0510060', irmIfscCode: 'HDFC0000060', currency: 'USD', purpose: 'P0102' };
    return { ...common, irmNumber, irmDt: day(), amount: free, free, remitter: pick(), remarks: '' };
  });
  const documents = Array.from({ length: documentCount }, (_, index) => {
    const value = amount();
    return {
      number: String(1_000_000 + index),
      date: day(),
      currency: 'USD',
      value,
      open: value,
      uploadType: 101,
      buyer: pick(),
      billNo: null,
    };
  });
  return { irms, documents };
}

/** Best pair first, each taking all that it can. */
function greedy(irms: readonly OpenIrm[], documents: readonly OpenDocument[]): number {
  const left = irms.map(prepareIrm);
  const open = documents.map(prepareDocument);
  const pairs = left
    .flatMap((irm) => open.map((document) => ({ irm, document, confidence: confidenceOf(irm, document) })))
    .filter(({ confidence }) => confidence >= 0.45)
    .sort((a, b) => b.confidence - a.confidence);
  let worth = 0;
  for (const { irm, document, confidence } of pairs) {
    const amount = Math.min(irm.units, document.units);
    irm.units -= amount;
    document.units -= amount;
    worth += (amount / 100) * confidence;
  }
  return worth;
}

function median(times: number[]): number {
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN;
}

for (const [irmCount, documentCount] of SIZES) {
  const { irms, documents } = world(irmCount, documentCount);
  const times: number[] = [];
  let made = propose([], []);
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    made = propose(irms, documents);
    times.push(performance.now() - start);
  }
  const worth = made.proposals.reduce((sum, { amount, confidence }) => sum + Number(amount) * confidence, 0);
  const beside = greedy(irms, documents);
  const took = median(times);
  console.log(
    `${irmCount} IRMs, ${documentCount} documents: ${took.toFixed(0)} ms, ${made.proposals.length} proposals, ` +
      `${made.cut} pairs left out; amount × confidence ${((100 * worth) / beside).toFixed(1)} % of the best pair first`,
  );
  if (irmCount === 500 && took > MAX_MS) process.exitCode = 1;
}
console.log(`At most ${MAX_MS} ms for 500 IRMs and 1,000 documents.`);
