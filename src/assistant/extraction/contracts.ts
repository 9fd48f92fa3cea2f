import { z } from 'zod';
import { text } from '../../domain/contracts';
import type { Operation } from '../../domain/service/operations';

const DOCUMENT_KINDS = ['shipping-bill', 'invoice'] as const;
export type ExtractionKind = (typeof DOCUMENT_KINDS)[number];

/** The endpoints of the extraction service (spec: "Extraction service") and their operations. */
export const EXTRACTION_OPERATIONS = {
  'shipping-bill': 'extractShippingBill',
  'shipping-bill-full': 'extractShippingBillFull',
  invoice: 'extractInvoice',
} as const satisfies Record<string, Operation>;
export type ExtractionEndpoint = keyof typeof EXTRACTION_OPERATIONS;

export function endpointOf(kind: ExtractionKind, full: boolean): ExtractionEndpoint {
  return kind === 'shipping-bill' && full ? 'shipping-bill-full' : kind;
}

/** `extract/<endpoint>/<sha256 of the PDF>`. A second request for the same document joins the running workflow. */
export function extractionWorkflowId(endpoint: ExtractionEndpoint, sha256: string): string {
  return `extract/${endpoint}/${sha256}`;
}

export const extractDocumentInput = z
  .strictObject({
    kind: z.enum(DOCUMENT_KINDS),
    full: z.boolean().default(false).describe('everything in a shipping bill, not only what a filing needs'),
    document: text.min(1).describe('name of the PDF in the document store'),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/u, 'sha256 is 64 hexadecimal digits')
      .describe('SHA-256 of the PDF'),
    fileName: text.min(1).max(255).default('document.pdf').describe('file name that is sent to the service'),
    again: z.boolean().default(false).describe('ask again if the answer was a refusal or a failure'),
  })
  .refine(({ kind, full }) => kind === 'shipping-bill' || !full, {
    message: 'full is for shipping bills; an invoice is always read completely',
    path: ['full'],
  });
export type ExtractDocumentInput = z.input<typeof extractDocumentInput>;

/** The outcome of an extraction. The data is in the ledger, under `extractionId`. */
export const extractDocumentResult = z.object({
  state: z
    .enum(['extracted', 'refused', 'failed'])
    .describe('refused: the service cannot read it; failed: no usable answer'),
  extractionId: z.string(),
  sha256: z.string(),
  kept: z.boolean().describe('the answer was in the ledger already, and the service was not called'),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});
export type ExtractDocumentResult = z.infer<typeof extractDocumentResult>;
