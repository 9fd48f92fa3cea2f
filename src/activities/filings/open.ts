/** Opens a filing: reads what a run was started with, judges it, and records it. */
import { fileInput, type FileInput } from '../../domain/contracts';
import { filingDateInKolkata } from '../../domain/dates';
import { sameId } from '../../domain/identity';
import { IN_PLAIN_WORDS, invalidInput } from '../../domain/issues';
import { permittedRows, type PermittedDuplicate } from '../../domain/rules/duplicates';
import { errorAt, hasErrors, warningAt, type Finding } from '../../domain/rules/finding';
import { parsePushMessage } from '../../domain/rules/push-message';
import { checkRows } from '../../domain/rules/rules';
import { otherModeText } from '../../domain/values';
import type { MappingRow } from '../../domain/filing/mapping';
import { getExporter } from '../../ledger/exporters/exporters';
import { contentHashOf, readInput, referenceOf, type Maker } from '../../ledger/filings/inputs';
import { recordFiling, type Recorded } from '../../ledger/filings/record';
import { standingUnder } from '../../ledger/filings/reference';
import type { Queryable } from '../../ledger/pool';
import { readBulkTemplate } from '../../ledger/service/bulk-templates';
import type { Deps } from '../dependencies';

export type Opened =
  | Recorded
  /** The ledger lacks the exporter: read it from the service, then open again. */
  | { outcome: 'exporter_unknown'; exporterId: string };

/**
 * Records what a run was started with, or finds what stands. Idempotent: the same content under the same reference is
 * the same filing.
 * @param args.again it was recorded already, by a ledger that went back
 */
export async function openInput(
  deps: Pick<Deps, 'mode' | 'pool' | 'queueing' | 'settings'>,
  args: { input: FileInput; workflowId: string; run?: string; again?: boolean },
): Promise<Opened> {
  const { mode, pool, settings } = deps;
  const parsed = fileInput.safeParse(args.input, IN_PLAIN_WORDS);
  if (!parsed.success) return refused(pool, null, invalidInput(parsed.error));
  const input = parsed.data;
  if (input.mode !== mode) {
    const text = otherModeText('The filing is for', input.mode, mode);
    return refused(pool, null, [errorAt(null, 'mode', 'wrong_mode', text)]);
  }
  // Whether the ledger has it is seen by the next step, as for every run of a recorded filing.
  if (input.resume !== undefined) return { outcome: 'standing', filingId: input.resume };
  const request = await judgeRequest(pool, input);
  const { rows, uploadType, declaration, allowDuplicate, findings } = request;
  if (hasErrors(findings) || !uploadType || !declaration) return refused(pool, input, findings);
  const exporter = await getExporter(pool, input.exporterId);
  if (exporter?.mode !== mode) return { outcome: 'exporter_unknown', exporterId: input.exporterId };
  const contentHash = contentHashOf({ exporterId: exporter.exporterId, uploadType, declaration, rows });
  const { channel, warnings } = await chooseChannel(input.channel, rows, deps.queueing);
  return recordFiling(pool, {
    input: { ...input, exporterId: exporter.exporterId },
    reference: input.reference ?? referenceOf(contentHash, allowDuplicate),
    ...{ rows, uploadType, declaration, channel, contentHash, allowDuplicate, settings },
    inputRef: request.inputRef ?? null,
    workflowId: args.workflowId,
    run: args.run ?? null,
    again: args.again ?? false,
    warnings: withoutRepeats([...findings, ...warnings]),
    maker: request.maker ?? { principalId: null, name: input.madeBy },
  });
}

/** Refuses without recording. It names what stands under the reference, because a refused repeat must not hide it. */
async function refused(
  db: Queryable,
  input: { mode: Deps['mode']; reference?: string; n: number } | null,
  findings: Finding[],
): Promise<Recorded> {
  const { reference } = input ?? {};
  const standing = input && reference !== undefined ? await standingUnder(db, { ...input, reference }) : null;
  const recorded = standing?.filingId ?? null;
  return { outcome: 'refused', findings: findings.filter(isError), contentHash: null, recorded };
}

const isError = ({ severity }: Finding): boolean => severity === 'error';

/** What is read of an input. Anything unreadable is a finding. */
interface Request {
  rows: MappingRow[];
  uploadType?: number;
  declaration?: 'Y' | 'N';
  inputRef?: string;
  maker?: Maker | null;
  allowDuplicate: PermittedDuplicate[];
  findings: Finding[];
}

type ParsedInput = ReturnType<typeof fileInput.parse>;

async function readRequest(db: Queryable, input: ParsedInput): Promise<Request> {
  const allowDuplicate = input.allowDuplicate ?? [];
  const { inputRef } = input;
  if (inputRef !== undefined) {
    const saved = await readInput(db, inputRef);
    if (saved) {
      const findings = (saved.warnings ?? []).filter((finding) => !isError(finding));
      return { rows: saved.rows, inputRef, maker: saved.maker, allowDuplicate, findings };
    }
    if (input.message === undefined) {
      const text = `The ledger holds no input ${inputRef}. Hand the rows in again.`;
      return { rows: [], allowDuplicate, findings: [errorAt(null, null, 'input_unknown', text)] };
    }
  }
  const template = (await readBulkTemplate(db, input.mode)) ?? undefined;
  const { message, findings } = parsePushMessage(input.message, allowDuplicate, { template, today: today() });
  if (!message) return { rows: [], allowDuplicate, findings };
  if (message.platformCustomerId && !sameId(message.platformCustomerId, input.exporterId)) {
    const text = `The message is for ${message.platformCustomerId}, but the filing for ${input.exporterId}. Make them agree.`;
    findings.push(errorAt(null, 'platformCustomerId', 'exporter_differs', text));
  }
  const { rows, uploadType, decalarationFlag: declaration } = message;
  return {
    rows,
    uploadType,
    declaration,
    allowDuplicate: [...allowDuplicate, ...message.allowDuplicate],
    findings,
  };
}

const today = () => filingDateInKolkata(Date.now());

/** What an input asks to file, with the findings of the rules. */
async function judgeRequest(db: Queryable, input: ParsedInput): Promise<Request> {
  const read = await readRequest(db, input);
  const findings = [...read.findings];
  const uploadType = input.uploadType ?? read.uploadType ?? read.rows[0]?.mapping.uploadType;
  const declaration = input.declaration ?? read.declaration;
  if (input.declaration && read.declaration && input.declaration !== read.declaration) {
    const text = `The message declares ${read.declaration}, the filing ${input.declaration}. Make them agree.`;
    findings.push(errorAt(null, 'decalarationFlag', 'declaration_differs', text));
  }
  // A message that could not be read completely may contain it.
  if (!declaration && !hasErrors(read.findings)) {
    const text = 'Give the declaration, Y or N: it is a legal statement and has no default.';
    findings.push(errorAt(null, 'decalarationFlag', 'declaration_missing', text));
  }
  if (!hasErrors(findings))
    findings.push(
      ...checkRows(read.rows, { uploadType, permitted: permittedRows(read.allowDuplicate), today: today() }),
    );
  return { ...read, uploadType, declaration, findings: withoutRepeats(findings) };
}

/** Keeps the first of repeated findings: the rules ran when the file was read, in the sheet's words, and again here. */
function withoutRepeats(findings: readonly Finding[]): Finding[] {
  const seen = new Set<string>();
  return findings.filter(({ row, field, code, message }) => {
    const key = JSON.stringify(row !== null && field !== null ? [row, field, code] : [row, field, code, message]);
    return seen.has(key) ? false : seen.add(key);
  });
}

/** From this many rows on a workbook loads the service less than a JSON message. */
const ROWS_FOR_BULK = 200;
/** From this many rows on a workbook is worthwhile while pushes queue and uploads do not. */
const ROWS_FOR_BULK_WHEN_BUSY = 20;

/** Bulk if an optional column is filled (JSON items lack them), for many rows, or while pushes queue. */
async function chooseChannel(
  asked: 'auto' | 'push' | 'bulk',
  rows: readonly MappingRow[],
  queueing: Deps['queueing'],
): Promise<{ channel: 'push' | 'bulk'; warnings: Finding[] }> {
  const extra = rows.find((row) => row.extra && Object.keys(row.extra).length > 0);
  if (extra) {
    const columns = Object.keys(extra.extra ?? {}).join(', ');
    const message = `The bulk channel is used, not push: ${columns} is filled, and push messages have no such field.`;
    return { channel: 'bulk', warnings: asked === 'push' ? [warningAt(extra.row, null, 'bulk_forced', message)] : [] };
  }
  if (asked !== 'auto') return { channel: asked, warnings: [] };
  if (rows.length >= ROWS_FOR_BULK) return { channel: 'bulk', warnings: [] };
  if (rows.length < ROWS_FOR_BULK_WHEN_BUSY) return { channel: 'push', warnings: [] };
  const waiting = await queueing();
  const relief = (waiting.get('push') ?? 0) > 0 && (waiting.get('bulk') ?? 0) === 0;
  return { channel: relief ? 'bulk' : 'push', warnings: [] };
}
