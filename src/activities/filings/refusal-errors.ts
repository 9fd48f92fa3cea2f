import type { Finding } from '../../domain/rules/finding';
import type { StoredAnswer } from '../../domain/filing/attempt';
import type { FilingRow } from '../../ledger/rows/filing-rows';

/** First data row of a workbook that we write ourselves for a submission; its header is row 1. */
const FIRST_UPLOADED_ROW = 2;

/**
 * The service's refusal of a submission as findings in the caller's own rows. A workbook's complaint names a row of the
 * workbook that was uploaded, a message's complaint a serial number; both are traced back to where the row came from.
 */
export function fieldErrorsOf(rows: readonly FilingRow[], answer: StoredAnswer): Finding[] {
  const whole: Finding = {
    severity: 'error',
    code: answer.errorCode?.toLowerCase() ?? answer.kind,
    row: null,
    field: null,
    message: answer.message ?? 'The service refused the submission.',
  };
  const complaints = answer.fieldErrors ?? [];
  if (complaints.length === 0) return [whole];
  return complaints.map(({ row, field, message }): Finding => {
    const found = row === undefined ? undefined : rowOf(rows, row, answer.kind);
    return {
      severity: 'error',
      code: 'refused_by_service',
      row: found?.sourceRow ?? row ?? null,
      field: field ?? null,
      message,
    };
  });
}

function rowOf(rows: readonly FilingRow[], row: number, kind: string): FilingRow | undefined {
  return kind === 'workbook_rejected' ? rows[row - FIRST_UPLOADED_ROW] : rows.find((each) => each.serialNo === row);
}
