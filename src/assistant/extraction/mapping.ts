import { z } from 'zod';
import type { ExtractionKind } from './contracts';
import { convert, type Converter } from './convert';
import { addressProblem, memberByName, valuesAt, type Found } from './pointer';
import { readYamlFile } from '../../starter/input-files';
import { IN_PLAIN_WORDS, issueText } from '../../domain/issues';

/** Converter of each field, and the names under which it is searched, the most likely first. */
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
    buyer: ['text', ['/consignee/name', '/buyer/name', 'consigneeName', 'buyerName', 'consignee', 'buyer']],
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
    buyer: [
      'text',
      [
        ...['/customer/name', '/buyer/name', '/consignee/name', 'customerName', 'buyerName'],
        ...['billTo', 'consigneeName', 'customer', 'buyer'],
      ],
    ],
    iec: ['code', ['iec', 'iecCode', 'importerExporterCode']],
    gstInvoiceNumber: ['text', ['gstInvoiceNumber', 'gstInvoiceNo']],
    gstInvoiceDate: ['date', ['gstInvoiceDate']],
  },
} as const satisfies Record<ExtractionKind, Record<string, readonly [as: Converter, names: readonly string[]]>>;

export type DocumentField = keyof (typeof DOCUMENT_FIELDS)['shipping-bill'] | keyof (typeof DOCUMENT_FIELDS)['invoice'];

/** Fields with several values. Of any other field, the first value that can be read is used. */
const LISTS: ReadonlySet<string> = new Set(['invoiceNumbers']);

const address = z.string().superRefine((text, context) => {
  const problem = addressProblem(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

/** Addresses of a field's value, tried in this order. */
const rule = z.union([address.transform((text) => [text]), z.array(address).min(1)], {
  error: 'write an address or a list of addresses, which start with a slash or are names',
});

const rulesOf = (kind: ExtractionKind) =>
  z
    .strictObject(Object.fromEntries(Object.keys(DOCUMENT_FIELDS[kind]).map((field) => [field, rule.optional()])))
    .optional();

/** The mapping file. Fields that it does not have are searched by the built-in names. */
export const extractionMapping = z.strictObject({
  'shipping-bill': rulesOf('shipping-bill'),
  invoice: rulesOf('invoice'),
});
export type ExtractionMapping = z.output<typeof extractionMapping>;

export interface Explained {
  field: DocumentField;
  /** Null if no value could be used. */
  value: string | string[] | null;
  from: string | null;
  as: Converter;
  /** Whether the address is from the mapping file or a built-in name. */
  by: 'mapping' | 'default';
  tried: {
    address: string;
    /** Where a value was found; null if none was. */
    pointer: string | null;
    /** The value found, shortened. */
    raw: string | null;
    /** Why the value was not used; null if it was used, or if there was none. */
    why: string | null;
  }[];
}

const RAW_LENGTH = 80;
/** Amounts may be objects, such as `fob_value: {amount: 1234.5, currency: 'USD'}`. */
const AMOUNT_MEMBERS = ['amount', 'value'];
const CURRENCY_MEMBERS = ['currency', 'currencyCode'];

/** Reads our fields from extracted data, and records for each where its value came from or what was tried. */
export function mapDocument(
  kind: ExtractionKind,
  data: unknown,
  mapping: ExtractionMapping = {},
): {
  kind: ExtractionKind;
  values: Partial<Record<DocumentField, string>> & { invoiceNumbers?: string[] };
  explained: Explained[];
} {
  const rules: Record<string, string[] | undefined> = mapping[kind] ?? {};
  const fields: Record<string, readonly [Converter, readonly string[]]> = DOCUMENT_FIELDS[kind];
  const read = (name: string, [as, names]: readonly [Converter, readonly string[]], inside?: Found): Explained => {
    const field = name as DocumentField;
    const by = rules[field] ? 'mapping' : 'default';
    return { field, as, by, ...readField(field, data, { from: rules[field] ?? names, as }, by === 'default', inside) };
  };
  const value = read('value', DOCUMENT_FIELDS[kind].value);
  // The currency next to the amount that was used, because other amounts may have other currencies.
  const beside = value.by === 'default' ? amountObject(data, value.from) : undefined;
  const explained = Object.entries(fields).map(([name, usual]) =>
    name === 'value' ? value : read(name, usual, name === 'currency' ? beside : undefined),
  );
  const values = Object.fromEntries(
    explained.filter(({ value }) => value !== null).map(({ field, value }) => [field, value]),
  );
  return { kind, values, explained };
}

function readField(
  field: DocumentField,
  data: unknown,
  { from, as }: { from: readonly string[]; as: Converter },
  byDefault: boolean,
  inside?: Found,
): Pick<Explained, 'value' | 'from' | 'tried'> {
  const tried: Explained['tried'] = [];
  const nested = byDefault && inside ? memberByName(inside, CURRENCY_MEMBERS) : null;
  const addresses = nested ? [nested.pointer, ...from] : from;
  for (const each of addresses) {
    const there = valuesAt(data, each).map((one) => (byDefault && as === 'amount' ? amountIn(one) : one));
    if (there.length === 0) tried.push({ address: each, pointer: null, raw: null, why: null });
    const read = there.flatMap((one) => {
      const converted = convert(one.value, as);
      tried.push({ address: each, pointer: one.pointer, raw: shown(one), why: converted.ok ? null : converted.why });
      return converted.ok ? [{ value: converted.value, pointer: one.pointer }] : [];
    });
    const [first] = read;
    if (!first) continue;
    if (LISTS.has(field)) return { value: [...new Set(read.map(({ value }) => value))], from: first.pointer, tried };
    return { value: first.value, from: first.pointer, tried };
  }
  return { value: null, from: null, tried };
}

/** The amount in an object such as `{amount, currency}`; any other value unchanged. */
function amountIn(one: Found): Found {
  return memberByName(one, AMOUNT_MEMBERS) ?? one;
}

/** The object that an amount was read from, if it also has a currency. */
function amountObject(data: unknown, pointer: string | null): Found | undefined {
  const parent = pointer?.slice(0, pointer.lastIndexOf('/'));
  if (!parent) return undefined;
  const [object] = valuesAt(data, parent);
  return object && memberByName(object, CURRENCY_MEMBERS) ? object : undefined;
}

function shown({ value }: Found): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > RAW_LENGTH ? `${text.slice(0, RAW_LENGTH)}…` : text;
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
