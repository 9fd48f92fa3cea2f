/** Rules about the optional columns, which push messages may have as fields. Their forms are documented nowhere. */
import type { ExtraValues } from '../filing/mapping';
import { compareAmounts, isAmount, isMore, sumAmounts } from '../money';
import { BULK_COLUMNS, columnOfHeader, type BulkColumn, type ColumnField } from './columns';
import { checkAmount, type UncheckedRow } from './fields';
import { errorAt, warningAt, warningsAt, type Finding } from './finding';
import { UNWRITABLE, controlCharacter, listed, quoted } from './value-messages';

export const OPTIONAL_COLUMNS = BULK_COLUMNS.filter(({ need }) => need === 'optional');

/** Code of the finding that filled columns may or may not be sent, because the template is not known yet. */
export const TEMPLATE_UNKNOWN = 'template_unknown';

/** Warns about filled columns whose fate depends on the service's template, which ignores columns that it lacks. */
export function templateUnknown(unchecked: readonly UncheckedRow[], ownFilled: readonly string[] = []): Finding[] {
  const labels = new Set(unchecked.flatMap(({ extra = {} }) => Object.keys(extra)));
  const guessed = [...labels].filter((label) => columnOfHeader(label)?.field !== 'isThirdPartyExport');
  const filled = [...guessed, ...ownFilled];
  if (filled.length === 0) return [];
  const message = `Whether ${listed(filled)} can be sent is not known: the service's template has not been read yet, and it ignores columns of other names. Run \`ebrc template\` and check again.`;
  return [warningAt(null, null, TEMPLATE_UNKNOWN, message)];
}

/** Forms from public material. */
const FORMS: Partial<Record<ColumnField, { fits: RegExp; say: string }>> = {
  vostroType: { fits: /^(?:SVRA|NVRA)$/i, say: 'The types of a vostro account are SVRA and NVRA' },
  sacCode1: { fits: /^99\d{2,4}$/, say: 'A service accounting code has four to six digits and begins with 99' },
  sacCode2: { fits: /^99\d{2,4}$/, say: 'A service accounting code has four to six digits and begins with 99' },
  serviceTypeModesValue: { fits: /^\D*[1-4]\D*$/, say: 'The modes of supply of a service are 1 to 4' },
};

export function checkOptional(row: UncheckedRow): Finding[] {
  const { mapping, extra = {}, failed } = row;
  const values = valuesOf(extra);
  return [
    ...[...values].flatMap(([{ field, kind }, value]) =>
      kind === 'amount' ? checkOptionalAmount(row, field, value) : checkOptionalText(row, field, value),
    ),
    ...checkDeductions(row, values),
    ...warningsAt(row.row, 'isVostro', {
      vostro_type_missing:
        mapping.isVostro === 'Y' &&
        // The service's template may call the column by another name.
        ![...failed, ...Object.keys(extra)].some((label) => /vostro.*type/i.test(label)) &&
        'isVostro is Y, but vostroType is empty. Fill in SVRA or NVRA.',
      vostro_type_not_empty:
        mapping.isVostro === 'N' &&
        [...values.keys()].some(({ field }) => field === 'vostroType') &&
        'isVostro is N, but vostroType is filled. Clear it, or set isVostro to Y.',
    }),
  ];
}

function valuesOf(extra: ExtraValues): Map<BulkColumn, ExtraValues[string]> {
  const values = new Map<BulkColumn, ExtraValues[string]>();
  for (const [label, value] of Object.entries(extra)) {
    const column = columnOfHeader(label);
    if (column) values.set(column, value);
  }
  return values;
}

function checkOptionalAmount({ row }: UncheckedRow, field: string, value: ExtraValues[string]): Finding[] {
  if (isAmount(value) && compareAmounts(value, 0) >= 0)
    return typeof value === 'number' ? checkAmount(row, field, value) : [];
  const message = `${field} ${quoted(value)} is no amount. Write digits, without signs, separators or currency.`;
  return [warningAt(row, field, 'unusual_form', message)];
}

function checkOptionalText({ row }: UncheckedRow, field: ColumnField, value: ExtraValues[string]): Finding[] {
  const text = typeof value === 'object' ? value.date : String(value);
  if (UNWRITABLE.test(text)) return [errorAt(row, field, 'control_character', controlCharacter(field, text))];
  const form = FORMS[field];
  return warningsAt(row, field, {
    unusual_form:
      form !== undefined && !form.fits.test(text.trim()) && `${field} ${quoted(value)} looks wrong. ${form.say}.`,
  });
}

/** What is deducted from a mapped amount is a part of it. */
function checkDeductions({ row, mapping }: UncheckedRow, values: ReadonlyMap<BulkColumn, unknown>): Finding[] {
  const deducted = [...values].flatMap(([{ field }, value]) =>
    field.endsWith('Deduct') && isAmount(value) ? [value] : [],
  );
  const { mappedIRMAmountFCC: mapped, irmFCC } = mapping;
  const total = sumAmounts(deducted);
  if (!isAmount(mapped) || !isMore(total, mapped, irmFCC)) return [];
  const message = `The deductions add up to ${total}, more than the mapped amount of ${mapped}. Check them.`;
  return [warningAt(row, 'mappedIRMAmountFCC', 'deductions_over_mapped', message)];
}
