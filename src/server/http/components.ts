/** Names the shapes of the API, so that its description has each of them once, as a component. */
import { z } from 'zod';
import { DATE_FIELDS, pushMessage } from '../../starter/json-schemas';
import { MAX_FILING_ROWS } from '../../domain/service/limits';
import { isObject } from '../../domain/values';

const NAME = 'x-component';
/** Moved to `examples` at the end: of bodies the swagger plugin would drop them. */
const EXAMPLE = 'x-of-component';

type JsonSchema = Record<string, unknown>;

/** Gives a shape its name in the description. @param example of what is sent, or answered */
export const named = <T extends z.ZodType>(name: string, schema: T, example?: unknown): T =>
  schema.meta({ [NAME]: name, ...(example !== undefined && { [EXAMPLE]: example }) });

/** Gives a shape without a name this one. */
export const nameJson = (name: string, schema: JsonSchema): JsonSchema =>
  NAME in schema || '$ref' in schema ? schema : { [NAME]: name, ...schema };

/** `io: 'input'`, which allows additional fields in answers: clients must expect new ones. */
export function jsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...made } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return made;
}

/** A push message as the routes take it: they parse it themselves, with an error for each field. */
export const messageField = named('PushMessage', z.record(z.string(), z.unknown()));

/** Longest texts of an item, and forms that every value has; the rules say the rest. */
const OF_FIELDS: Readonly<Record<string, JsonSchema>> = {
  uploadType: { enum: [101, 102, 103, 104] },
  irmNumber: { minLength: 1, maxLength: 50 },
  sbCumInvoiceNumber: { minLength: 1, maxLength: 20 },
  billNo: { minLength: 1, maxLength: 20 },
  portCode: { minLength: 1, maxLength: 6 },
  irmFCC: { pattern: '^[A-Z]{3}$' },
  sbCumInvoiceFCC: { pattern: '^[A-Z]{3}$' },
  gstinInvoiceNumber: { maxLength: 16 },
};

const DATE = { pattern: '^([0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2})$', description: 'DDMMYYYY or YYYY-MM-DD' };

/** The push message as the specification has it. */
function messageSchema(): JsonSchema {
  const message = jsonSchema(pushMessage) as { properties: Record<string, { items: JsonSchema; maxItems?: number }> };
  const { ebrcBulkGenDtos: list, allowDuplicate, ...others } = message.properties;
  const item = list?.items as { properties: Record<string, JsonSchema> };
  const properties = Object.entries(item.properties).map(([field, schema]) => {
    const {
      minimum: _,
      maximum: __,
      ...kept
    } = withForm(schema, OF_FIELDS[field] ?? (DATE_FIELDS.has(field) ? DATE : {}));
    return [field, kept];
  });
  const named = { ...item, properties: Object.fromEntries(properties) as JsonSchema };
  const items = { ...list, maxItems: MAX_FILING_ROWS, items: nameJson('PushMessageItem', named) };
  return { ...message, properties: { ...others, ebrcBulkGenDtos: items, allowDuplicate } };
}

/** Adds a form to a schema, inside of what may be null. */
function withForm(schema: JsonSchema, form: JsonSchema): JsonSchema {
  const { anyOf, ...others } = schema as { anyOf?: JsonSchema[] };
  if (!anyOf) return { ...schema, ...form };
  return { ...others, anyOf: anyOf.map((part) => (part['type'] === 'null' ? part : { ...part, ...form })) };
}

/** Moves everything that has a name to the components of a document. @throws Error if two shapes have one name */
export function withComponents<T extends object>(document: T): T {
  const schemas: Record<string, unknown> = {};
  const move = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(move);
    if (!isObject(value)) return value;
    const { [NAME]: name, [EXAMPLE]: example, ...unnamed } = value;
    const moved = Object.fromEntries(Object.entries(unnamed).map(([key, part]) => [key, move(part)]));
    if (typeof name !== 'string') return moved;
    const { description, ...own }: JsonSchema = { ...moved, ...(example !== undefined && { examples: [example] }) };
    const shape = name === 'PushMessage' ? (move(messageSchema()) as JsonSchema) : own;
    if (schemas[name] && JSON.stringify(schemas[name]) !== JSON.stringify(shape)) {
      throw new Error(`Two shapes of the API have the name ${name}.`);
    }
    schemas[name] = shape;
    return { $ref: `#/components/schemas/${name}`, ...(description !== undefined && { description }) };
  };
  const moved = move(document) as T & { components?: object };
  const sorted = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { ...moved, components: { ...moved.components, schemas: sorted } };
}
