import type { FastifyRequest } from 'fastify';
import { readSheet, type SheetRow } from './bulk-sheet';
import { validateBulk } from './bulk-validation';
import { acceptFiling } from '../endpoints/filings';
import type { CallFacts } from '../faults/faults';
import { customerOf, logInAtPortal } from '../authority/portal-access';
import { excelValidationFailed, json, validationFailed } from '../http/problem';
import { UPLOAD_TYPES, type PushItem } from '../endpoints/push-message';
import type { Call, Route } from '../http/route';
import { readUpload, type Upload, FieldErrors, oneOf, requiredUuid } from '../endpoints/validate';

const MAX_FILE_BYTES = 5 * 1024 * 1024;

interface BulkFile {
  upload: Upload | null;
  /** Null when the file is no .xlsx workbook. */
  rows: SheetRow[] | null;
}

/** POST /genebrc/bulk-upload (spec: "POST /genebrc/bulk-upload", "Bulk upload"). */
export const BULK_ROUTE: Route<BulkFile> = {
  operation: 'bulk-upload',
  method: 'POST',
  url: '/genebrc/bulk-upload',
  prepare,
  facts,
  handle: bulkUpload,
};

async function prepare(request: FastifyRequest): Promise<BulkFile> {
  const upload = await readUpload(request, MAX_FILE_BYTES);
  return { upload, rows: upload && !upload.tooLarge ? await readSheet(upload.content) : null };
}

function facts(call: Call, { rows }: BulkFile): CallFacts {
  const column = (field: string): string[] => (rows ?? []).map(({ cells }) => cells.get(field)?.text ?? '');
  return {
    platformCustomerId: String(call.query['platformCustomerId']),
    irmNumbers: column('irmNumber'),
    documents: column('sbCumInvoiceNumber'),
  };
}

function bulkUpload(call: Call, { upload, rows }: BulkFile) {
  const errors = new FieldErrors();
  const id = requiredUuid(call.query, 'platformCustomerId', errors);
  const uploadType = oneOf(call.query, 'uploadType', UPLOAD_TYPES, errors);
  oneOf(call.query, 'decalarationFlag', ['Y', 'N'] as const, errors);
  if (!upload) errors.add('file', 'file is required');
  else if (!/\.xlsx?$/i.test(upload.fileName)) errors.add('file', 'file must be an .xlsx or .xls file');
  else if (upload.tooLarge) errors.add('file', 'file must be at most 5 MB');
  errors.throwIfAny();
  if (!upload) throw validationFailed([]);

  const customer = customerOf(call, id);
  if (!rows) {
    const message = 'The file could not be read; save it as an .xlsx workbook';
    throw excelValidationFailed([{ row: 1, field: 'file', message }]);
  }
  const { items, errors: cellErrors } = validateBulk(rows, uploadType, customer.irms);
  if (cellErrors.length > 0) throw excelValidationFailed(cellErrors);
  const account = logInAtPortal(call, customer);
  const acknowledgement = acceptFiling(call, 'bulk-upload', { customer, account, items });
  return json({
    ...acknowledgement,
    parsedRowCount: rows.length,
    irmNumbers: items.map(({ irmNumber }) => irmNumber),
    irms: items.map(irmOfRow),
  });
}

/** One entry of `irms`: the number alone does not identify a remittance. */
function irmOfRow({ serialNo, irmNumber, irmDt, irmAdCode, irmIfscCode, sbCumInvoiceNumber }: PushItem) {
  return { serialNo, irmNumber, irmDt, irmAdCode, irmIfscCode, sbCumInvoiceNumber };
}
