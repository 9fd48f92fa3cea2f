/** The end of a request, as its status record tells it. */
import type pg from 'pg';
import type { StatusVerdict } from '../../domain/service/request-status';
import { lockFiling } from '../../ledger/filings/filing-lock';
import { FilingMissing } from '../../ledger/filings/filings';
import { certifyByRecord } from '../../ledger/gates/certify';
import { releaseRejected } from '../../ledger/gates/release';
import { readRows } from '../../ledger/rows/filing-rows';
import { recordSeenAnswer } from '../../ledger/submissions/answer-times';
import { reportContradiction } from '../../ledger/submissions/answers';
import { endRequest, readRequests, settleIfDone, type RequestRecord } from '../../ledger/submissions/requests';
import type { Deps } from '../dependencies';
import { moveOnSettled, type FilingNow } from './moves';

/** Records the outcome of a request's rows, and what follows of it. Must run in a transaction. */
export async function settleRequest(
  client: pg.PoolClient,
  { settings, mode }: Pick<Deps, 'settings' | 'mode'>,
  args: {
    request: RequestRecord;
    verdict: StatusVerdict;
    /** Whether the request has ended with it. */
    final: boolean;
    processingStatus: string | null;
    /** The request's age, in ms. */
    age: number;
    exporterId: string;
    at: Date;
  },
): Promise<{ outcome: 'settled' | 'incomplete' | 'doubt' | 'not_yet'; filing: FilingNow | null }> {
  const { request, verdict, final, processingStatus, age, exporterId, at } = args;
  const { filingId, submission } = request;
  const filing = await lockFiling(client, filingId);
  if (!filing) throw new FilingMissing(filingId);
  const records = verdict.rows.flatMap((row) => (row.outcome === 'certified' && !row.kept ? [row] : []));
  const contradictions = await certifyByRecord(client, { filingId, submission, exporterId, records, at });
  for (const { position, eBRCNumber, why } of contradictions) {
    const text = `Request ${request.requestId} names certificate ${eBRCNumber} for row ${position + 1}, but ${why}. Compare it with the portal.`;
    const key = `${request.requestId}/${position}/${eBRCNumber}`;
    await reportContradiction(client, { filingId, kind: 'certificate_contradicted', key, text, at });
  }
  const errored = verdict.rows.flatMap((row) =>
    row.outcome === 'errored' ? [{ position: row.position, errors: row.errors }] : [],
  );
  await reportErroredAfterCertificate(client, request, errored, at);
  const answered = { filingId, submission, mode, answer: { afterMs: request.polledAtAgeMs ?? 0, byMs: age }, at };
  if (!final) {
    await recordSeenAnswer(client, answered);
    return { outcome: 'incomplete', filing: null };
  }
  const contradicted = contradictions.map(({ position }) => position);
  const state = verdict.strangersOnly ? 'not_ours' : 'ended';
  await endRequest(client, request, { state, processingStatus, errored, contradicted, answered, at });
  await releaseRejected(client, { filingId, submission, at });
  if (await settleIfDone(client, { filingId, submission, at }))
    return { outcome: 'settled', filing: await moveOnSettled(client, settings, filing, at) };
  const requests = await readRequests(client, filingId, submission);
  return { outcome: requests.some(({ state }) => state === 'followed') ? 'not_yet' : 'doubt', filing: null };
}

/** The authority rejects a row that has its certificate: one of the two is wrong. */
async function reportErroredAfterCertificate(
  client: pg.PoolClient,
  { filingId, submission, requestId }: RequestRecord,
  errored: readonly { position: number; errors: string[] }[],
  at: Date,
): Promise<void> {
  const rows = errored.length === 0 ? [] : await readRows(client, filingId, submission);
  for (const { position } of errored) {
    const row = rows.find((each) => each.position === position);
    if (row?.state !== 'certified') continue;
    const text = `Request ${requestId} reports row ${row.sourceRow} as Errored, but it is certified as ${row.eBRCNumber}. Compare it with the portal.`;
    const key = `${requestId}/${position}/errored`;
    await reportContradiction(client, { filingId, kind: 'certificate_contradicted', key, text, at });
  }
}
