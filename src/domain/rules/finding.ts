/**
 * A problem that a check found in a filing before it was sent, or that the service or the authority reported
 * afterwards. The command line prints this shape (`errors[]`, `warnings[]`), workbooks show it and the ledger stores
 * it.
 */
export interface Finding {
  severity: 'error' | 'warning';
  /** Stable, snake_case; programs branch on it. */
  code: string;
  /** Excel row (header is 1) for a workbook, `serialNo` for a JSON message, null when it is about the whole filing. */
  row: number | null;
  /** The JSON field name, not the column header; null when it is about the whole row or filing. */
  field: string | null;
  /** One sentence that says what is wrong and what to do. */
  message: string;
  /** Column letter, for a workbook. */
  column?: string;
  /** The filing that holds the mapping or the balance, if that is the reason. */
  filingId?: string;
  /** The value of `--allow-duplicate` that lets just the refused rows pass: `17,203=REASON`. */
  allowDuplicate?: string;
}

/** Whether one of the findings prevents filing. */
export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some((finding) => finding.severity === 'error');
}

export function errorAt(row: number | null, field: string | null, code: string, message: string): Finding {
  return { severity: 'error', code, row, field, message };
}

export function warningAt(row: number | null, field: string | null, code: string, message: string): Finding {
  return { severity: 'warning', code, row, field, message };
}

/**
 * Reports each failing cell once: the first error about a cell is kept, and later errors and all warnings about it are
 * dropped. Findings about a whole row or filing are all kept. The result is in row order, with those about the filing
 * first.
 */
export function oncePerCell(findings: readonly Finding[]): Finding[] {
  const failing = new Set<string>();
  const kept = findings.filter((finding) => {
    if (finding.severity !== 'error' || finding.field === null || finding.row === null) return true;
    const cell = `${finding.row}/${finding.field}`;
    if (failing.has(cell)) return false;
    failing.add(cell);
    return true;
  });
  return kept
    .filter((finding) => finding.severity === 'error' || !failing.has(`${finding.row}/${finding.field}`))
    .sort((a, b) => (a.row ?? 0) - (b.row ?? 0));
}

/** Warnings about what the authority compares with its own record of the IRM, or refuses by its published rules. */
const USUALLY_REJECTED: ReadonlySet<string> = new Set([
  'irm_unknown',
  'irm_cancelled',
  'irm_ifsc_differs',
  'irm_currency_differs',
  'irm_purpose_differs',
  'purpose_excluded',
  'unusual_form',
  'unusual_port',
]);

/** Whether a row with this warning is rejected, as far as is known. */
export const isUsuallyRejected = ({ severity, code }: Finding): boolean =>
  severity === 'warning' && USUALLY_REJECTED.has(code);
