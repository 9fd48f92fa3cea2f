/** What a caller asks to be filed, and every finding that needs no record of the filing. */
import type { FileInput } from '../../domain/contracts';
import type { MappingRow } from '../../domain/filing/mapping';
import { sameId } from '../../domain/identity';
import { permittedRows, type PermittedDuplicate } from '../../domain/rules/duplicates';
import { hasErrors, type Finding } from '../../domain/rules/finding';
import { parsePushMessage } from '../../domain/rules/push-message';
import { checkRows } from '../../domain/rules/rules';
import { readInput, readInputHead } from '../../ledger/filings/filing-inputs';
import type { Queryable } from '../../ledger/pool';
import { needFewRows } from '../step-id';

/** The rows to file, and what the message states for all of them. */
export interface FilingRequest {
  rows: MappingRow[];
  uploadType?: number;
  declaration?: 'Y' | 'N';
  /** Of rows that the ledger keeps already. */
  inputRef?: string;
  allowDuplicate: PermittedDuplicate[];
  findings: Finding[];
}

/** Reads the rows from the message or from the ledger; what cannot be read is a finding. */
export async function readRequest(db: Queryable, input: FileInput): Promise<FilingRequest> {
  const allowDuplicate = input.allowDuplicate ?? [];
  if (input.inputRef) {
    // Before they are read: many rows are not for a local step.
    needFewRows((await readInputHead(db, input.inputRef))?.rowCount ?? 0);
    const saved = await readInput(db, input.inputRef);
    if (saved) {
      const findings = (saved.warnings ?? []).filter(({ severity }) => severity === 'warning');
      return { rows: saved.rows, inputRef: input.inputRef, allowDuplicate, findings };
    }
    const text = `The ledger holds no input ${input.inputRef}. Hand the rows in again.`;
    return { rows: [], allowDuplicate, findings: [finding('input_unknown', null, text)] };
  }
  const { message, findings } = parsePushMessage(input.message, allowDuplicate);
  if (!message) return { rows: [], allowDuplicate, findings };
  if (message.platformCustomerId && !sameId(message.platformCustomerId, input.exporterId)) {
    const text = `The message is for ${message.platformCustomerId}, but the filing for ${input.exporterId}. Make them agree.`;
    findings.push(finding('exporter_differs', 'platformCustomerId', text));
  }
  const { rows, uploadType, decalarationFlag: declaration } = message;
  needFewRows(rows.length);
  const allowed = [...allowDuplicate, ...message.allowDuplicate];
  return { rows, uploadType, declaration, allowDuplicate: allowed, findings };
}

/** All findings at once: the request's own, and those of the rules. */
export function judgeRequest(
  input: FileInput,
  read: FilingRequest,
): { uploadType?: number; declaration?: 'Y' | 'N'; findings: Finding[] } {
  const findings = [...read.findings];
  const uploadType = input.uploadType ?? read.uploadType ?? read.rows[0]?.mapping.uploadType;
  const declaration = input.declaration ?? read.declaration;
  if (input.declaration && read.declaration && input.declaration !== read.declaration) {
    const text = `The message declares ${read.declaration}, the filing ${input.declaration}. Make them agree.`;
    findings.push(finding('declaration_differs', 'decalarationFlag', text));
  }
  // A message that could not be read whole may well say it.
  if (!declaration && !hasErrors(read.findings)) {
    const text = 'Give the declaration, Y or N: it is a legal statement and has no default.';
    findings.push(finding('declaration_missing', 'decalarationFlag', text));
  }
  if (!hasErrors(findings))
    findings.push(...checkRows(read.rows, { uploadType, permitted: permittedRows(read.allowDuplicate) }));
  // The rules have read a message's rows already.
  const once = new Map(findings.map((each) => [JSON.stringify(each), each]));
  return { uploadType, declaration, findings: [...once.values()] };
}

/** The rules ran where the file was read, which knows its columns, and run here again: each warning counts once. */
export function withoutRepeats(findings: readonly Finding[]): Finding[] {
  const seen = new Set<string>();
  return findings.filter(({ row, field, code, message }) => {
    const key = JSON.stringify([row, field, code, message]);
    return seen.has(key) ? false : seen.add(key);
  });
}

/** A finding of the whole request. */
export function finding(code: string, field: string | null, message: string): Finding {
  return { severity: 'error', code, row: null, field, message };
}
