/** The servers, workers and people of the adversary, which are kept over its plans. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EbrcClient } from '../../src/starter/client';
import type { PortalAccount } from '../../sandbox/authority/world';
import { startServiceProxy } from '../../test/scenes/service-proxy';
import { principalOf } from '../../test/support/principals';
import { onboardAll } from '../filer';
import { accountOf, exporterOf, type PlannedExporter } from '../plan';
import { openStage, type Stage } from '../stage';
import { startWorkers, type Workers } from '../workers';

/** Hours of the real service in a second or less. */
const ACK_DELAY_MS = 600;
const RATE_WINDOW_MS = 200;
const VARIABLES = {
  EBRC_HTTP_TIMEOUT: '1s',
  EBRC_POLL_FIRST: '400ms',
  EBRC_POLL_MIN: '300ms',
  EBRC_POLL_MAX: '1s',
  EBRC_SETTLE_AFTER: '3s',
  EBRC_OVERDUE_AFTER: '9s',
  EBRC_HISTORY: '1d',
};
const WORKERS = 2;
const SHIFT_CLOCK = join(__dirname, '..', 'disruptions', 'shift-clock.cjs');

/** The two persons who decide. */
export const PEOPLE = ['ravi', 'meera'] as const;

export interface Company extends PlannedExporter {
  exporterId: string;
}

export interface Lab {
  stage: Stage;
  workers: Workers;
  service: Awaited<ReturnType<typeof startServiceProxy>>;
  /** Two principals who may decide. */
  people: readonly [EbrcClient, EbrcClient];
  /** Sets the clocks of all workers ahead. */
  setClocks(aheadMs: number): Promise<void>;
  /** A ready company that no plan has had. */
  newCompany(): Promise<Company>;
  account(company: Company): Promise<PortalAccount>;
  stop(options: { keep: boolean }): Promise<void>;
}

export async function openLab(say: (message: string) => void): Promise<Lab> {
  let service: Lab['service'] | undefined;
  const stage = await openStage({
    seed: { accounts: [] },
    windowMs: RATE_WINDOW_MS,
    rateLimits: false,
    ackDelayMs: ACK_DELAY_MS,
    front: async (url) => (service = await startServiceProxy(url)),
    variables: VARIABLES,
    say,
  });
  if (!service) throw new Error('The stage has no service.');
  const clock = join(stage.folder, 'clock');
  await mkdir(stage.folder, { recursive: true });
  await writeFile(clock, '0');
  const workers = await startWorkers({
    ...{ size: WORKERS, env: stage.childEnv, folder: stage.folder },
    ...{ preload: SHIFT_CLOCK, envOf: () => ({ CHAOS_CLOCK_FILE: clock }) },
  });
  const clientOf = async (name: string) => stage.clientAs(await principalOf(stage.pool, name));
  const people = [await clientOf(PEOPLE[0]), await clientOf(PEOPLE[1])] as const;
  let companies = 0;
  const lab: Lab = {
    ...{ stage, workers, service, people },
    setClocks: (aheadMs) => writeFile(clock, String(aheadMs)),
    async newCompany() {
      const planned = exporterOf((companies += 1));
      const answer = await fetch(`${stage.sandbox.controlUrl}/accounts`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
        body: JSON.stringify(accountOf(planned)),
      });
      if (!answer.ok) throw new Error(`${planned.username}: ${await answer.text()}`);
      await onboardAll(stage.client, [planned]);
      const { rows } = await stage.pool.query<{ exporterId: string }>(
        'SELECT exporter_id AS "exporterId" FROM exporters WHERE iec = $1',
        [planned.iec],
      );
      if (!rows[0]) throw new Error(`${planned.email} is not in the ledger.`);
      return { ...planned, exporterId: rows[0].exporterId };
    },
    async account({ username }) {
      const account = (await stage.sandbox.state()).accounts.find((each) => each.username === username);
      if (!account) throw new Error(`The sandbox has no account ${username}.`);
      return account;
    },
    async stop(options) {
      await workers.stop();
      await stage.stop(options);
    },
  };
  return lab;
}
