/** A plan of the adversary: filings of one company, and everything that is done to them. Drawn from a seed, or JSON. */
import { z } from 'zod';
import { faultSchema, type FaultInput } from '../../sandbox/faults/fault-schema';
import { between, pick, seededRandom, type Random } from '../random';
import { hidesCertificates, LIES } from './lies';

/** Milliseconds since the plan began. */
const at = z.number().int().nonnegative();
/** A filing of the plan, from 0: its newest one, where it was corrected. */
const filing = z.number().int().nonnegative();
const persons = z.union([z.literal(1), z.literal(2)]);

const step = z.discriminatedUnion('do', [
  /** A fault of the sandbox for this company (docs/sandbox.md). */
  z.strictObject({
    at,
    do: z.literal('fault'),
    fault: z.custom<FaultInput>((value) => faultSchema.safeParse(value).success),
  }),
  z.strictObject({ at, do: z.literal('lie'), lie: z.enum(LIES), times: z.number().int().positive() }),
  z.strictObject({ at, do: z.literal('reset'), filing, task: z.number().int().nonnegative() }),
  z.strictObject({ at, do: z.enum(['terminate', 'cancel', 'resume', 'abandon', 'approve']), filing }),
  /** The same start: by the command, or as a run under another id. */
  z.strictObject({ at, do: z.literal('repeat'), filing, run: z.enum(['same', 'other']) }),
  /** The same rows under another reference, which is refused unless two persons let it in beside the first. */
  z.strictObject({ at, do: z.literal('again'), filing, permitted: z.boolean() }),
  z.strictObject({ at, do: z.literal('correct'), filing, change: z.enum(['nothing', 'amount', 'bill', 'document']) }),
  z.strictObject({ at, do: z.literal('filed'), filing, request: z.enum(['own', 'other', 'made up']) }),
  z.strictObject({ at, do: z.literal('certificate'), filing, persons }),
  z.strictObject({ at, do: z.literal('not filed'), filing, persons, ends: z.boolean() }),
  /** The exporter files a row at the portal. */
  z.strictObject({ at, do: z.literal('by hand'), filing, amount: z.enum(['same', 'other']) }),
  /** The exporter cancels the newest certificate at the portal. */
  z.strictObject({ at, do: z.literal('cancel at portal') }),
  z.strictObject({ at, do: z.literal('kill'), signal: z.enum(['SIGKILL', 'SIGTERM']) }),
  z.strictObject({ at, do: z.literal('clock'), aheadMs: z.number().int() }),
  z.strictObject({ at, do: z.literal('crash database') }),
  z.strictObject({ at, do: z.literal('restore ledger'), ageMs: z.number().int().positive() }),
  z.strictObject({ at, do: z.literal('store away'), forMs: z.number().int().positive() }),
]);

export const planSchema = z.strictObject({
  seed: z.number().int().optional(),
  filings: z
    .array(
      z.strictObject({
        at,
        channel: z.enum(['push', 'bulk']),
        approval: z.boolean(),
        rows: z.array(z.strictObject({ irm: z.number().int(), document: z.number().int(), amount: z.number() })).min(1),
      }),
    )
    .min(1),
  steps: z.array(step),
});

export type Plan = z.output<typeof planSchema>;
export type Step = Plan['steps'][number];
type Draw = (random: Random, filing: number) => Step;

/** Whether a step strikes every plan that runs at the same time. */
export const isForAll = (each: Step): boolean =>
  ['kill', 'clock', 'crash database', 'restore ledger', 'store away'].includes(each.do);

/** Steps come within so many milliseconds of the plan's beginning. */
const STEPS_WITHIN_MS = 6_000;
/** One plan in this many has steps that strike every plan that runs. */
const FOR_ALL_EVERY = 5;

/** How a submission can go wrong so that its outcome may be unknown. */
const SUBMISSION_FAULTS: readonly Omit<FaultInput, 'operation'>[] = [
  ...(['drop-before-accept', 'accept-then-drop', 'accept-then-drop', 'accept-then-reset'] as const).map((kind) => ({
    kind,
  })),
  ...[false, true].map((process) => ({ kind: 'hang' as const, process })),
  ...[false, true].map((process) => ({ kind: '502-bare' as const, process })),
  ...[1_300, 2_500, 6_000].map((delayMs) => ({ kind: 'slow' as const, wait: 'before' as const, delayMs })),
  ...(['truncated-json', 'empty-body', '502-with-code', 'status-429', 'irm-amended', 'odd-empties'] as const).map(
    (kind) => ({ kind }),
  ),
  { kind: 'failed-ack', statusKnown: true, outcome: 'Processed' },
  { kind: 'failed-ack', statusKnown: false },
  { kind: 'accepted-but-invisible', delayMs: 3_000 },
];

const READING_FAULTS: readonly FaultInput[] = [
  { operation: 'fetch-details', kind: 'empty-details', times: 3 },
  { operation: 'fetch-details', kind: '502-bare', times: 2 },
  { operation: 'refresh-irms', kind: 'stale-balance', times: 6 },
  { operation: 'refresh-irms', kind: '502-bare', times: 2 },
  { operation: 'status', kind: 'stale-status', times: 5 },
  { operation: 'status', kind: 'processed-with-incomplete-list', times: 3 },
  { operation: 'status', kind: 'errored-empty', times: 3 },
  { operation: 'status', kind: 'unknown-status-word', times: 3 },
  { operation: 'download-pdf', kind: 'pdf-not-found', times: 2 },
];

const FAULTS: readonly Draw[] = [
  (random) => ({
    at: 0,
    do: 'fault',
    fault: {
      operation: pick(random, ['push-irm', '*'] as const),
      ...pick(random, SUBMISSION_FAULTS),
      skip: pick(random, [0, 0, 1]),
    },
  }),
  (random) => ({ at: 0, do: 'fault', fault: { ...pick(random, READING_FAULTS), skip: between(random, 0, 3) } }),
  (random) => ({ at: pick(random, [0, 0, 2_500]), do: 'lie', lie: pick(random, LIES), times: between(random, 1, 8) }),
];

/** An answer that is lost after the submission took effect, and what keeps its certificates from being recognised. */
const LOST: Draw = () => ({ at: 0, do: 'fault', fault: { operation: 'push-irm', kind: 'accept-then-drop' } });
const UNRECOGNISED: readonly Draw[] = [
  () => ({ at: 0, do: 'fault', fault: { operation: 'push-irm', kind: 'irm-amended' } }),
  () => ({ at: 0, do: 'fault', fault: { operation: 'refresh-irms', kind: 'stale-balance', times: 6, skip: 1 } }),
  (random, of) => ({ at: 1_500, do: 'by hand', filing: of, amount: pick(random, ['same', 'other'] as const) }),
  (random) => ({ at: 0, do: 'lie', lie: pick(random, LIES.filter(hidesCertificates)), times: 30 }),
];

const whenever = (random: Random): number => between(random, 0, STEPS_WITHIN_MS);
/** Once an outcome may be asked about: what persons say before it is refused. */
const late = (random: Random): number => between(random, STEPS_WITHIN_MS / 2, STEPS_WITHIN_MS);

const ACTS: readonly Draw[] = [
  (random, of) => ({ at: whenever(random), do: 'reset', filing: of, task: between(random, 0, 30) }),
  (random, of) => ({ at: whenever(random), do: pick(random, ['terminate', 'cancel', 'resume'] as const), filing: of }),
  (random, of) => ({ at: whenever(random), do: pick(random, ['abandon', 'approve', 'approve'] as const), filing: of }),
  (random, of) => ({ at: whenever(random), do: 'repeat', filing: of, run: pick(random, ['same', 'other'] as const) }),
  (random, of) => ({ at: whenever(random), do: 'again', filing: of, permitted: pick(random, [true, false]) }),
  (random, of) => ({
    at: late(random),
    do: 'correct',
    filing: of,
    change: pick(random, ['nothing', 'amount', 'bill', 'document'] as const),
  }),
  (random, of) => ({
    at: late(random),
    do: 'filed',
    filing: of,
    request: pick(random, ['own', 'other', 'made up'] as const),
  }),
  (random, of) => ({ at: late(random), do: 'certificate', filing: of, persons: pick(random, [1, 2] as const) }),
  ...Array.from({ length: 3 }, (): Draw => (random, of) => ({
    ...{ at: late(random), do: 'not filed', filing: of },
    ...{ persons: pick(random, [1, 1, 2] as const), ends: pick(random, [false, false, true]) },
  })),
  (random, of) => ({
    at: whenever(random),
    do: 'by hand',
    filing: of,
    amount: pick(random, ['same', 'other'] as const),
  }),
  (random) => ({ at: late(random), do: 'cancel at portal' }),
];

const FOR_ALL: readonly Draw[] = [
  (random) => ({ at: whenever(random), do: 'kill', signal: pick(random, ['SIGKILL', 'SIGTERM'] as const) }),
  (random) => ({ at: whenever(random), do: 'clock', aheadMs: pick(random, [-3_600_000, -5_000, 4_000, 3_600_000]) }),
  (random) => ({ at: whenever(random), do: 'crash database' }),
  (random) => ({ at: between(random, 0, 2_500), do: 'restore ledger', ageMs: between(random, 300, 3_000) }),
  (random) => ({ at: whenever(random), do: 'store away', forMs: between(random, 500, 2_500) }),
];

/** The plan of a seed. */
export function planOf(seed: number): Plan {
  const random = seededRandom(seed, 'adversary');
  const count = pick(random, [1, 1, 2, 2, 3]);
  const filings = Array.from({ length: count }, () => ({
    at: between(random, 0, 1_500),
    channel: pick(random, ['push', 'push', 'push', 'bulk'] as const),
    approval: random() < 0.15,
    rows: Array.from({ length: pick(random, [1, 1, 2, 3]) }, () => rowOf(random)),
  }));
  const some = (draws: readonly Draw[], from: number, to: number) =>
    Array.from({ length: between(random, from, to) }, () => pick(random, draws)(random, between(random, 0, count - 1)));
  const steps = [
    ...(random() < 0.4 ? [...some([LOST], 1, 1), ...some(UNRECOGNISED, 1, 1)] : some(FAULTS.slice(0, 1), 0, count)),
    ...some(FAULTS, 1, 3),
    ...some(ACTS, 1, 6),
    ...(seed % FOR_ALL_EVERY === 0 ? some(FOR_ALL, 1, 2) : []),
  ].sort((one, other) => one.at - other.at);
  return { seed, filings: filings.map((each) => ({ ...each, rows: withoutRepeats(each.rows) })), steps };
}

/** Few documents and amounts, so that filings meet: the same document from two remittances, equal parts of it. */
function rowOf(random: Random): Plan['filings'][number]['rows'][number] {
  return {
    irm: between(random, 0, 1),
    document: between(random, 1, 4),
    amount: pick(random, [100, 100, 250.5, 99.99]),
  };
}

/** A mapping stands once in a file. */
function withoutRepeats<T extends { irm: number; document: number }>(rows: readonly T[]): T[] {
  return rows.filter(
    (row, nth) => rows.findIndex((each) => each.irm === row.irm && each.document === row.document) === nth,
  );
}
