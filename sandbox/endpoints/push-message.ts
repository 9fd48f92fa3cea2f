/** The push message and its fields (spec: "Push message (JSON submission)"). */

export const UPLOAD_TYPES = ['101', '102', '103', '104'] as const;
/** Shipping bills: the only upload type with a rule for the form of the document number. */
export const DIRECT_EXPORT = '101';

/** The fields of an item by their kind; the two of a GST invoice are null without one. */
export const ITEM_FIELDS = {
  serialNo: 'whole',
  uploadType: 'whole',
  branchSlNo: 'whole',
  irmIfscCode: 'text',
  irmAdCode: 'text',
  irmNumber: 'text',
  irmDt: 'date',
  irmFCC: 'text',
  irmPurposeCode: 'text',
  irmRemitAmtFCC: 'amount',
  sbCumInvoiceNumber: 'text',
  sbCumInvoiceDate: 'date',
  portCode: 'text',
  billNo: 'text',
  sbCumInvoiceFCC: 'text',
  sbCumInvoiceValueinFCC: 'amount',
  mappedIRMAmountFCC: 'amount',
  isVostro: 'yesNo',
  isGstAvail: 'yesNo',
} as const;
export const GST_FIELDS = { gstinInvoiceNumber: 'text', gstinInvoiceDate: 'date' } as const;

type ItemFields = typeof ITEM_FIELDS;
export type PushItem = {
  [F in keyof ItemFields]: ItemFields[F] extends 'whole' | 'amount' ? number : string;
} & Record<keyof typeof GST_FIELDS, string | null>;

/** An item of the fields that a submission gives. */
export function itemOf(valueOf: (field: string, kind: string) => unknown): PushItem {
  const fields = Object.entries({ ...ITEM_FIELDS, ...GST_FIELDS });
  return Object.fromEntries(fields.map(([field, kind]) => [field, valueOf(field, kind) ?? null])) as PushItem;
}

/** Whether a document number has the form of a shipping bill number: digits only, at most 7. */
export function isShippingBillNumber(text: string): boolean {
  return /^\d{1,7}$/.test(text);
}

export const NOT_A_SHIPPING_BILL =
  'sbCumInvoiceNumber is not a shipping bill number (digits only, at most 7); the invoice reference belongs in billNo';
