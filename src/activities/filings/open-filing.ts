import { fileInput, type FileInput } from '../../domain/contracts';
import type { FilingReadiness } from '../../domain/filing/first-moves';
import type { KnownSend } from '../../domain/filing/known-send';
import { isEnd } from '../../domain/filing/states';
import { otherModeText } from '../../domain/input-problems';
import { filingWorkflowId } from '../../domain/names';
import { hasErrors, type Finding } from '../../domain/rules/finding';
import { getExporter } from '../../ledger/exporters/exporters';
import { contentHashOf, referenceOf } from '../../ledger/filings/filing-content';
import { saveInput } from '../../ledger/filings/filing-inputs';
import { recordIntent } from '../../ledger/filings/filing-intent';
import { takeUpFiling } from '../../ledger/filings/filing-takeup';
import { getFiling } from '../../ledger/filings/filings';
import { readStanding, type FilingStanding, type SubmissionStage } from '../../ledger/filings/opened-filing';
import { readReadiness } from '../../ledger/filings/readiness';
import { withTransaction } from '../../ledger/pool';
import { readStandingAttention } from '../../ledger/submissions/answers';
import { mergeKnownSends, knownSends } from '../../ledger/submissions/known-sends';
import type { ActivityDependencies } from '../dependencies';
import { needFewRows, stepId } from '../step-id';
import { chooseChannel } from './channel';
import { finding, judgeRequest, readRequest, withoutRepeats } from './filing-request';
import { settingsOf, type ReadSettingsResult } from './settings';
import { onWholeLedger } from './whole-ledger';

export type { SubmissionStage };

/** A filing as its workflow holds it: ids, counts and stages, never rows. */
export interface OpenedFiling extends FilingStanding {
  /** What was, or may have been, sent of it. */
  sends: KnownSend[];
  /** What somebody should look at for as long as the filing is under way. */
  standing: string | null;
}

type Opening =
  | {
      outcome: 'opened' | 'resumed' | 'recorded';
      filing: OpenedFiling;
      /** Null where the balances were reserved with the intent. */
      readiness: FilingReadiness | null;
    }
  | { outcome: 'refused'; errors: Finding[] }
  /** The ledger does not know the exporter: it has to be read from the service first. */
  | { outcome: 'exporter_unknown' }
  /** The filing that is to go on is not in this ledger, and no send of it is in the document store. */
  | { outcome: 'filing_unknown' };

/** With the settings that the filing lives by: opening it is its workflow's first activity. */
export type OpenFilingResult = Opening & { settings: ReadSettingsResult };

/** Findings beyond this number are counted, not carried: a payload has limits. */
const FINDINGS_IN_RESULT = 50;

export interface OpenFilingArgs {
  input: FileInput;
  workflowId: string;
  /** The filing's sends by the run's history; a ledger that was put back to an earlier state may hold fewer. */
  sends?: KnownSend[];
}

export function createOpenFilingActivities(deps: ActivityDependencies) {
  const { pool, mode, clock, logger } = deps;
  const settings = settingsOf(deps);

  const takeUp = (filingId: string, sends: readonly KnownSend[] = []) =>
    withTransaction(pool, async (client) => {
      const at = new Date(clock());
      await mergeKnownSends(client, { filingId, sends, at });
      await takeUpFiling(client, { filingId, step: stepId(), at });
    });

  return {
    /** The filing as the ledger holds it now, for a run that finds itself behind it. */
    readFiling: ({ filingId }: { filingId: string }): Promise<OpenedFiling> =>
      readStanding(pool, filingId).then((filing) => ({ ...filing, sends: [], standing: null })),

    /**
     * Records what is to be filed before anything is sent: rules, the reference, the mapping fingerprints, and the
     * reservation of fresh balances. Idempotent: the same workflow asking again gets the same filing.
     */
    openFiling: async (args: OpenFilingArgs): Promise<OpenFilingResult> => ({
      ...(await open(args)),
      settings,
    }),
  };

  async function open(args: OpenFilingArgs): Promise<Opening> {
    const parsed = fileInput.safeParse(args.input);
    if (!parsed.success) {
      const errors = parsed.error.issues.map((issue) =>
        finding('invalid_input', issue.path.join('.') || null, issue.message),
      );
      return { outcome: 'refused', errors };
    }
    const input = parsed.data;
    if (input.mode !== mode) {
      const text = otherModeText('The filing is for', input.mode, mode);
      return { outcome: 'refused', errors: [finding('wrong_mode', 'mode', text)] };
    }
    if (input.resume) return resume(input.resume, args);
    const read = await readRequest(pool, input);
    needFewRows(read.rows.length);
    const { uploadType, declaration, findings } = judgeRequest(input, read);
    if (hasErrors(findings) || !uploadType || !declaration) return refused(findings);
    const exporter = await getExporter(pool, input.exporterId);
    if (!exporter) return { outcome: 'exporter_unknown' };

    const inputRef = read.inputRef ?? (await saveInput(pool, { rows: read.rows, sourceKind: 'json' }));
    const { exporterId } = exporter;
    const contentHash = contentHashOf({ exporterId, uploadType, declaration, rows: read.rows });
    const reference = input.reference ?? referenceOf(contentHash, read.allowDuplicate);
    const { channel, warnings } = await chooseChannel(input.channel, read.rows, deps.queueing);
    const outcome = await recordIntent(pool, {
      mode,
      exporterId,
      reference,
      correction: input.correction,
      corrects: input.corrects ?? null,
      workflowId: args.workflowId,
      contentHash,
      inputRef,
      rows: read.rows,
      uploadType,
      declaration,
      channel,
      warnings: withoutRepeats([...findings, ...warnings]),
      madeBy: input.madeBy,
      // Either asks for it: a request cannot switch the exporter's policy off.
      approvalNeeded: exporter.requiresApproval || input.approval === true,
      permitted: read.allowDuplicate,
      at: new Date(clock()),
      settings,
    });
    if (outcome.outcome === 'refused') return refused(outcome.findings);
    logger.info({ filingId: outcome.filingId, outcome: outcome.outcome, rows: read.rows.length }, 'filing recorded');
    if (args.workflowId !== filingWorkflowId(mode, reference, input.correction)) {
      logger.warn(
        { workflowId: args.workflowId, reference },
        'the workflow id is not the one that names its reference',
      );
    }
    const { sends } = args;
    if (outcome.outcome !== 'resumed' && !sends?.length) return opened(outcome.outcome, outcome.filingId);
    await takeUp(outcome.filingId, sends);
    return opened('resumed', outcome.filingId);
  }

  async function opened(outcome: 'opened' | 'resumed' | 'recorded', filingId: string): Promise<Opening> {
    const filing = await readStanding(pool, filingId);
    // Of one that was made just now nothing was sent.
    const made = outcome === 'opened';
    const sends = made ? [] : await knownSends(pool, filingId);
    const standing = made ? null : await readStandingAttention(pool, filingId);
    const reserved = made && filing.state !== 'checking';
    const readiness = reserved ? null : await readReadiness(pool, filing);
    return { outcome, filing: { ...filing, sends, standing }, readiness };
  }

  /** Only the workflow that recorded a filing may continue it: two would record conflicting progress. */
  async function resume(filingId: string, { workflowId, sends }: OpenFilingArgs): Promise<Opening> {
    // Where the ledger was put back to a state from before it, what was sent of it has to be brought back first.
    const filing =
      (await getFiling(pool, filingId)) ??
      (await onWholeLedger(deps, filingId, (client) => getFiling(client, filingId)));
    if (!filing) return { outcome: 'filing_unknown' };
    if (filing.workflowId !== workflowId) {
      const text = `Filing ${filingId} is the one of workflow ${filing.workflowId}: start that one again.`;
      return { outcome: 'refused', errors: [{ ...finding('resume_differs', 'resume', text), filingId }] };
    }
    await takeUp(filingId, sends);
    return opened(isEnd(filing.state) ? 'recorded' : 'resumed', filingId);
  }
}

function refused(findings: Finding[]): Opening {
  const errors = findings.filter((each) => each.severity === 'error');
  return { outcome: 'refused', errors: errors.slice(0, FINDINGS_IN_RESULT) };
}
