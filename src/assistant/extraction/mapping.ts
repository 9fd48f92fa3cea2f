import { z } from 'zod';
import type { ExtractionKind } from './contracts';
import { convert, type Converter } from './convert';
import { readYamlFile } from '../../starter/input-files';
import { IN_PLAIN_WORDS, issueText } from '../../domain/issues';

/** How each field is read, and the names under which it is searched, the most likely first. */
const DOCUMENT_FIELDS = {
  'shipping-bill': {
    number: ['digits', ['shippingBillNumber', 'shippingBillNo', 'sbNumber', 'sbNo', 'shippingBill', 'billNumber']],
    date: ['date', ['shippingBillDate', 'sbDate', 'dateOfShippingBill']],
    portCode: ['port', ['portCode', 'portOfLoadingCode', 'portOfLoading', 'customsPort', 'customHouse', 'port']],
    currency: ['currency', ['fobCurrency', 'invoiceCurrency', 'currencyCode', 'currency', 'fcc']],
    value: [
      'amount',
      ['fobValueFCC', 'fobValueInFCC', 'fobValue', 'fobAmount', 'totalFob', 'fob', 'invoiceValue', 'totalValue'],
    ],
    invoiceNumbers: ['text', ['invoiceNumber', 'invoiceNo', 'invNo', 'exporterInvoiceNumber']],
    invoiceDate: ['date', ['invoiceDate', 'invDate']],
    buyer: ['text', ['consigneeName', 'buyerName', 'consignee', 'buyer']],
    iec: ['code', ['iec', 'iecCode', 'iecNumber', 'importerExporterCode']],
    adCode: ['text', ['adCode', 'authorisedDealerCode', 'adcode']],
    gstInvoiceNumber: ['text', ['gstInvoiceNumber', 'gstInvoiceNo']],
    gstInvoiceDate: ['date', ['gstInvoiceDate']],
  },
  invoice: {
    number: ['text', ['invoiceNumber', 'invoiceNo', 'invNo', 'billNumber', 'documentNumber', 'softexNumber']],
    date: ['date', ['invoiceDate', 'dateOfInvoice', 'invDate', 'documentDate', 'date']],
    currency: ['currency', ['invoiceCurrency', 'currencyCode', 'currency', 'fcc']],
    value: [
      'amount',
      [
        ...['invoiceValue', 'invoiceAmount', 'grandTotal', 'totalAmount', 'invoiceTotal'],
        ...['totalValue', 'total', 'amount'],
      ],
    ],
    shippingBillNumber: ['digits', ['shippingBillNumber', 'shippingBillNo', 'sbNo']],
    portCode: ['port', ['portCode', 'portOfLoading']],
    buyer: ['text', ['customerName', 'buyerName', 'billTo', 'consigneeName', 'customer', 'buyer', 'consignee']],
    iec: ['code', ['iec', 'iecCode', 'importerExporterCode']],
    gstInvoiceNumber: ['text', ['gstInvoiceNumber', 'gstInvoiceNo']],
    gstInvoiceDate: ['date', ['gstInvoiceDate']],
  },
} as const satisfies Record<ExtractionKind, Record<string, readonly [as: Converter, names: readonly string[]]>>;

export type DocumentField = keyof (typeof DOCUMENT_FIELDS)['shipping-bill'] | keyof (typeof DOCUMENT_FIELDS)['invoice'];

/** Fields with several values. Of any other field, the first value that can be read is used. */
const LISTS: ReadonlySet<string> = new Set(['invoiceNumbers']);

const name = z.string().regex(/^[\p{L}\p{N} _.-]+$/u);

/** Names of a field in the extracted data, tried in this order. */
const names = z.union([name.transform((text) => [text]), z.array(name).min(1)], {
  error: 'write the name that the field has in the extracted data, or a list of names',
});

const namesOf = (kind: ExtractionKind) =>
  z
    .strictObject(Object.fromEntries(Object.keys(DOCUMENT_FIELDS[kind]).map((field) => [field, names.optional()])))
    .optional();

/** The mapping file. Fields that it does not have are searched by the built-in names. */
export const extractionMapping = z.strictObject({
  'shipping-bill': namesOf('shipping-bill'),
  invoice: namesOf('invoice'),
});
export type ExtractionMapping = z.output<typeof extractionMapping>;

/** A field, and where in the data its value came from; null if none could be used. */
export interface Explained {
  field: DocumentField;
  value: string | string[] | null;
  from: string | null;
}

/** A value in extracted data, and the names that lead to it, such as `invoices.0.number`. */
interface Found {
  path: string;
  value: unknown;
}

/** What is read of an object that stands for a value, such as `fob_value: {amount: 10, currency: 'USD'}`. */
const MEMBERS: Partial<Record<Converter, readonly string[]>> = { amount: ['amount', 'value'], text: ['name'] };
const CURRENCY_MEMBERS = ['currency', 'currencyCode'];

/** Reads our fields from extracted data, and records for each where its value came from. */
export function mapDocument(
  kind: ExtractionKind,
  data: unknown,
  mapping: ExtractionMapping = {},
): {
  kind: ExtractionKind;
  values: Partial<Record<DocumentField, string>> & { invoiceNumbers?: string[] };
  explained: Explained[];
} {
  const fields: Record<string, readonly [Converter, readonly string[]]> = DOCUMENT_FIELDS[kind];
  const given: Record<string, readonly string[] | undefined> = mapping[kind] ?? {};
  const all = new Map(
    Object.entries(fields).map(([name, [as, usual]]) => [name, valuesOf(data, given[name] ?? usual, as)]),
  );
  // The currency next to the amount that was used comes first, because other amounts may have other currencies.
  const amount = all.get('value')?.[0];
  const beside = given['currency'] || !amount?.inside ? null : memberOf(amount.inside, CURRENCY_MEMBERS);
  if (beside) all.set('currency', [...valueOf(beside, 'currency'), ...(all.get('currency') ?? [])]);
  const explained = [...all].map(([name, found]): Explained => {
    const value = LISTS.has(name) ? [...new Set(found.map((one) => one.value))] : found[0]?.value;
    return {
      field: name as DocumentField,
      value: found.length > 0 ? (value ?? null) : null,
      from: found[0]?.path ?? null,
    };
  });
  const values = Object.fromEntries(
    explained.filter(({ value }) => value !== null).map(({ field, value }) => [field, value]),
  );
  return { kind, values, explained };
}

/** The values under the first name that has any that can be read. */
function valuesOf(data: unknown, names: readonly string[], as: Converter): ReturnType<typeof valueOf> {
  for (const name of names) {
    const values = search(data, name).flatMap((found) => valueOf(found, as));
    if (values.length > 0) return values;
  }
  return [];
}

/** The value found, or nothing if it cannot be read. `inside`: the object that it was read from. */
function valueOf(found: Found, as: Converter): { value: string; path: string; inside: Found | null }[] {
  const member = memberOf(found, MEMBERS[as] ?? []);
  const { value: raw, path } = member ?? found;
  const value = convert(raw, as);
  return value === null ? [] : [{ value, path, inside: member && found }];
}

const MAX_DEPTH = 12;
/** Limits the search, so that ten thousand line items are not searched for a header field. */
const MAX_FOUND = 1_000;

/** The values under a name, ignoring case and punctuation, at the shallowest level that has it. */
function search(data: unknown, name: string): Found[] {
  const wanted = plainName(name);
  const found: Found[] = [];
  let level: Found[] = [{ path: '', value: data }];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0 && found.length === 0; depth += 1) {
    const next: Found[] = [];
    for (const parent of level) {
      for (const [key, member] of membersOf(parent)) {
        if (!Array.isArray(parent.value) && plainName(key) === wanted) found.push(member);
        else if (typeof member.value === 'object') next.push(member);
      }
    }
    level = next.slice(0, MAX_FOUND);
  }
  return found;
}

/** The first member of an object under one of these names; null if there is none. */
function memberOf(found: Found, names: readonly string[]): Found | null {
  const members = Array.isArray(found.value) ? [] : membersOf(found);
  const first = names.map((name) => members.find(([key]) => plainName(key) === plainName(name))?.[1]);
  return first.find((member) => member !== undefined) ?? null;
}

/** The members of an object or list that are there. */
function membersOf({ path, value }: Found): [key: string, member: Found][] {
  if (typeof value !== 'object' || value === null) return [];
  const there = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return there.map(([key, member]) => [key, { path: path === '' ? key : `${path}.${key}`, value: member as unknown }]);
}

/** Letters and digits in lower case: `Shipping_Bill No.` becomes `shippingbillno`. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** Reads a mapping file (YAML or JSON). @throws UsageError that names the line of every problem */
export async function readMappingFile(path: string): Promise<ExtractionMapping> {
  const { value, lineOf, fail } = await readYamlFile(path, {
    what: 'mapping',
    advice: 'Set EBRC_EXTRACTION_MAPPING to the file, or leave it empty.',
    code: 'mapping',
  });
  const lineAt = (at: readonly PropertyKey[]): string => {
    for (let depth = at.length; depth > 0; depth -= 1) {
      const line = lineOf(at.slice(0, depth));
      if (line) return line;
    }
    return '';
  };
  const parsed = extractionMapping.safeParse(value ?? {}, IN_PLAIN_WORDS);
  if (parsed.success) return parsed.data;
  return fail(
    parsed.error.issues.flatMap((issue) => {
      const names = issue.code === 'unrecognized_keys' ? issue.keys : [null];
      return names.map((name) => {
        const at = name === null ? issue.path : [...issue.path, name];
        const what = name === null ? issue.message : 'is not a field of this document; docs/extraction.md lists them';
        return `${lineAt(at)}${issueText({ path: at, message: what })}`;
      });
    }),
  );
}
