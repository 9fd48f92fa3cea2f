import { effectOf, type CallFacts } from '../faults/faults';
import { customerOf, logInAtPortal } from '../authority/portal-access';
import { json, problem } from '../http/problem';
import type { Call, Route } from '../http/route';
import { FieldErrors, requiredText, requiredUuid } from './validate';
import type { Filing } from '../authority/world';

/** POST /genebrc/status (spec: "Request status record"). */
export const STATUS_ROUTE: Route = {
  operation: 'status',
  method: 'POST',
  url: '/genebrc/status',
  facts,
  handle: status,
};

function facts(call: Call): CallFacts {
  const requestId = String(call.body['requestId']);
  const rows = call.context.world.filings.get(requestId)?.rows ?? [];
  return {
    platformCustomerId: String(call.body['platformCustomerId']),
    requestId,
    irmNumbers: rows.map(({ item }) => item.irmNumber),
    documents: rows.map(({ item }) => item.sbCumInvoiceNumber),
  };
}

function status(call: Call) {
  const errors = new FieldErrors();
  const id = requiredUuid(call.body, 'platformCustomerId', errors);
  const requestId = requiredText(call.body, 'requestId', errors);
  errors.throwIfAny();
  const customer = customerOf(call, id);
  logInAtPortal(call, customer);
  const filing = call.context.world.filings.get(requestId);
  if (!filing || filing.customerId !== customer.id || !filing.known) throw problem(404, 'Request not found');
  call.record.requestId = requestId;
  return json(statusRecord(filing, call));
}

function statusRecord(filing: Filing, call: Call): Record<string, unknown> {
  const { rows } = filing;
  const record = {
    dgftAckId: filing.dgftAckId,
    requestId: filing.requestId,
    recordResCount: rows.length,
    recordProCount: 0,
    recordFailCount: 0,
    ebrcBulkGenStatusLst: [] as unknown[],
  };
  const unknownWord = effectOf(call.effects, 'unknown-status-word');
  if (unknownWord) return { ...record, processingStatus: unknownWord.word };
  if (effectOf(call.effects, 'errored-empty')) {
    return { ...record, processingStatus: 'Errored', errorDetails: ['The request could not be processed'] };
  }
  // An unchanged record: what polling earlier than the acknowledgement gets.
  if (!filing.processed || effectOf(call.effects, 'stale-status')) return record;

  const failed = rows.filter(({ processingStatus }) => processingStatus === 'Errored').length;
  const entries = rows.map((row) => entry(row, filing));
  const incomplete = effectOf(call.effects, 'processed-with-incomplete-list') !== undefined;
  return {
    ...record,
    recordProCount: rows.length - failed,
    recordFailCount: failed,
    processingStatus: failed === 0 ? 'Processed' : 'Errored',
    ebrcBulkGenStatusLst: incomplete ? entries.slice(0, Math.floor(entries.length / 2)) : entries,
  };
}

function entry({ item, processingStatus, errorDetails, eBRCNumber, eBRCDt }: Filing['rows'][number], filing: Filing) {
  return {
    serialNo: String(item.serialNo),
    irmNumber: item.irmNumber,
    irmDt: item.irmDt,
    iecNumber: filing.iec,
    sbCumInvoiceNumber: item.sbCumInvoiceNumber,
    sbCumInvoiceDate: item.sbCumInvoiceDate,
    portCode: item.portCode,
    eBRCNumber,
    billNo: item.billNo,
    eBRCDt,
    fobFCC: item.mappedIRMAmountFCC,
    fcc: item.irmFCC,
    processingStatus,
    errorDetails,
  };
}
