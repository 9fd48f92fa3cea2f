import { encodeSend, sendName, voidRecord } from '../../../src/ledger/sends/send-record';
import { readIdentity } from '../../../src/ledger/sends/sends';
import type { FilingStage } from './filing-stage';

/**
 * Makes the ledger look like an older copy: the document store gets a send, made at `at`, whose number is `above` the
 * ledger's. @returns that number
 */
export async function recordLostSend(
  { ledger, worker }: FilingStage,
  { above, at }: { above: number; at: Date },
): Promise<number> {
  const { ledgerId, sendNumber } = await readIdentity(ledger.pool);
  const number = sendNumber + above;
  const lost = voidRecord({ ledgerId, number, sender: 'lost', attemptId: null, at });
  await worker.deps.documents.createRecord(sendName(ledgerId, number), encodeSend(lost));
  return number;
}
