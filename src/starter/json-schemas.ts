import { z } from 'zod';
import {
  changeExporterInput,
  changeExporterResult,
  dailyReportInput,
  dailyReportResult,
  exporterProgress,
  fileInput,
  filingResult,
  onboardInput,
  reconcileInput,
  reconcileResult,
  refreshIrmsInput,
  refreshIrmsResult,
  updateCredentialsInput,
} from '../domain/contracts';
import { extractDocumentInput, extractDocumentResult } from '../assistant/extraction/contracts';

/** The input and result of each workflow type, by the name of its JSON Schema file under `schemas/`. */
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
} as const;

/** File name and content of every JSON Schema (draft 2020-12), for callers in any Temporal SDK. */
export function jsonSchemas(): Map<string, string> {
  return new Map(
    Object.entries(CONTRACTS).map(([name, { schema, io }]) => {
      const content = { title: name, ...z.toJSONSchema(schema, { io }) };
      return [`${name}.schema.json`, `${JSON.stringify(content, null, 2)}\n`];
    }),
  );
}
