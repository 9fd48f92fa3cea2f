import type { AttemptState } from '../../domain/filing/attempt';
import { fileInput, type FileInput, type FilingCounts } from '../../domain/contracts';
import { permittedRows, type PermittedDuplicate } from '../../domain/rules/duplicates';
import type { KnownSend } from '../../domain/filing/known-send';
import { isEnd } from '../../domain/filing/states';
import { explainedMs } from '../../domain/service/due';
import { hasErrors, type Finding } from '../../domain/rules/finding';
import { sameId } from '../../domain/identity';
import type { MappingRow } from '../../domain/filing/mapping';
import { filingWorkflowId } from '../../domain/names';
import { checkRows } from '../../domain/rules/rules';
import { parsePushMessage } from '../../domain/rules/push-message';
import { otherModeText } from '../../domain/input-problems';
import { latestAttempt } from '../../ledger/submissions/attempts';
import { getExporter } from '../../ledger/exporters/exporters';
import { contentHashOf, referenceOf } from '../../ledger/filings/filing-content';
import { hasSourceDocument, readInput, saveInput } from '../../ledger/filings/filing-inputs';
import { recordIntent } from '../../ledger/filings/filing-intent';
import { firstEventAt } from '../../ledger/filings/filing-progress';
import { countRows } from '../../ledger/rows/filing-rows';
import { takeUpFiling } from '../../ledger/filings/filing-takeup';
import { openWishes, type Wishes } from '../../ledger/filings/filing-wishes';
import { getFiling, needFiling, type FilingRecord } from '../../ledger/filings/filings';
import { withTransaction } from '../../ledger/pool';
import { handInSends, knownSends } from '../../ledger/submissions/hand-in';
import { readSubmissions, type SubmissionRecord } from '../../ledger/submissions/submissions';
import { chooseChannel } from './channel';
import { readReadiness, type FilingReadiness } from './readiness';
import { settingsOf, type ReadSettingsResult } from './settings';
import type { ActivityDependencies } from '../dependencies';
import { needFewRows, stepId } from '../step-id';
import { onWholeLedger } from './whole-ledger';

/** How far one submission is, as a workflow needs to know it. */
export interface SubmissionStage extends Pick<
  SubmissionRecord,
  'submission' | 'rowCount' | 'state' | 'requestId' | 'dgftAckId' | 'ackStatus'
> {
  /** ms since the epoch. */
  submittedAt: number | null;
  /** What the acknowledgement complained of. */
  ackErrors?: string[];
  /** The newest attempt, when a run takes up what another left. */
  lastAttempt: { attemptId: string; number: number; state: AttemptState } | null;
}

/** A filing as its workflow holds it: ids, counts and stages, never rows. */
export interface OpenedFiling extends Pick<
  FilingRecord,
  | 'filingId'
  | 'exporterId'
  | 'reference'
  | 'state'
  | 'seq'
  | 'attention'
  | 'needsAttention'
  | 'asked'
  | 'channel'
  | 'approvalNeeded'
  | 'approvedBy'
  | 'madeBy'
> {
  /** What people have asked of it and no run has carried out. */
  wishes: Wishes;
  /** When its certificates began to be collected, ms since the epoch. */
  collectingSince: number | null;
  hasWorkbook: boolean;
  counts: FilingCounts;
  submissions: SubmissionStage[];
  /** What was, or may have been, sent of it. */
  sends: KnownSend[];
}

type Opening =
  | { outcome: 'opened' | 'resumed' | 'recorded'; filing: OpenedFiling; readiness: FilingReadiness }
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
  /** What a run knows of its filing’s sends; a ledger that was put back to an earlier state knows less. */
  sends?: KnownSend[];
}

export function createOpenFilingActivities(deps: ActivityDependencies) {
  const { pool, mode, clock, logger } = deps;
  const settings = settingsOf(deps);

  async function readRows(input: FileInput): Promise<{
    rows: MappingRow[];
    uploadType?: number;
    declaration?: 'Y' | 'N';
    inputRef?: string;
    allowDuplicate: PermittedDuplicate[];
    findings: Finding[];
  }> {
    const allowDuplicate = input.allowDuplicate ?? [];
    if (input.inputRef) {
      const saved = await readInput(pool, input.inputRef);
      if (saved) {
        const findings = (saved.warnings ?? []).filter(isWarning);
        return { rows: saved.rows, inputRef: input.inputRef, allowDuplicate, findings };
      }
      return {
        rows: [],
        allowDuplicate,
        findings: [
          finding('input_unknown', null, `The ledger holds no input ${input.inputRef}. Hand the rows in again.`),
        ],
      };
    }
    const { message, findings } = parsePushMessage(input.message, allowDuplicate);
    if (!message) return { rows: [], allowDuplicate, findings };
    if (message.platformCustomerId && !sameId(message.platformCustomerId, input.exporterId)) {
      const text = `The message is for ${message.platformCustomerId}, but the filing for ${input.exporterId}. Make them agree.`;
      findings.push(finding('exporter_differs', 'platformCustomerId', text));
    }
    const { rows, uploadType, decalarationFlag: declaration } = message;
    const allowed = [...allowDuplicate, ...message.allowDuplicate];
    return { rows, uploadType, declaration, allowDuplicate: allowed, findings };
  }

  const takeUp = (filingId: string, sends: readonly KnownSend[] = []) =>
    withTransaction(pool, async (client) => {
      const at = new Date(clock());
      await handInSends(client, { filingId, mode, sends, at });
      await takeUpFiling(client, { filingId, step: stepId(), at });
    });

  /** Everything that can be said without the ledger: all findings at once. */
  function judge(input: FileInput, read: Awaited<ReturnType<typeof readRows>>) {
    const findings = [...read.findings];
    const uploadType = input.uploadType ?? read.uploadType ?? read.rows[0]?.mapping.uploadType;
    const declaration = input.declaration ?? read.declaration;
    if (input.declaration && read.declaration && input.declaration !== read.declaration) {
      findings.push(
        finding(
          'declaration_differs',
          'decalarationFlag',
          `The message declares ${read.declaration}, the filing ${input.declaration}. Make them agree.`,
        ),
      );
    }
    // A message that could not be read whole may well say it.
    if (!declaration && !hasErrors(read.findings)) {
      findings.push(
        finding(
          'declaration_missing',
          'decalarationFlag',
          'Give the declaration, Y or N: it is a legal statement and has no default.',
        ),
      );
    }
    if (!hasErrors(findings))
      findings.push(...checkRows(read.rows, { uploadType, permitted: permittedRows(read.allowDuplicate) }));
    // The rules have read a message's rows already.
    const once = new Map(findings.map((each) => [JSON.stringify(each), each]));
    return { uploadType, declaration, findings: [...once.values()] };
  }

  return {
    /** The filing as the ledger holds it now, for a run that finds itself behind it. */
    readFiling: ({ filingId }: { filingId: string }): Promise<OpenedFiling> => describe(filingId),

    /**
     * Records what is to be filed before anything is sent: rules, the reference, the mapping fingerprints. Idempotent:
     * the same workflow asking again gets the same filing.
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
    const read = await readRows(input);
    needFewRows(read.rows.length);
    const { uploadType, declaration, findings } = judge(input, read);
    if (hasErrors(findings) || !uploadType || !declaration) return refused(findings);
    const exporter = await getExporter(pool, input.exporterId);
    if (!exporter) return { outcome: 'exporter_unknown' };

    const inputRef = read.inputRef ?? (await saveInput(pool, { rows: read.rows, sourceKind: 'json' }));
    const { exporterId } = exporter;
    const contentHash = contentHashOf({ exporterId, uploadType, declaration, rows: read.rows });
    const reference = input.reference ?? referenceOf(contentHash, read.allowDuplicate);
    const { channel, warnings } = chooseChannel(input.channel, read.rows, await deps.queueing());
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
      checkedBy: new Date(clock() + (explainedMs('checking', settings, 0) ?? 0)),
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
    const filing = await describe(filingId);
    // Of one that was made just now nothing was sent.
    if (outcome !== 'opened') filing.sends = await knownSends(pool, filingId);
    return { outcome, filing, readiness: await readReadiness(pool, filing) };
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

  async function describe(filingId: string): Promise<OpenedFiling> {
    const filing = await needFiling(pool, filingId);
    const submissions = await readSubmissions(pool, filingId);
    const stages: SubmissionStage[] = [];
    for (const each of submissions) {
      const last = await latestAttempt(pool, filingId, each.submission);
      stages.push({
        submission: each.submission,
        rowCount: each.rowCount,
        state: each.state,
        requestId: each.requestId,
        dgftAckId: each.dgftAckId,
        ackStatus: each.ackStatus,
        submittedAt: each.submittedAt?.getTime() ?? null,
        lastAttempt: last,
      });
    }
    return {
      filingId,
      exporterId: filing.exporterId,
      reference: filing.reference,
      state: filing.state,
      seq: filing.seq,
      attention: filing.attention,
      needsAttention: filing.needsAttention,
      asked: filing.asked,
      wishes: await openWishes(pool, filingId),
      collectingSince: (await firstEventAt(pool, filingId, 'collecting'))?.getTime() ?? null,
      channel: filing.channel,
      approvalNeeded: filing.approvalNeeded,
      approvedBy: filing.approvedBy,
      madeBy: filing.madeBy,
      hasWorkbook: await hasSourceDocument(pool, filing.inputRef),
      counts: await countRows(pool, filingId),
      submissions: stages,
      sends: [],
    };
  }
}

const isWarning = ({ severity }: Finding): boolean => severity === 'warning';

/** The rules ran where the file was read, which knows its columns, and run here again: each warning counts once. */
function withoutRepeats(findings: readonly Finding[]): Finding[] {
  const said = new Set<string>();
  return findings.filter(({ row, field, code, message }) => {
    const key = JSON.stringify([row, field, code, message]);
    return said.has(key) ? false : said.add(key);
  });
}

function refused(findings: Finding[]): Opening {
  const errors = findings.filter((each) => each.severity === 'error');
  return { outcome: 'refused', errors: errors.slice(0, FINDINGS_IN_RESULT) };
}

function finding(code: string, field: string | null, message: string): Finding {
  return { severity: 'error', code, row: null, field, message };
}
