import { z } from 'zod';
import { FIELD_VALUES } from '../api/schemas/filings';
import { BULK_COLUMNS, UPLOAD_TYPES } from '../domain/rules/columns';
import {
  abandonArgs,
  approveArgs,
  changeExporterInput,
  changeExporterResult,
  exporterProgress,
  fileInput,
  filingResult,
  onboardInput,
  refreshIrmsInput,
  refreshIrmsResult,
  refusalDetails,
  resolveArgs,
  submitCredentialsArgs,
  updateCredentialsInput,
} from '../domain/contracts';
import { dailyReportInput, dailyReportResult, reconcileInput, reconcileResult } from '../domain/report-contracts';
import { extractDocumentInput, extractDocumentResult } from '../assistant/extraction/contracts';

/** An item of a push message. The rules beyond its types are the service's: `ebrc check` tells what breaks them. */
const item = z.strictObject(
  Object.fromEntries(
    BULK_COLUMNS.filter(({ need }) => need !== 'optional').map(({ field, kind, need, help }) => {
      const value = need === 'conditional' ? FIELD_VALUES[kind].nullable().optional() : FIELD_VALUES[kind];
      return [field, value.describe(help)];
    }),
  ),
);

const pushMessage = z.strictObject({
  platformCustomerId: z.uuid().nullable().optional().describe('the exporter; may be left out'),
  recordResCount: z.number().int().describe('number of the items'),
  uploadType: z.enum(Object.keys(UPLOAD_TYPES)),
  decalarationFlag: z.enum(['Y', 'N']).describe('the legal declaration; spelled as the authority does'),
  ebrcBulkGenDtos: z.array(item).min(1),
  allowDuplicate: fileInput.shape.allowDuplicate,
});

/** What workflows and their updates take and answer, and push messages, by the names of the files under `schemas/`. */
const CONTRACTS = {
  'onboardExporter.input': { schema: onboardInput, io: 'input' },
  'onboardExporter.result': { schema: exporterProgress, io: 'output' },
  'updateCredentials.input': { schema: updateCredentialsInput, io: 'input' },
  'updateCredentials.result': { schema: exporterProgress, io: 'output' },
  'changeExporter.input': { schema: changeExporterInput, io: 'input' },
  'changeExporter.result': { schema: changeExporterResult, io: 'output' },
  'refreshIrms.input': { schema: refreshIrmsInput, io: 'input' },
  'refreshIrms.result': { schema: refreshIrmsResult, io: 'output' },
  'reconcile.input': { schema: reconcileInput, io: 'input' },
  'reconcile.result': { schema: reconcileResult, io: 'output' },
  'dailyReport.input': { schema: dailyReportInput, io: 'input' },
  'dailyReport.result': { schema: dailyReportResult, io: 'output' },
  'extractDocument.input': { schema: extractDocumentInput, io: 'input' },
  'extractDocument.result': { schema: extractDocumentResult, io: 'output' },
  'fileRemittances.input': { schema: fileInput, io: 'input' },
  'fileRemittances.result': { schema: filingResult, io: 'output' },
  'fileRemittances.approve': { schema: approveArgs, io: 'input' },
  'fileRemittances.resolve': { schema: resolveArgs, io: 'input' },
  'fileRemittances.abandon': { schema: abandonArgs, io: 'input' },
  'fileRemittances.refusal': { schema: refusalDetails, io: 'output' },
  'onboardExporter.submitCredentials': { schema: submitCredentialsArgs, io: 'input' },
  pushMessage: { schema: pushMessage, io: 'input' },
} as const;

/** Of all schemas; one more where a caller that keeps to the last one would be refused, or could not read an answer. */
const VERSION = 1;

/** Results get new fields without a new version: a reader of today does not refuse them. */
function openResult({ jsonSchema }: { jsonSchema: { additionalProperties?: unknown } }): void {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
}

/** File name and content of every JSON Schema (draft 2020-12), for callers in any Temporal SDK. */
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
