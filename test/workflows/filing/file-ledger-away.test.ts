/** Filings while PostgreSQL is not itself, and while what only helps does not work. */
import { eventually } from '../../support/processes';
import type { FilingStage } from './filing-stage';
import { gatedPool, type Gate } from './gated-pool';
import { QUICK_AUTHORITY, useFilingStage } from './use-filing-stage';

let stage: FilingStage;
/** Longer than a step of the ledger is tried for before its activity fails. */
const LEDGER_AWAY_MS = 300;
const gate: Gate = { down: false };
const broken = { details: false, ledgerAfterRecord: false };

useFilingStage((opened) => (stage = opened), {
  ...QUICK_AUTHORITY,
  worker: {
    ...QUICK_AUTHORITY.worker,
    adjust: (deps) => ({
      ...deps,
      pool: gatedPool(deps.pool, gate),
      documents: {
        ...deps.documents,
        createRecord: async (name, content) => {
          const created = await deps.documents.createRecord(name, content);
          // The send is marked and counted; before its first byte the ledger goes away.
          if (broken.ledgerAfterRecord) gate.down = true;
          return created;
        },
      },
      api: {
        ...deps.api,
        fetchDetails: (...args) => {
          if (broken.details) throw new TypeError('a defect in what only helps');
          return deps.api.fetchDetails(...args);
        },
      },
    }),
  },
});

async function readOnly(on: boolean): Promise<void> {
  const { pool, url } = stage.ledger;
  const name = new URL(url).pathname.slice(1);
  // One connection for both, and not used again: no other is left that was opened before the change.
  const client = await pool.connect();
  await client.query(
    `BEGIN READ WRITE; ALTER DATABASE ${name} ${on ? 'SET default_transaction_read_only TO on' : 'RESET default_transaction_read_only'}; COMMIT`,
  );
  await client.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  client.release(true);
}

it('waits while the ledger is read-only, and then goes on without asking anybody', async () => {
  const exporter = await stage.exporter();
  await readOnly(true);
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  // It has been refused by then, and is tried again.
  await eventually(async () => {
    const { pendingActivities } = (await filing.describe()).raw;
    return pendingActivities?.some(({ attempt }) => Number(attempt) > 1) ?? false;
  });
  expect(stage.pushes(exporter)).toBe(0);
  await readOnly(false);
  expect(await filing.result()).toMatchObject({ state: 'certified', asked: false });
  expect(stage.pushes(exporter)).toBe(1);
});

it('asks nobody where the ledger goes away between the mark and the first byte', async () => {
  const exporter = await stage.exporter();
  broken.ledgerAfterRecord = true;
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await eventually(() => Promise.resolve(gate.down));
  broken.ledgerAfterRecord = false;
  await new Promise((resolve) => setTimeout(resolve, LEDGER_AWAY_MS));
  gate.down = false;
  expect(await filing.result()).toMatchObject({ state: 'certified', asked: false });
  expect(stage.pushes(exporter)).toBe(1);
});

it('does not end because of a defect in what only helps', async () => {
  const exporter = await stage.exporter();
  broken.details = true;
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  const { filingId, state } = await filing.result();
  broken.details = false;
  expect(state).toBe('certified');
  expect(await stage.story(filingId)).toEqual(expect.arrayContaining(['no_snapshot', 'no_details']));
});
