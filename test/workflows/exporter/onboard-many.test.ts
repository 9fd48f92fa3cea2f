import { randomUUID } from 'node:crypto';
import { createBudget, hashOfKey } from '../../../src/budget/budget';
import type { ExporterProgress } from '../../../src/domain/contracts';
import { createBudgetStore } from '../../../src/budget/store';
import type { onboardExporter } from '../../../src/workflows/onboard-exporter';
import { closeAfterAll } from '../../support/closing';
import { useTestDatabase } from '../../support/postgres';
import { useSandbox } from '../../support/sandbox';
import { useDevServer } from '../../support/temporal';
import { startTestWorker, type TestWorker } from '../../support/worker';
import { handIn } from '../../../src/ledger/vault/vault';

/** Ten windows of credential checks; `npm run bench -- onboarding` onboards three hundred. */
const EXPORTERS = 40;
/** The service's 60 s, shortened; the limits themselves (4 credential checks, 6 refreshes a window) are its own. */
const WINDOW_MS = 200;

const server = useDevServer();
const ledger = useTestDatabase();
const sandbox = useSandbox({ rateWindowMs: WINDOW_MS, activationDelayMs: 0 });
let worker: TestWorker;
let budget: ReturnType<typeof createBudget>;

beforeAll(async () => {
  const { accounts } = await sandbox.state();
  const [pattern] = accounts;
  if (!pattern) throw new Error('the sandbox has no account to copy');
  for (let index = 0; index < EXPORTERS; index += 1) {
    const irms = pattern.irms.map((irm) => ({ ...irm, irmNumber: `${irm.irmNumber}${index}` }));
    accounts.push({ ...pattern, username: `many.${index}`, password: `Many-${index}!`, irms, certificates: [] });
  }
  const store = createBudgetStore({ pool: ledger.pool, keyHash: hashOfKey('dev_sandbox_key'), owner: randomUUID() });
  budget = createBudget({ store, windowMs: WINDOW_MS });
  const env = await server.environment();
  worker = await startTestWorker({ env, sandbox, ledger, budget, settings: { rateWindowMs: WINDOW_MS } });
});

closeAfterAll(async () => {
  await worker?.close();
  await budget?.close();
});

it(`onboards ${EXPORTERS} exporters within the limits: no 429, nobody left behind`, async () => {
  const { client, taskQueue } = worker;
  const results: ExporterProgress[] = await Promise.all(
    Array.from({ length: EXPORTERS }, async (_unused, index) => {
      const credentials = {
        mode: 'test' as const,
        workflowId: `onboard/test/many-${index}`,
        username: `many.${index}`,
        password: `Many-${index}!`,
      };
      const credentialsRef = await handIn(ledger.pool, credentials);
      return client.workflow.execute<typeof onboardExporter>('onboardExporter', {
        taskQueue,
        workflowId: `onboard/test/many-${index}`,
        args: [{ mode: 'test', name: `Many ${index}`, email: `many.${index}@example.test`, credentialsRef }],
      });
    }),
  );
  const states = results.map(({ state, irmCount }) => `${state} with ${irmCount} IRMs`);
  expect(new Set(states)).toEqual(new Set(['ready with 4 IRMs']));
  expect(new Set(results.map(({ exporterId }) => exporterId)).size).toBe(EXPORTERS);
  expect(sandbox.calls().filter(({ status }) => status === 429)).toEqual([]);
  expect(sandbox.calls({ operation: 'check-dgft-credentials' })).toHaveLength(EXPORTERS);
}, 400_000);
