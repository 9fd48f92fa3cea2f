/** `ebrc approve`, `resolve` and `abandon`: the ledger decides, and the filing's run is woken. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { NamedCertificate } from '../../domain/filing/decision';
import { decide, WAITS_READING, type Decided } from '../../ledger/decisions/decide';
import type { Decision } from '../../ledger/decisions/asked';
import { standingsOf, type FilingRecord } from '../../ledger/filings/filing';
import { listFilings, type Mark } from '../../ledger/views/lists';
import { pokeOrStart } from '../../temporal/runs';
import type { EbrcClientDependencies } from '../dependencies';
import { firstLine, refusal } from '../errors';
import { filingOf, needNamed, viewOf } from '../lookup';
import { waitsForPerson, type FilingOutcome } from './outcome';
import { followFiling, type WaitOptions } from './start';

export interface DecideArgs {
  /** A claimed name; the principal's takes precedence. */
  by: string;
  note?: string;
  /** The names of the evidence that was looked at; default: what the ledger shows now. */
  shown?: readonly string[];
}

export interface ResolveArgs extends DecideArgs {
  as: 'filed' | 'not-filed';
  /** The attempt that was looked at; refused if another one is in question. */
  attempt?: number;
  requestId?: string;
  certificates?: readonly NamedCertificate[];
  /** With `not-filed`: its rows are freed, and the filing ends. */
  ends?: boolean;
}

/** Approves a filing that waits for it. Its maker may not do that. @throws RefusedError */
export async function approve(
  deps: EbrcClientDependencies,
  name: string,
  args: DecideArgs,
  wait?: WaitOptions,
): Promise<FilingOutcome> {
  const filing = await filingOf(deps, name);
  needNamed(filing, name);
  return decideAbout(deps, filing, 'approve', args, wait);
}

/** Answers the question about an unknown outcome, or names the certificate of a row. @throws RefusedError */
export async function resolve(
  deps: EbrcClientDependencies,
  name: string,
  { as, ...args }: ResolveArgs,
  wait?: WaitOptions,
): Promise<FilingOutcome> {
  needNote(args);
  return decideAbout(deps, await filingOf(deps, name), as === 'filed' ? 'filed' : 'not_filed', args, wait);
}

/** Gives up a filing of which nothing may have arrived. @throws RefusedError */
export async function abandon(
  deps: EbrcClientDependencies,
  name: string,
  args: DecideArgs,
  wait?: WaitOptions,
): Promise<FilingOutcome> {
  needNote(args);
  return decideAbout(deps, await filingOf(deps, name), 'abandon', args, wait);
}

function needNote({ note }: DecideArgs): void {
  if (note?.trim() === '') throw refusal('invalid_input', 'note: is empty: say why', { field: 'note' });
}

export interface ResolvedAll {
  /** Filings that were answered. */
  answered: { filingId: string; reference: string; n: number; waits: string | null }[];
  /** Filings that need somebody who looks at them. */
  left: { filingId: string; reference: string; n: number; why: string }[];
}

const PAGE = 100;

/** Answers "not filed" for every filing whose outcome is asked about and against which nothing was found. */
export async function resolveAll(deps: EbrcClientDependencies, args: Omit<DecideArgs, 'shown'>): Promise<ResolvedAll> {
  const { pool, mode } = deps;
  const done: ResolvedAll = { answered: [], left: [] };
  for (let after: Mark | undefined; ;) {
    const page = await listFilings(pool, { mode, states: ['outcome_unknown'], limit: PAGE, ...(after && { after }) });
    for (const { filingId, reference, n, workflowId, exporterId, state } of page.filter(({ asked }) => asked)) {
      // What was shown of it is nothing: any evidence refuses.
      const decided = await said(deps, { ...args, filingId, kind: 'not_filed', shown: [] });
      const about = { filingId, reference, n };
      if (decided.outcome === 'refused') done.left.push({ ...about, why: decided.why });
      else {
        done.answered.push({ ...about, waits: decided.why });
        await wake(deps, { ...about, workflowId, mode, exporterId, state });
      }
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return done;
    after = last.mark;
  }
}

const said = (
  { pool, principal, settings }: EbrcClientDependencies,
  { by, ...decision }: Omit<Decision, 'by'> & { by: string },
): Promise<Decided> => decide(pool, { ...decision, by: { name: by, ...(principal && { principal }) } }, settings);

async function decideAbout(
  deps: EbrcClientDependencies,
  filing: FilingRecord,
  kind: Decision['kind'],
  args: Omit<ResolveArgs, 'as'>,
  wait: WaitOptions = {},
): Promise<FilingOutcome> {
  const { filingId } = filing;
  const decided = await said(deps, { ...args, filingId, kind });
  if (decided.outcome === 'refused') {
    const { code, why } = decided;
    const name = deps.principal?.name ?? args.by;
    if (kind === 'abandon' && decided.filing.state === 'abandoned') return already(deps, filingId);
    throw refusal(code, `Filing ${filingId} (${decided.filing.state}), ${name}: ${why}.`, { filingId });
  }
  const problem = await wake(deps, filing);
  const recorded = decided.outcome === 'recorded';
  const notice = recorded ? `Noted, and not carried out yet: ${decided.why}.` : null;
  const reads = recorded && decided.why === WAITS_READING;
  if (wait.wait && reads && problem === null) await answered(deps, filingId);
  // Its run says what is next, which shows a moment later. Until then it says that it waits for this decision.
  if (problem === null && kind !== 'abandon' && !recorded)
    await moved(deps, filingId, decided.filing.moves, wait.wait ? FOLLOWED_WITHIN_MS : MOVES_WITHIN_MS);
  if (wait.wait && (reads || !recorded) && problem === null) return followFiling(deps, filing, wait);
  const view = await viewOf(deps, filingId);
  return { filing: view, waitsForPerson: recorded || waitsForPerson(view), recorded, notice: notice ?? problem };
}

async function already(deps: EbrcClientDependencies, filingId: string): Promise<FilingOutcome> {
  const filing = await viewOf(deps, filingId);
  return { filing, waitsForPerson: false, notice: `Filing ${filingId} is already ${filing.state}.` };
}

/** Wakes a filing's run. The decision stands if Temporal is away: the run looks again by itself. @returns a notice */
async function wake(
  { temporal, taskQueue }: EbrcClientDependencies,
  filing: Parameters<typeof pokeOrStart>[2],
): Promise<string | null> {
  try {
    await pokeOrStart(temporal, taskQueue, filing);
    return null;
  } catch (error) {
    return `It is decided. The filing goes on once Temporal can be reached (${firstLine(error)}).`;
  }
}

const READ_WITHIN_MS = 600_000;

/** Waits until nobody is asked any more, because a reading let a decision be carried out. */
async function answered({ pool }: EbrcClientDependencies, filingId: string): Promise<void> {
  for (const until = Date.now() + READ_WITHIN_MS; Date.now() < until; await sleep(500)) {
    const [standing] = await standingsOf(pool, [filingId]);
    if (!standing?.asked) return;
  }
}

const MOVES_WITHIN_MS = 3_000;
/** Who waits for the end of the filing waits for its next step too. */
const FOLLOWED_WITHIN_MS = 60_000;

async function moved(
  { pool }: EbrcClientDependencies,
  filingId: string,
  moves: number,
  withinMs: number,
): Promise<void> {
  for (const until = Date.now() + withinMs; Date.now() < until; await sleep(100)) {
    const [standing] = await standingsOf(pool, [filingId]);
    if (!standing || standing.closed || standing.moves > moves) return;
  }
}
