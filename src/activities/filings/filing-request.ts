/** Reads and checks what a caller asks to file, as far as that needs no record of it, and chooses the channel. */
import type { FileInput } from '../../domain/contracts';
import type { MappingRow } from '../../domain/filing/mapping';
import { sameId } from '../../domain/identity';
import { type PermittedDuplicate, permittedRows } from '../../domain/rules/duplicates';
import { errorAt, type Finding, hasErrors, warningAt } from '../../domain/rules/finding';
import { parsePushMessage } from '../../domain/rules/push-message';
import { checkRows } from '../../domain/rules/rules';
import { readInput, readInputHead } from '../../ledger/filings/filing-inputs';
import type { Queryable } from '../../ledger/pool';
import { needFewRows } from '../call-context';
import type { Deps } from '../dependencies';

/** Reads the rows from the message or from the ledger. Anything unreadable is a finding. */
async function readRequest(
  db: Queryable,
  input: FileInput,
): Promise<{
  rows: MappingRow[];
  uploadType?: number;
  declaration?: 'Y' | 'N';
  inputRef?: string;
  allowDuplicate: PermittedDuplicate[];
  findings: Finding[];
}> {
  const allowDuplicate = input.allowDuplicate ?? [];
  if (input.inputRef) {
    // Checked before the rows are read, because many rows are not for a local step.
    needFewRows((await readInputHead(db, input.inputRef))?.rowCount ?? 0);
    const saved = await readInput(db, input.inputRef);
    if (saved) {
      const findings = (saved.warnings ?? []).filter(({ severity }) => severity === 'warning');
      return { rows: saved.rows, inputRef: input.inputRef, allowDuplicate, findings };
    }
    const text = `The ledger holds no input ${input.inputRef}. Hand the rows in again.`;
    return { rows: [], allowDuplicate, findings: [errorAt(null, null, 'input_unknown', text)] };
  }
  const { message, findings } = parsePushMessage(input.message, allowDuplicate);
  if (!message) return { rows: [], allowDuplicate, findings };
  if (message.platformCustomerId && !sameId(message.platformCustomerId, input.exporterId)) {
    const text = `The message is for ${message.platformCustomerId}, but the filing for ${input.exporterId}. Make them agree.`;
    findings.push(errorAt(null, 'platformCustomerId', 'exporter_differs', text));
  }
  const { rows, uploadType, decalarationFlag: declaration } = message;
  needFewRows(rows.length);
  const allowed = [...allowDuplicate, ...message.allowDuplicate];
  return { rows, uploadType, declaration, allowDuplicate: allowed, findings };
}

/** What an input asks to file, with the findings about the input and those of the rules. */
export async function judgeRequest(db: Queryable, input: FileInput) {
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
    findings.push(...checkRows(read.rows, { uploadType, permitted: permittedRows(read.allowDuplicate) }));
  // Without repeats, because parsing a message has applied some of the rules already.
  const distinct = new Map(findings.map((finding) => [JSON.stringify(finding), finding]));
  return { ...read, uploadType, declaration, findings: [...distinct.values()] };
}

/** Keeps the first of repeated findings: the rules ran when the file was read, in the sheet's words, and again here. */
export function withoutRepeats(findings: readonly Finding[]): Finding[] {
  const seen = new Set<string>();
  return findings.filter(({ row, field, code, message }) => {
    const key = JSON.stringify(row !== null && field !== null ? [row, field, code] : [row, field, code, message]);
    return seen.has(key) ? false : seen.add(key);
  });
}

/** The most findings in a result, because a payload has limits; the rest stays in the ledger or is counted. */
export const FINDINGS_IN_RESULT = 50;

export function errorsOf(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ severity }) => severity === 'error').slice(0, FINDINGS_IN_RESULT);
}

/** From this many rows on a workbook loads the service less than a JSON message. */
const ROWS_FOR_BULK = 200;
/** From this many rows on a workbook is worthwhile while pushes queue and uploads do not. */
const ROWS_FOR_BULK_WHEN_BUSY = 20;

/** Bulk if an optional column is filled (JSON items lack them), for many rows, or while pushes queue. */
export async function chooseChannel(
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
