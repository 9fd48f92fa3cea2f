import type { z } from 'zod';
import type { finding } from '../contracts';
import { counted } from '../text';
import type { ColumnField } from './columns';

export type Finding = z.infer<typeof finding>;

export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some((finding) => finding.severity === 'error');
}

export function errorAt(row: number | null, field: string | null, code: string, message: string): Finding {
  return { severity: 'error', code, row, field, message };
}

export function warningAt(row: number | null, field: string | null, code: string, message: string): Finding {
  return { severity: 'warning', code, row, field, message };
}

/** Warnings about one cell. @param messages by code; false if the rule is kept */
export function warningsAt(
  row: number | null,
  field: string | null,
  messages: Readonly<Record<string, string | false>>,
): Finding[] {
  return Object.entries(messages).flatMap(([code, message]) => (message ? [warningAt(row, field, code, message)] : []));
}

/** The most errors, and the most warnings, that are listed of one request. */
export const MOST_FINDINGS = 50;

const MORE = { error: 'more_errors', warning: 'more_warnings' } as const;

type Counted = Pick<Finding, 'code' | 'message'> & Partial<Finding>;

/**
 * Lists the first errors and counts the rest, which are not kept: a few MB of JSON can have more wrong fields than
 * anybody corrects, and more text about them than fits into memory.
 * @param warnings whether warnings are cut in the same way; otherwise all are kept until the list of errors is full
 */
export function firstErrors<T extends Counted>({ warnings: cutsWarnings = false } = {}) {
  const kept: T[] = [];
  const found = { error: 0, warning: 0 };

  return {
    /** @param further how many like these there are beside them */
    add(findings: Iterable<T>, further = 0): void {
      for (const finding of findings) {
        const { severity = 'error', code, count = 1 } = finding;
        found[severity] += count;
        if (code === MORE[severity]) continue;
        const isListed =
          severity === 'error' || cutsWarnings ? found[severity] <= MOST_FINDINGS : found.error <= MOST_FINDINGS;
        if (isListed) kept.push(finding);
      }
      found.error += further;
    },
    /** What was listed; where some were not, the last entry says how many. */
    all(): (T | Finding)[] {
      const listed = { error: 0, warning: 0 };
      for (const { severity = 'error' } of kept) listed[severity] += 1;
      const more = (['error', 'warning'] as const).flatMap((severity) => {
        const count = found[severity] - listed[severity];
        const message = `There ${count === 1 ? 'is' : 'are'} ${counted(count, `more ${severity}`)}. Correct those that are listed first.`;
        return count > 0 ? [{ severity, code: MORE[severity], row: null, field: null, message, count }] : [];
      });
      return [...kept, ...more];
    },
  };
}

/** Keeps a cell's first error only, and all findings about whole rows or the filing. Sorted by row, filing first. */
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
    .sort((a, b) => placeOf(a) - placeOf(b));
}

/** What says how many are not listed stands last. */
const placeOf = ({ row, count }: Finding): number => (count === undefined ? (row ?? 0) : Infinity);

/** Warnings about values that the authority compares with its own IRM record, or refuses by its published rules. */
const USUALLY_REJECTED: ReadonlySet<string> = new Set([
  'irm_unknown',
  'irm_cancelled',
  'irm_ad_code_differs',
  'irm_ifsc_differs',
  'irm_currency_differs',
  'irm_purpose_differs',
  'purpose_excluded',
  'unusual_form',
  'unusual_port',
]);

/** Whether a row with this warning will probably be rejected, or may get a second certificate. */
export const isDoubtful = ({ severity, code }: Finding): boolean =>
  severity === 'warning' && (USUALLY_REJECTED.has(code) || code === 'certified_elsewhere');

/** Fields by authority error code. Second-hand ("Annexure 6.3"), and used only to mark a cell. */
const FIELDS: Readonly<Record<string, ColumnField>> = {
  ERR11: 'serialNo',
  ERR14: 'irmIfscCode',
  ERR15: 'irmIfscCode',
  ERR16: 'irmAdCode',
  ERR19: 'irmNumber',
  ERR20: 'irmFCC',
  ERR21: 'irmPurposeCode',
  ERR22: 'irmPurposeCode',
  ERR23: 'irmRemitAmtFCC',
  ERR25: 'sbCumInvoiceNumber',
  ERR26: 'sbCumInvoiceNumber',
  ERR27: 'sbCumInvoiceNumber',
  ERR28: 'sbCumInvoiceDate',
  ERR29: 'portCode',
  ERR30: 'portCode',
  ERR31: 'billNo',
  ERR32: 'isVostro',
  ERR33: 'vostroType',
  ERR34: 'isThirdPartyExport',
  ERR35: 'mappedORMAmountFCC',
  ERR38: 'mappedIRMAmountFCC',
  ERR39: 'irmPurposeCode',
};

/** The field that an authority's message names by its error code; null without a known code. */
export function fieldOfAuthority(message: string): ColumnField | null {
  const [code = ''] = /\bERR\d{2}\b/u.exec(message) ?? [];
  return FIELDS[code] ?? null;
}

/** The authority's messages about rows as findings, without those in `known`. */
export function authorityErrors(
  rows: readonly { row: number; errors: readonly string[] }[],
  known: readonly Finding[],
): Finding[] {
  const shown = new Set(known.map(({ row, message }) => `${row}|${message}`));
  return rows.flatMap(({ row, errors }) =>
    errors
      .filter((message) => !shown.has(`${row}|${message}`))
      .map((message) => errorAt(row, fieldOfAuthority(message), 'authority', message)),
  );
}
