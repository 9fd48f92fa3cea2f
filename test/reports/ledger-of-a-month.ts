/** A ledger as some weeks of filing leave it, filled by the functions that activities use. */
import { filingDateInKolkata } from '../../src/domain/dates';
import { adoptAnswer, markSending, moveSubmission, openAttempt, settleRows } from '../ledger/ledger-steps';
import { randomUUID } from 'node:crypto';
import type { StoredAnswer } from '../../src/domain/filing/attempt';
import type { Mapping } from '../../src/domain/filing/mapping';
import { markRowsUnknown, noteUnknown } from '../../src/ledger/submissions/attempts';
import { storeAnswer } from '../../src/ledger/submissions/answers';
import { saveCertificates, type CertificateDetailRecord } from '../../src/ledger/certificates/certificates';
import { markArchived } from '../../src/ledger/certificates/pdfs';
import { needFiling } from '../../src/ledger/filings/filings';
import { withTransaction } from '../../src/ledger/pool';
import type { FilingState } from '../../src/domain/filing/states';
import type { StatusVerdict } from '../../src/domain/service/request-status';
import { EXPORTER, open, recordProgress, rowsOf } from '../ledger/filing-support';
import type { ReportInput } from '../../src/reports/make';
import type { TestDatabase } from '../support/postgres';

/** One row of a filing and what becomes of it. */
interface Row extends Partial<Mapping> {
  /** A certificate number, or the authority's words. */
  becomes?: { certificate: string; archived?: boolean } | { errors: string[] };
}

export interface Story {
  reference: string;
  rows: Row[];
  madeAt: Date;
  /** How many hours the authority took; left out: no answer came, and the outcome is unknown. */
  hours?: number;
  exporterId?: string;
}

export const HOUR_MS = 3_600_000;

/** Files, and settles what the story settles. @returns the filing's id */
export async function tell({ pool }: TestDatabase, story: Story): Promise<string> {
  const { reference, madeAt, hours, exporterId = EXPORTER } = story;
  const mappings = story.rows.map(({ becomes: _, ...mapping }) => mapping);
  const filingId = await open({ pool }, reference, rowsOf(...mappings), { at: madeAt, exporterId });
  const step = <T>(work: Parameters<typeof withTransaction<T>>[1]) => withTransaction(pool, work);
  const move = (state: FilingState, at: Date) =>
    step(async (client) => {
      const { seq } = await needFiling(client, filingId);
      await recordProgress(client, {
        filingId,
        seq: seq + 1,
        state,
        attention: state === 'outcome_unknown' ? `wait until ${at.toISOString()}` : null,
        at,
        event: { kind: state, text: state },
      });
    });
  await move('submitting', madeAt);
  const attempt = await step((client) => openAttempt(client, { filingId, submission: 1, at: madeAt }));
  if (attempt.outcome !== 'attempt') throw new Error(JSON.stringify(attempt));
  const { attemptId } = attempt;
  await step((client) => markSending(client, { attemptId, sender: 'test', payloadHash: 'hash', at: madeAt }));
  if (hours === undefined) {
    await noteUnknown(pool, { attemptId, sender: 'test', reason: 'the answer was lost' });
    await step((client) => markRowsUnknown(client, attemptId));
    await move('outcome_unknown', madeAt);
    return filingId;
  }
  const requestId = randomUUID();
  const answer: StoredAnswer = { kind: 'accepted', status: 200, requestId, dgftAckId: `A-${reference}` };
  await step((client) => storeAnswer(client, { attemptId, answer, at: madeAt }));
  await step((client) => adoptAnswer(client, { attemptId, answer, at: madeAt }));
  await move('processing', madeAt);
  const at = new Date(madeAt.getTime() + hours * HOUR_MS);
  await moveSubmission(pool, { filingId, submission: 1, at });
  const verdicts = story.rows.map(({ becomes }, position): StatusVerdict['rows'][number] => {
    if (!becomes) return { position, outcome: 'open' };
    if ('errors' in becomes) return { position, outcome: 'errored', errors: becomes.errors };
    return { position, outcome: 'certified', eBRCNumber: becomes.certificate, eBRCDate: null };
  });
  await step((client) => settleRows(client, { filingId, exporterId, verdicts, at }));
  await move('collecting', at);
  for (const [position, { becomes }] of story.rows.entries()) {
    if (!becomes || 'errors' in becomes) continue;
    const mapping = rowsOf(...mappings)[position]?.mapping;
    if (!mapping) throw new Error('no such row');
    await saveCertificates(pool, { exporterId, details: [detailOf(becomes.certificate, mapping, at)], at });
    if (becomes.archived === false) continue;
    const pdf = { document: `test/${becomes.certificate}.pdf`, sha256: 'f'.repeat(64), bytes: 10 };
    await markArchived(pool, { exporterId, eBRCNumber: becomes.certificate, ...pdf, at });
  }
  return filingId;
}

/** What a report is asked for with, at noon in Asia/Kolkata of its day. */
export const reportOn = (on: string): ReportInput => ({
  ...{ mode: 'test', on, now: new Date(`${on}T06:30:00Z`), rows: 100 },
  rules: [{ id: 'nine', inForceFrom: '2020-01-01', months: 9, source: 'a test', url: 'https://example.test' }],
  workflowUrl: (id) => `https://ui.example.test/${encodeURIComponent(id)}`,
});

/** A certificate of a mapping as fetch-details describes it. */
export function detailOf(eBRCNumber: string, mapping: Mapping, at: Date): CertificateDetailRecord {
  return {
    eBRCNumber,
    eBRCDate: filingDateInKolkata(at.getTime()),
    eBRCStatus: 'Issued',
    billNo: mapping.billNo,
    sbCumInvoiceNumber: mapping.sbCumInvoiceNumber,
    sbCumInvoiceDate: mapping.sbCumInvoiceDate,
    realisedValueFCC: String(mapping.mappedIRMAmountFCC),
    currencyCode: mapping.irmFCC,
  };
}
