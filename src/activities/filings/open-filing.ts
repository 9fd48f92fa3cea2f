import { fileInput, type FileInput } from '../../domain/contracts';
import type { KnownSend } from '../../domain/filing/attempt';
import { isEnd } from '../../domain/filing/states';
import { otherModeText } from '../../domain/values';
import { filingWorkflowId } from '../../domain/names';
import { errorAt, hasErrors, type Finding } from '../../domain/rules/finding';
import { IN_PLAIN_WORDS, invalidInput } from '../../domain/issues';
import { getExporter } from '../../ledger/exporters/exporters';
import { contentHashOf, referenceOf } from '../../ledger/filings/filing-inputs';
import { recordIntent } from '../../ledger/filings/filing-intent';
import { takeUpFiling } from '../../ledger/filings/open-filings';
import { filingOfReference, getFiling, needFiling, standingOfReference } from '../../ledger/filings/filings';
import { readNow, readStanding, type OpenedFiling, type SubmissionStage } from '../../ledger/filings/filing-now';
import { referenceTaken, sameContent } from '../../ledger/filings/reference';
import { type FilingReadiness, readReadiness } from '../../ledger/filings/first-move';
import { withTransaction } from '../../ledger/pool';
import { shownToFile } from '../../ledger/principals/shown';
import { mergeKnownSends, knownSends } from '../../ledger/submissions/known-sends';
import { type Deps, now, settingsOf, type ReadSettingsResult } from '../dependencies';
import { stepId } from '../call-context';
import { chooseChannel, errorsOf, judgeRequest, withoutRepeats } from './filing-request';
import { type Left, onWholeLedger } from './moves';

export type { OpenedFiling, SubmissionStage };

type Opening =
  | {
      outcome: 'opened' | 'resumed' | 'recorded';
      filing: OpenedFiling;
      /** Null: the balances were reserved with the intent. */
      readiness: FilingReadiness | null;
    }
  | {
      outcome: 'refused';
      errors: Finding[];
      contentHash: string | null;
      recorded: OpenedFiling | null;
    }
  /** The ledger does not know the exporter, which must be read from the service first. */
  | { outcome: 'exporter_unknown' }
  /** The filing to resume is not in this ledger, and the document store has no send of it. */
  | { outcome: 'filing_unknown' };

const UNASKED =
  'The run was started with the update file (awaitUpdate), which did not arrive within a minute. Nothing was recorded: ' +
  'send both again.';

/** The filing as the ledger holds it now, for a run that is behind. */
async function readFiling({ pool }: Deps, { filingId }: { filingId: string }): Promise<Left> {
  return { filing: await readNow(pool, filingId) };
}

/**
 * Records what is to be filed before anything is sent. Idempotent: the same workflow gets the same filing.
 * @returns with the settings, because opening the filing is its workflow's first activity
 */
async function openFiling(
  deps: Deps,
  args: {
    input: FileInput;
    workflowId: string;
    /** The run was started for the update `file` and has not received it, so nothing is recorded. */
    unasked?: boolean;
    /** The filing's sends by the run's history; a ledger that was put back may hold fewer. */
    sends?: KnownSend[];
  },
): Promise<Opening & { settings: ReadSettingsResult }> {
  return { ...(await open(deps, args)), settings: settingsOf(deps) };
}

/** Compares an input with the filing of a running workflow. @returns null if it asks for that, else the refusal */
async function compareFiling(
  { pool }: Deps,
  { filingId, input }: { filingId: string; input: FileInput },
): Promise<Finding[] | null> {
  const parsed = fileInput.safeParse(input, IN_PLAIN_WORDS);
  if (!parsed.success) return invalidInput(parsed.error);
  const filing = await needFiling(pool, filingId);
  const { reference, n, exporterId, resume } = parsed.data;
  if (resume !== undefined) return resume === filingId ? null : [await referenceTaken(pool, filing)];
  const { rows, uploadType, declaration, allowDuplicate, findings } = await judgeRequest(pool, parsed.data);
  if (!uploadType || !declaration) return errorsOf(findings);
  const contentHash = contentHashOf({ exporterId, uploadType, declaration, rows });
  const requested = reference ?? referenceOf(contentHash, allowDuplicate);
  const same = requested === filing.reference && n === filing.n && sameContent(filing, { contentHash, exporterId });
  return same ? null : [await referenceTaken(pool, filing)];
}

async function open(deps: Deps, args: Parameters<typeof openFiling>[1]): Promise<Opening> {
  const { mode, pool, clock, logger } = deps;
  const parsed = fileInput.safeParse(args.input, IN_PLAIN_WORDS);
  if (!parsed.success) return refused(deps, invalidInput(parsed.error));
  const input = parsed.data;
  if (input.mode !== mode) {
    return refused(deps, [errorAt(null, 'mode', 'wrong_mode', otherModeText('The filing is for', input.mode, mode))]);
  }
  if (input.resume) return resume(deps, input.resume, args);
  const request = await judgeRequest(pool, input);
  const { rows, uploadType, declaration, allowDuplicate: permitted, findings } = request;
  if (hasErrors(findings) || !uploadType || !declaration) return refused(deps, findings, input);
  const exporter = await getExporter(pool, input.exporterId);
  if (!exporter) return { outcome: 'exporter_unknown' };

  const { exporterId } = exporter;
  const contentHash = contentHashOf({ exporterId, uploadType, declaration, rows });
  const reference = input.reference ?? referenceOf(contentHash, permitted);
  const named = { mode, reference, n: input.n };
  // A run that was reset has not received the update either, and goes on with what it recorded before.
  if (args.unasked && !(await filingOfReference(pool, named)))
    return refused(deps, [errorAt(null, null, 'update_missing', UNASKED)], named, contentHash);
  const { channel, warnings } = await chooseChannel(input.channel, rows, deps.queueing);
  const content = { ...named, exporterId, contentHash, rows, uploadType, declaration, channel, permitted };
  const outcome = await recordIntent(pool, {
    ...content,
    corrects: input.corrects ?? null,
    workflowId: args.workflowId,
    inputRef: request.inputRef ?? null,
    warnings: withoutRepeats([...findings, ...warnings]),
    madeBy: input.madeBy,
    grantId: input.grant ?? null,
    shown: shownToFile(input, { contentHash, reference, permitted }),
    approvalNeeded: input.approval === true,
    at: new Date(clock()),
    settings: settingsOf(deps),
  });
  if (outcome.outcome === 'refused') return refused(deps, outcome.findings, named, contentHash);
  logger.info({ filingId: outcome.filingId, outcome: outcome.outcome, rows: rows.length }, 'filing recorded');
  if (args.workflowId !== filingWorkflowId(mode, reference, input.n)) {
    logger.warn({ workflowId: args.workflowId, reference }, 'the workflow id is not the one that names its reference');
  }
  const { sends } = args;
  if (outcome.outcome !== 'resumed' && !sends?.length) return opened(deps, outcome.outcome, outcome.filingId);
  return takenUp(deps, outcome.filingId, sends);
}

/** Resumes a filing, with the sends that the run's history knows. */
async function takenUp(deps: Deps, filingId: string, sends: readonly KnownSend[] = []): Promise<Opening> {
  const at = now(deps);
  await withTransaction(deps.pool, async (client) => {
    await mergeKnownSends(client, { filingId, sends, at });
    await takeUpFiling(client, { filingId, step: stepId(), at });
  });
  return opened(deps, 'resumed', filingId);
}

/** The result for a filing as it stands; an ended one counts as recorded. */
async function opened({ pool }: Deps, how: 'opened' | 'resumed' | 'recorded', filingId: string): Promise<Opening> {
  const filing = await readStanding(pool, filingId);
  const outcome = isEnd(filing.state) ? 'recorded' : how;
  // Nothing was sent of a filing that was just recorded.
  const made = how === 'opened';
  const sends = made ? [] : await knownSends(pool, filingId);
  const reserved = made && filing.state !== 'checking';
  const readiness = reserved ? null : await readReadiness(pool, filing);
  return { outcome, filing: { ...filing, sends }, readiness };
}

/** Refuses without recording. Shows what stands under the reference, because a refused repeat must not hide it. */
async function refused(
  { pool, mode }: Deps,
  findings: readonly Finding[],
  { reference, n = 1 }: Partial<Pick<FileInput, 'reference' | 'n'>> = {},
  contentHash: string | null = null,
): Promise<Opening> {
  const filing = reference === undefined ? null : await standingOfReference(pool, { mode, reference, n });
  const recorded = filing && { ...(await readStanding(pool, filing.filingId)), sends: [] };
  return { outcome: 'refused', errors: errorsOf(findings), contentHash, recorded };
}

/** Resumes a filing, only for the workflow that recorded it, because two would record conflicting progress. */
async function resume(
  deps: Deps,
  filingId: string,
  { workflowId, sends }: { workflowId: string; sends?: KnownSend[] },
): Promise<Opening> {
  const { pool } = deps;
  // If the ledger was put back to before this filing, its sends must be imported first.
  const filing =
    (await getFiling(pool, filingId)) ?? (await onWholeLedger(deps, filingId, (client) => getFiling(client, filingId)));
  if (!filing) return { outcome: 'filing_unknown' };
  if (filing.workflowId !== workflowId) {
    const text = `Filing ${filingId} belongs to workflow ${filing.workflowId}: start that workflow again.`;
    return refused(
      deps,
      [{ ...errorAt(null, 'resume', 'resume_differs', text), filingId }],
      filing,
      filing.contentHash,
    );
  }
  return takenUp(deps, filingId, sends);
}

export const openFilingActivities = { readFiling, openFiling, compareFiling };
