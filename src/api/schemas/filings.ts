import { z } from 'zod';
import { FIELD_NAMES, MAPPING_FIELDS, NULLABLE_FIELDS } from '../../domain/filing/mapping';
import type { FieldKind, MappingField } from '../../domain/filing/mapping';
import { UPLOAD_TYPES } from '../../domain/rules/columns';
import { anyList, number, record, recordList, text, texts } from './tolerant';

const filingDate = z.string().regex(/^\d{8}$/, 'must be a date as DDMMYYYY');
const yesNo = z.enum(['Y', 'N']);
const uploadTypeCode = z.enum(['101', '102', '103', '104']);
const customerId = z.string().min(1);

export const FIELD_VALUES: Readonly<Record<FieldKind, z.ZodType>> = {
  integer: z.number().int(),
  amount: z.number(),
  text: z.string(),
  date: filingDate,
  yesNo,
};

/** Fields with stricter values than their kind allows. */
const NARROWER: Partial<Record<MappingField, z.ZodType>> = {
  uploadType: z.literal(Object.keys(UPLOAD_TYPES).map(Number)),
  irmNumber: z.string().min(1),
  sbCumInvoiceNumber: z.string().min(1),
};

const itemField = (field: MappingField): z.ZodType => {
  const value = NARROWER[field] ?? FIELD_VALUES[MAPPING_FIELDS[field]];
  return NULLABLE_FIELDS.has(field) ? value.nullable() : value;
};

/** An item of the push message (spec: "Push message"). Checks the shape only; the rules check lengths and sums. */
const mapping = z
  .strictObject(Object.fromEntries(FIELD_NAMES.map((field) => [field, itemField(field)])))
  .refine((row) => row.isGstAvail === 'Y' || (row.gstinInvoiceNumber === null && row.gstinInvoiceDate === null), {
    path: ['gstinInvoiceNumber'],
    message: 'gstinInvoiceNumber and gstinInvoiceDate must be null when isGstAvail is N',
  })
  .refine((row) => row.isGstAvail === 'N' || (row.gstinInvoiceNumber !== null && row.gstinInvoiceDate !== null), {
    path: ['gstinInvoiceNumber'],
    message: 'gstinInvoiceNumber and gstinInvoiceDate are required when isGstAvail is Y',
  });

/** Body of POST /genebrc/push-irm; properties outside the specification are refused. */
export const pushMessage = z
  .strictObject({
    platformCustomerId: customerId,
    recordResCount: z.number().int(),
    uploadType: uploadTypeCode,
    decalarationFlag: yesNo,
    ebrcBulkGenDtos: z.array(mapping).min(1),
  })
  .refine((message) => message.recordResCount === message.ebrcBulkGenDtos.length, {
    path: ['recordResCount'],
    message: 'recordResCount must equal the number of entries in ebrcBulkGenDtos',
  });

/** Query of POST /genebrc/bulk-upload. */
export const bulkUploadQuery = z.strictObject({
  platformCustomerId: customerId,
  uploadType: uploadTypeCode,
  decalarationFlag: yesNo,
});

const acknowledgementFields = {
  dgftAckId: text,
  requestId: text,
  /** `Validated` or `Failed`; unknown values are kept. */
  ackStatus: text,
  recordResCount: number,
  errorDetails: anyList,
};

/** Whether an answer proves an outcome: acceptance by a request id, or a failure by `Failed`. */
function statesOutcome(answer: { requestId: string | null; ackStatus: string | null }): boolean {
  return Boolean(answer.requestId) || answer.ackStatus?.trim().toLowerCase() === 'failed';
}
const noOutcome = { message: 'the answer has neither a requestId nor ackStatus Failed' };

/** Acknowledgement of a push (spec: "Generation request"). */
export const pushAnswer = record(acknowledgementFields).refine(statesOutcome, noOutcome);
export type PushAnswer = z.output<typeof pushAnswer>;

const uploadedIrm = record({
  serialNo: number,
  ...texts('irmNumber', 'irmDt', 'irmAdCode', 'irmIfscCode', 'sbCumInvoiceNumber'),
});

/** Acknowledgement of a bulk upload. Compare rows by `irms`, never `irmNumbers` (spec: "POST /genebrc/bulk-upload"). */
export const bulkUploadAnswer = record({
  ...acknowledgementFields,
  parsedRowCount: number,
  irmNumbers: anyList,
  irms: recordList(uploadedIrm),
})
  .refine(statesOutcome, noOutcome)
  .transform((answer) => ({ ...answer, irms: answer.irms.records }));
export type BulkUploadAnswer = z.output<typeof bulkUploadAnswer>;

export const statusBody = z.strictObject({ platformCustomerId: customerId, requestId: z.string().min(1) });

const statusEntry = record({
  ...texts('serialNo', 'irmNumber', 'irmDt', 'iecNumber', 'sbCumInvoiceNumber', 'sbCumInvoiceDate', 'portCode'),
  ...texts('eBRCNumber', 'billNo', 'eBRCDt', 'fcc', 'processingStatus'),
  fobFCC: number,
  errorDetails: anyList,
});

/** Request status record (spec). `processingStatus` may be null or any text before the authority answers. */
export const requestStatus = record({
  dgftAckId: text,
  requestId: text,
  recordResCount: number,
  recordProCount: number,
  recordFailCount: number,
  processingStatus: text,
  ebrcBulkGenStatusLst: recordList(statusEntry),
  errorDetails: anyList,
}).transform(({ ebrcBulkGenStatusLst: list, ...status }) => ({
  ...status,
  ebrcBulkGenStatusLst: list.records,
  /** Number of unreadable list entries; each may belong to any row. */
  unreadEntries: list.unread,
}));
export type RequestStatus = z.output<typeof requestStatus>;

export const fetchDetailsBody = z.strictObject({
  platformCustomerId: customerId,
  iecCode: z.string().min(1),
  eBRCIssueFromDt: filingDate,
  eBRCIssueToDt: filingDate,
  sbCumInvoiceNumber: z.string().max(25).optional(),
  sbCumInvoiceDate: filingDate.optional(),
});

/** Certificate detail (spec: "Certificate detail"): one entry per IRM record processed. */
export const certificateDetail = record({
  ...texts('iec', 'eBRCNumber', 'eBRCDate', 'eBRCStatus', 'billNo', 'sbCumInvoiceNumber', 'sbCumInvoiceDate'),
  realisedValueFCC: number,
  ...texts('currencyCode', 'realizationDt', 'brcUtilStatus', 'isGstAvailed', 'gstin', 'gstInvoiceNo', 'gstInvoiceDate'),
});
