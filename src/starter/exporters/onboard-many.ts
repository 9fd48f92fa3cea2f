import { setTimeout as sleep } from 'node:timers/promises';
import type { ExporterProgress, OnboardState } from '../../domain/contracts';
import type { EbrcClient } from '../client';
import type { ListedExporter } from './list-file';
import { firstLine, RefusedError, type Problem } from '../errors';

/** How many starts, or looks at progress, are under way at once. */
const AT_ONCE = 8;
const LOOK_EVERY_MS = 3_000;

/** What became of one row; never holds its password. */
export interface RowOutcome {
  row: number;
  email: string;
  exporterId: string | null;
  state: OnboardState | 'failed';
  activatesAt: string | null;
  irmCount: number | null;
  message: string | null;
}

export interface ManyOptions {
  by: string;
  /** Wait until every exporter is ready, refused, or needs other credentials. */
  wait?: boolean;
  onProgress?: (outcomes: readonly RowOutcome[]) => void;
}

/**
 * Onboards a list of exporters. A row that is onboarded already is left as it is, one that is under way is followed, and
 * one row's failure is its own: the same list can be given again at any time.
 */
export async function onboardMany(
  client: EbrcClient,
  rows: readonly ListedExporter[],
  { by, wait = false, onProgress }: ManyOptions,
): Promise<RowOutcome[]> {
  const known = new Map((await client.exporters()).map((exporter) => [exporter.email.toLowerCase(), exporter]));
  const outcomes = rows.map(({ row, email }): RowOutcome => ({ row, email, ...UNHEARD }));
  const report = () => onProgress?.(outcomes);

  await eachOf([...rows.entries()], async ([index, { row, email, username, password, ...customer }]) => {
    const before = known.get(email.toLowerCase());
    if (before?.readiness === 'ready') {
      outcomes[index] = {
        ...identity(row, email),
        exporterId: before.exporterId,
        state: 'ready',
        message: LEFT_AS_IT_IS,
      };
    } else {
      const credentials = username !== undefined && password !== undefined ? { username, password } : undefined;
      outcomes[index] = await attempt(row, email, () => client.onboard({ ...customer, email, credentials, by }));
    }
    report();
  });

  while (wait && outcomes.some(isUnderWay)) {
    await sleep(LOOK_EVERY_MS);
    const open = outcomes.flatMap((outcome, index) => (isUnderWay(outcome) ? [{ ...outcome, index }] : []));
    await eachOf(open, async ({ row, email, index }) => {
      outcomes[index] = await attempt(row, email, async () => (await client.onboarding(email)) ?? null);
    });
    report();
  }
  return outcomes;
}

const UNHEARD = {
  exporterId: null,
  state: 'started' as const,
  activatesAt: null,
  irmCount: null,
  message: null,
};

const LEFT_AS_IT_IS = 'Onboarded already, left as it is; `ebrc credentials` changes its password.';

function identity(row: number, email: string): RowOutcome {
  return { row, email, ...UNHEARD };
}

function isUnderWay({ state }: RowOutcome): boolean {
  return state === 'started' || state === 'activation_pending';
}

async function attempt(row: number, email: string, work: () => Promise<ExporterProgress | null>): Promise<RowOutcome> {
  try {
    const progress = await work();
    if (!progress) return identity(row, email);
    const { exporterId, state, activatesAt, irmCount, message, errors } = progress;
    const why = message ?? (errors.map((error) => error.message).join('; ') || null);
    return { row, email, exporterId, state, activatesAt, irmCount, message: why };
  } catch (error) {
    const refused = error instanceof RefusedError;
    const message = refused ? sentence(error.errors) : firstLine(error);
    return { ...identity(row, email), state: refused ? 'refused' : 'failed', message };
  }
}

const sentence = (problems: readonly Problem[]) => problems.map(({ message }) => message).join('; ');

/** Works through a list with a few at once. */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
}
