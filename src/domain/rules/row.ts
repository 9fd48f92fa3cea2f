import { compareFilingDates } from '../dates';
import type { Finding } from './finding';
import type { MappingField } from '../filing/mapping';
import type { DraftRow } from './draft';
import { errorAt, hasValue, warningAt } from './draft';
import { missing, quoted } from './words';

/** Rules between the fields of one row (spec: "Push message", Rules; domain facts as warnings). */

const GST_FIELDS = ['gstinInvoiceNumber', 'gstinInvoiceDate'] as const;
const DIRECT_EXPORT = 101;
const SOFTEX = 102;
const IT_PURPOSES: ReadonlySet<string> = new Set(['P0802', 'P0803', 'P0807', 'P0103']);
const ADVANCE = 'P0103';

/**
 * @param filingType the filing's own upload type: a Direct Export submission has the shipping bill rule in every row
 */
export function checkRow(draft: DraftRow, filingType?: number): Finding[] {
  return [...checkGst(draft), ...checkDocument(draft, filingType), ...checkPurpose(draft), ...checkCurrencies(draft)];
}

/** The field's value when it was readable, undefined when it is missing or was reported already. */
function readable<F extends MappingField>(draft: DraftRow, field: F): DraftRow['mapping'][F] {
  return draft.failed.has(field) ? undefined : draft.mapping[field];
}

function checkGst(draft: DraftRow): Finding[] {
  const available = readable(draft, 'isGstAvail');
  return GST_FIELDS.filter((field) => !draft.failed.has(field)).flatMap((field) => {
    const filled = hasValue(draft.mapping[field]);
    if (available === 'Y' && !filled) {
      return [errorAt(draft.row, field, 'gst_missing', missing(field, 'it is needed because isGstAvail is Y'))];
    }
    if (available === 'N' && filled) {
      return [
        errorAt(
          draft.row,
          field,
          'gst_not_empty',
          `${field} must be empty because isGstAvail is N. Clear it, or set isGstAvail to Y.`,
        ),
      ];
    }
    return [];
  });
}

function checkDocument(draft: DraftRow, filingType: number | undefined): Finding[] {
  if (readable(draft, 'uploadType') !== DIRECT_EXPORT && filingType !== DIRECT_EXPORT) return [];
  const findings: Finding[] = [];
  const number = readable(draft, 'sbCumInvoiceNumber');
  if (typeof number === 'string' && hasValue(number) && !/^\d{1,7}$/.test(number)) {
    findings.push(
      errorAt(
        draft.row,
        'sbCumInvoiceNumber',
        'not_a_shipping_bill_number',
        `sbCumInvoiceNumber ${quoted(number)} is not a shipping bill number: digits only, at most 7. Put the shipping bill number here and the exporter's invoice reference in billNo.`,
      ),
    );
  }
  const port = readable(draft, 'portCode');
  if (typeof port === 'string' && /^.{1,6}$/.test(port) && !/^IN[A-Z]{3}[12456B]$/.test(port)) {
    findings.push(
      warningAt(
        draft.row,
        'portCode',
        'unusual_port',
        `portCode ${quoted(port)} is not of the usual form, such as INNSA1 or INBOM4. Compare it with the shipping bill.`,
      ),
    );
  }
  return findings;
}

function checkPurpose(draft: DraftRow): Finding[] {
  const purpose = readable(draft, 'irmPurposeCode');
  const findings: Finding[] = [];
  if (purpose && readable(draft, 'uploadType') === SOFTEX && !IT_PURPOSES.has(purpose)) {
    findings.push(
      warningAt(
        draft.row,
        'irmPurposeCode',
        'purpose_for_softex',
        `Purpose ${quoted(purpose)} is unusual for Softex: ${[...IT_PURPOSES].join(', ')} are the published ones. Check it with the bank.`,
      ),
    );
  }
  const documentDate = readable(draft, 'sbCumInvoiceDate');
  const remittanceDate = readable(draft, 'irmDt');
  if (purpose === ADVANCE && documentDate && remittanceDate && isBefore(documentDate, remittanceDate)) {
    findings.push(
      warningAt(
        draft.row,
        'sbCumInvoiceDate',
        'document_before_advance',
        `The document is dated before the remittance, but ${ADVANCE} is an advance. Check the date, or the purpose with the bank.`,
      ),
    );
  }
  return findings;
}

function checkCurrencies(draft: DraftRow): Finding[] {
  const irm = readable(draft, 'irmFCC');
  const document = readable(draft, 'sbCumInvoiceFCC');
  if (!irm || !document || irm.trim() === document.trim()) return [];
  return [
    warningAt(
      draft.row,
      'sbCumInvoiceFCC',
      'cross_currency',
      `The document is in ${quoted(document)}, the IRM in ${quoted(irm)}. Check that this is a real cross-currency settlement.`,
    ),
  ];
}

function isBefore(a: string, b: string): boolean {
  try {
    return compareFilingDates(a, b) < 0;
  } catch {
    // One of the two is no date; that is reported about its own field.
    return false;
  }
}
