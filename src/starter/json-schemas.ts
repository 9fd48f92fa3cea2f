import { z } from 'zod';
import { FIELD_VALUES } from '../api/schemas/filings';
import { BULK_COLUMNS, UPLOAD_TYPES } from '../domain/rules/columns';
import * as contracts from '../domain/contracts';
import { dailyReportInput, dailyReportResult, reconcileInput, reconcileResult } from '../domain/report-contracts';
import { extractDocumentInput, extractDocumentResult } from '../assistant/extraction/contracts';

/** An item of a push message. The schema has its types only; `ebrc check` reports violations of the service's rules. */
const item = z.strictObject(
  Object.fromEntries(
    BULK_COLUMNS.map(({ field, kind, need, help }) => {
      const value = need === 'mandatory' ? FIELD_VALUES[kind] : FIELD_VALUES[kind].nullable().optional();
      return [field, value.describe(help)];
    }),
  ),
);

/** Fields of an item that hold a date. */
export const DATE_FIELDS: ReadonlySet<string> = new Set(
  BULK_COLUMNS.flatMap(({ field, kind }) => (kind === 'date' ? [field] : [])),
);

export const pushMessage = z.strictObject({
  platformCustomerId: z.uuid().nullable().optional().describe('the exporter; may be left out'),
  recordResCount: z.number().int().describe('number of the items'),
  uploadType: z.enum(Object.keys(UPLOAD_TYPES)),
  decalarationFlag: z.enum(['Y', 'N']).describe('the legal declaration; spelled as the authority does'),
  ebrcBulkGenDtos: z.array(item).min(1),
  allowDuplicate: contracts.fileInput.shape.allowDuplicate,
});

/** Schemas of workflow and update inputs and results, and of push messages, by file name under `schemas/`. */
const CONTRACTS = {
  'onboardExporter.input': { schema: contracts.onboardInput, io: 'input' },
  'onboardExporter.result': { schema: contracts.exporterProgress, io: 'output' },
  'updateCredentials.input': { schema: contracts.updateCredentialsInput, io: 'input' },
  'updateCredentials.result': { schema: contracts.exporterProgress, io: 'output' },
  'changeExporter.input': { schema: contracts.changeExporterInput, io: 'input' },
  'changeExporter.result': { schema: contracts.changeExporterResult, io: 'output' },
  'refreshIrms.input': { schema: contracts.refreshIrmsInput, io: 'input' },
  'refreshIrms.result': { schema: contracts.refreshIrmsResult, io: 'output' },
  'reconcile.input': { schema: reconcileInput, io: 'input' },
  'reconcile.result': { schema: reconcileResult, io: 'output' },
  'dailyReport.input': { schema: dailyReportInput, io: 'input' },
  'dailyReport.result': { schema: dailyReportResult, io: 'output' },
  'extractDocument.input': { schema: extractDocumentInput, io: 'input' },
  'extractDocument.result': { schema: extractDocumentResult, io: 'output' },
  'fileRemittances.input': { schema: contracts.fileInput, io: 'input' },
  'fileRemittances.result': { schema: contracts.filingResult, io: 'output' },
  'onboardExporter.refusal': { schema: contracts.refusalDetails, io: 'output' },
  'onboardExporter.submitCredentials': { schema: contracts.submitCredentialsArgs, io: 'input' },
  pushMessage: { schema: pushMessage, io: 'input' },
} as const;

/** The version of all schemas. Raise it when it would break callers that follow the last one. */
const VERSION = 1;

/** Result schemas accept unknown fields, so that fields can be added without a new version. */
function openResult({ jsonSchema }: { jsonSchema: { additionalProperties?: unknown } }): void {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
}

/** File name and content of every JSON Schema (draft 2020-12), for callers of any Temporal SDK. */
export function jsonSchemas(): Map<string, string> {
  return new Map(
    Object.entries(CONTRACTS).map(([name, { schema, io }]) => {
      const content = {
        $id: `urn:ebrc:${name}:${VERSION}`,
        title: name,
        ...z.toJSONSchema(schema, { io, ...(io === 'output' && { override: openResult }) }),
      };
      return [`${name}.schema.json`, `${JSON.stringify(content, null, 2)}\n`];
    }),
  );
}
