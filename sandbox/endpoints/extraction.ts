import { createHash } from 'node:crypto';
import type { FaultedOperation } from '../faults/fault-schema';
import { problem, Problem, tooManyRequests, type Answer } from '../http/problem';
import type { Route } from '../http/route';
import { readUpload, type Upload } from './validate';
import { z } from 'zod';

/** Sets the extraction service's answer to a document; a feature of the sandbox alone. */
const script = z.strictObject({
  /** The data of the answer, instead of derived values. */
  data: z.unknown().optional(),
  /** `500`, `429`, `401`: these, unwrapped; `cut`: half an answer; `other-shape`: JSON that is not shown. */
  answer: z.enum(['error', '500', '429', '401', 'cut', 'other-shape']).optional(),
  /** How often `answer` is given before `data` is; always where left out. */
  times: z.number().int().positive().optional(),
});
type DocumentScript = z.infer<typeof script>;

const MARK = '%ebrc-sandbox ';

/** The script in a PDF: a comment line `%ebrc-sandbox {…}`. Null where there is no readable one. */
function scriptIn(content: Buffer): DocumentScript | null {
  const at = content.lastIndexOf(MARK);
  if (at < 0) return null;
  const end = content.indexOf('\n', at);
  try {
    return script.parse(JSON.parse(content.subarray(at + MARK.length, end < 0 ? undefined : end).toString('utf8')));
  } catch {
    return null;
  }
}

const PDF_LIMIT_BYTES = 5 * 1024 * 1024;

const PATHS: readonly {
  operation: FaultedOperation;
  url: string;
  extract: (seed: number) => Record<string, unknown>;
}[] = [
  { operation: 'extract-shipping-bill', url: '/shipping-bills/extract', extract: shippingBill },
  { operation: 'extract-shipping-bill-full', url: '/shipping-bills/extract/full', extract: fullShippingBill },
  { operation: 'extract-invoice', url: '/invoices/extract', extract: invoice },
];

/**
 * Extraction (spec: "Extraction service"): undocumented `data` is derived from the file's hash, or given in a comment
 * line of the PDF that begins with `%ebrc-sandbox`.
 */
export function extractionRoutes(): Route<Upload | null>[] {
  const given = new Map<string, number>();
  return PATHS.map(({ operation, url, extract }) => ({
    operation,
    method: 'POST',
    url,
    extraction: true,
    prepare: (request) => readUpload(request, PDF_LIMIT_BYTES),
    facts: () => ({}),
    handle: (_call, upload): Answer => {
      const content = checkedPdf(upload);
      const script = scriptIn(content);
      const seed = seedOf(content);
      const body = { status: 'success', data: script?.data ?? extract(seed) };
      const scripted = script && scriptedAnswer(script, `${operation} ${seed}`, body);
      return scripted ?? { kind: 'bare', status: 200, body };
    },
  }));

  /** The answer that the script sets, as often as it says; null for the ordinary answer. */
  function scriptedAnswer({ answer, times = Infinity }: DocumentScript, key: string, instead: object): Answer | null {
    const before = given.get(key) ?? 0;
    if (answer === undefined || before >= times) return null;
    given.set(key, before + 1);
    switch (answer) {
      case 'error':
        return { kind: 'bare', status: 200, body: { status: 'error', data: { message: 'the scan cannot be read' } } };
      case '500':
        throw problem(500, 'Internal server error');
      case '429':
        throw tooManyRequests();
      case '401':
        throw problem(401, 'Invalid API key');
      case 'cut': {
        const whole = Buffer.from(JSON.stringify(instead));
        const body = whole.subarray(0, Math.floor(whole.length / 2));
        return { kind: 'file', status: 200, contentType: 'application/json', fileName: 'answer.json', body };
      }
      case 'other-shape':
        return { kind: 'bare', status: 200, body: { result: [instead], version: 7 } };
    }
  }
}

/** @throws Problem 400 unless the part is a PDF under 5 MB. */
function checkedPdf(upload: Upload | null): Buffer {
  if (!upload) throw refused('file is required');
  if (upload.tooLarge || upload.content.length >= PDF_LIMIT_BYTES) throw refused('file must be under 5 MB');
  const { content } = upload;
  if (!content.subarray(0, 1024).includes('%PDF-') || !content.subarray(-1024).includes('%%EOF')) {
    throw refused('file must be a valid PDF');
  }
  return content;
}

function refused(message: string): Problem {
  return new Problem(400, { status: 'error', statusCode: 400, message, data: { message } });
}

function seedOf(content: Buffer): number {
  return createHash('sha256').update(content).digest().readUInt32BE();
}

function shippingBill(seed: number): Record<string, unknown> {
  return {
    shippingBillNumber: String(1_000_000 + (seed % 9_000_000)),
    shippingBillDate: '01062026',
    portCode: ['INNSA1', 'INMAA1', 'INBOM4', 'INDEL4'][seed % 4],
    invoiceNumber: `INV/26/${seed % 1000}`,
    invoiceCurrency: 'USD',
    fobValue: 1000 + (seed % 90_000),
  };
}

function fullShippingBill(seed: number): Record<string, unknown> {
  return {
    ...shippingBill(seed),
    exporter: { name: 'Meridian Exports Private Limited', iec: 'AAGCM4521K' },
    consignee: { name: 'Northwind Textiles Inc', country: 'UNITED STATES' },
    items: [
      { serialNo: 1, ritcCode: '62052000', description: 'Cotton shirts', quantity: 1 + (seed % 500), unit: 'PCS' },
    ],
  };
}

function invoice(seed: number): Record<string, unknown> {
  const amount = 1000 + (seed % 90_000);
  return {
    vendor: { name: 'Meridian Exports Private Limited', gstin: '27AAGCM4521K1Z5' },
    invoiceNumber: `INV/26/${seed % 1000}`,
    invoiceDate: '28052026',
    currency: 'USD',
    lineItems: [{ description: 'Cotton shirts', quantity: 10, amount }],
    taxes: [],
    totalAmount: amount,
  };
}
