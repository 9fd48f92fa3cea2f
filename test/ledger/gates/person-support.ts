/** Sends that persons answer about, and what the answers come to. */
import { OVER, useGates, type Sent } from './gate-support';

export type Party = Awaited<ReturnType<ReturnType<typeof useGates>['exporter']>>;

export const refused = (why: RegExp) => ({ outcome: 'refused', why: expect.stringMatching(why) as string });
export const stands = (why: RegExp) => ({ outcome: 'stands', why: expect.stringMatching(why) as string });
export const somebodyElse = stands(/somebody else/u);
export const again = { outcome: 'again' };
export const about = ({ filingId, attemptId }: Sent) => ({ filingId, attemptId });

let asked = 0;
export const newId = () => `R-PERSON-${(asked += 1)}`;

/** One ledger for a test file. */
export function usePersons() {
  const gates = useGates();
  const { exporter, word } = gates;

  /** A send whose answer was lost, of a party of its own. */
  async function lost(rowsOfIt?: object[]): Promise<Sent & { party: Party }> {
    const party = await exporter();
    return { party, ...(await party.sent(rowsOfIt)) };
  }

  /** The same, with a complete look after the window. */
  async function looked(rowsOfIt?: object[]) {
    const sent = await lost(rowsOfIt);
    await sent.party.look(OVER);
    return sent;
  }

  /** *Nothing of this send was filed*, by default by ravi. */
  const say = (sent: Sent, more: Partial<Parameters<typeof word>[0]> = {}) =>
    word({ ...about(sent), by: 'ravi', ...more });

  return { ...gates, lost, looked, say };
}
