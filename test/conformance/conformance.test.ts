/**
 * The ledger's functions do what the protocol's model says (docs/protocol.md, "From the model to the code"): traces of
 * the model are driven through them step by step, and after each step the database is in the state that the model is
 * in. More traces: `npm run model -- --sample FILE --walks 500`, then EBRC_CONFORMANCE=FILE npx jest test/conformance.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { recordChanges } from '../../chaos/history/recorder';
import type { TestDatabase } from '../support/postgres';
import { useLedgerPutBack } from '../ledger/sends/put-back';
import { drive } from './driver';
import type { Trace } from './model-trace';

const file = process.env.EBRC_CONFORMANCE ?? join(__dirname, 'traces.json');
const traces = JSON.parse(readFileSync(file, 'utf8')) as Trace[];

let ledger: TestDatabase;
useLedgerPutBack((opened) => (ledger = opened));
beforeAll(() => recordChanges(ledger.pool));

describe('a behaviour of the model is one of the code', () => {
  for (const trace of traces.filter(({ without }) => without === undefined)) {
    it(trace.name, async () => {
      expect(await drive(ledger, trace)).toMatchObject({ stopped: null, unknownSteps: [] });
    });
  }
});

describe('a behaviour that the model has only without a guard ends at the code’s guard', () => {
  for (const trace of traces.filter(({ without }) => without !== undefined)) {
    it(trace.name, async () => {
      const { stopped, unknownSteps } = await drive(ledger, trace);
      expect({ at: stopped?.at ?? null, unknownSteps }).toEqual({ at: trace.refusedAt ?? null, unknownSteps: [] });
    });
  }
});
