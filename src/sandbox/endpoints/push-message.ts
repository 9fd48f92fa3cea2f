/** The push message and its fields (spec: "Push message (JSON submission)"). */

export const UPLOAD_TYPES = ['101', '102', '103', '104'] as const;
/** Shipping bills: the only upload type with a rule for the form of the document number. */
export const DIRECT_EXPORT = '101';

export interface PushItem {
  serialNo: number;
  uploadType: number;
  branchSlNo: number;
  irmIfscCode: string;
  irmAdCode: string;
  irmNumber: string;
  irmDt: string;
  irmFCC: string;
  irmPurposeCode: string;
  irmRemitAmtFCC: number;
  sbCumInvoiceNumber: string;
  sbCumInvoiceDate: string;
  portCode: string;
  billNo: string;
  sbCumInvoiceFCC: string;
  sbCumInvoiceValueinFCC: number;
  mappedIRMAmountFCC: number;
  isVostro: string;
  isGstAvail: string;
  gstinInvoiceNumber: string | null;
  gstinInvoiceDate: string | null;
}

/** Whether a document number has the form of a shipping bill number: digits only, at most 7. */
export function isShippingBillNumber(text: string): boolean {
  return /^\d{1,7}$/.test(text);
}

export const NOT_A_SHIPPING_BILL =
  'sbCumInvoiceNumber is not a shipping bill number (digits only, at most 7); the invoice reference belongs in billNo';

/**
 * What makes two rows the same mapping: one exporter's remittance, document and mapped amount. Amounts are compared as
 * numbers, so that 100 and 100.00 are the same.
 */
export function mappingFingerprint(iec: string, item: PushItem): string {
  return [
    iec,
    item.irmNumber,
    item.irmAdCode,
    item.irmIfscCode,
    item.irmDt,
    item.sbCumInvoiceNumber,
    item.sbCumInvoiceDate,
    String(item.mappedIRMAmountFCC),
  ].join('|');
}
