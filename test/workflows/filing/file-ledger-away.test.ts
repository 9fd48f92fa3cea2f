/** Filings while PostgreSQL is unavailable or read-only, and while optional reads fail. */
import type pg from 'pg';
import { filingQuery } from '../../../src/workflows/messages';
import { eventually } from '../../support/processes';
import { gatedPool, type Gate } from './gated-pool';
import { QUICK_AUTHORITY, useFilingStage } from './use-filing-stage';

/** Longer than a step of the ledger is tried for before its activity fails. */
const LEDGER_AWAY_MS = 300;
const gate: Gate = { down: false };
const broken = { details: false, ledgerAfterRecord: false };
/** How long the ledger takes to save an operator's request. */
let requestsMs = 0;

function slowToSaveRequests(pool: pg.Pool): pg.Pool {
  return new Proxy(pool, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      if (property !== 'query') return value.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        if (String(args[0]).includes('INSERT INTO words')) {
          await new Promise((resolve) => setTimeout(resolve, requestsMs));
        }
        return Reflect.apply(value, target, args);
      };
    },
  });
}

const stage = useFilingStage({
  ...QUICK_AUTHORITY,
  worker: {
    ...QUICK_AUTHORITY.worker,
    adjust: (deps) => ({
      ...deps,
      pool: gatedPool(slowToSaveRequests(deps.pool), gate),
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

it('waits while the ledger is read-only, and then continues without a question', async () => {
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

it('replays what was asked of it while another step was made, however slow the ledger was', async () => {
  const { filing } = await stage.filed('awaiting_approval', { approval: true });
  requestsMs = 300;
  expect(await stage.abandon(filing)).toMatchObject({ state: 'abandoned' });
  requestsMs = 0;
  const { filingId } = await filing.result();
  // A closed workflow is not kept in memory: the query replays its history.
  expect(await filing.query(filingQuery)).toMatchObject({ filingId, state: 'abandoned' });
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
