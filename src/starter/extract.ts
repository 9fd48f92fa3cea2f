import { access } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Extraction, ExtractionApi } from '../api/extraction';
import { UsageError } from './errors';

export interface ExtractRequest {
  kind: 'shipping-bill' | 'invoice';
  /** Path of the PDF, under 5 MB. */
  path: string;
  /** Everything in a shipping bill, not only what a filing needs. */
  full?: boolean;
}

/**
 * Has the extraction service read a document (spec: "Extraction service").
 * @throws UsageError for a file that cannot be read, or `full` with an invoice; ApiError for a failed call
 */
export async function extractDocument(
  api: ExtractionApi,
  { kind, path, full = false }: ExtractRequest,
): Promise<Extraction> {
  if (full && kind === 'invoice')
    throw new UsageError('--full is for shipping bills; an invoice is always read whole.');
  await access(path).catch(() => {
    throw new UsageError(`${path}: there is no such file, or it cannot be read.`, 'no_file');
  });
  const input = { file: path, fileName: basename(path) };
  if (kind === 'invoice') return api.extractInvoice(input);
  return full ? api.extractShippingBillFull(input) : api.extractShippingBill(input);
}
