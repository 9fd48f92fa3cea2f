import { encodeSend, sendName } from '../../../src/ledger/sends/send-record';
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
  const lost = {
    version: 1 as const,
    ledgerId,
    number,
    sender: 'lost',
    void: true,
    attemptId: null,
    at: at.toISOString(),
    content: null,
  };
  await worker.deps.documents.createRecord(sendName(ledgerId, number), encodeSend(lost));
  return number;
}
