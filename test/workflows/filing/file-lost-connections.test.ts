/**
 * The connection to PostgreSQL is lost at a statement of a filing: one filing for each of the send's statements, and
 * after whatever lasts in the other steps. All of them end certified, each by one certificate, and nobody is asked.
 */
import { cutConnections, type Cut, type CuttingPool, type Statement } from './cutting-pool';
import { QUICK_AUTHORITY, useFilingStage } from './use-filing-stage';

let connections: CuttingPool;

const stage = useFilingStage({
  ...QUICK_AUTHORITY,
  worker: {
    ...QUICK_AUTHORITY.worker,
    adjust: (deps) => {
      connections = cutConnections(deps.pool);
      return deps;
    },
  },
});
afterAll(() => connections.close());

let filings = 0;

/** Files one row, whose answer may be lost, with a connection that may be. */
async function file(lostAnswer: boolean, cut?: Cut) {
  const exporter = await stage.exporter();
  if (lostAnswer) stage.fault(exporter, 'push-irm', 'accept-then-drop', { times: 1 });
  const reference = `CUT-${(filings += 1)}`;
  if (cut) connections.cut(`file/test/${reference}`, cut);
  return { exporter, cut, filing: await stage.file(exporter, [stage.mapping(exporter)], { reference }) };
}

/** Before each statement of the send, and after whatever lasts; a statement that is repeated once. */
function cutsOf(statements: readonly Statement[]): [name: string, cut: Cut][] {
  let inTransaction = false;
  return statements.flatMap(({ activity, nth, text }) => {
    const lasts = text === 'COMMIT' || (!inTransaction && /^(?:UPDATE|INSERT|WITH)\b/u.test(text));
    if (/^(?:BEGIN|COMMIT)\b/u.test(text)) inTransaction = text !== 'COMMIT';
    const sides = [...(activity === 'submitPush' ? [false] : []), ...(lasts ? [true] : [])];
    return sides.map((executed): [string, Cut] => [
      `${executed ? 'after' : 'before'} ${text} of ${activity}`,
      { activity, nth, executed },
    ]);
  });
}

async function endOf({ exporter, filing, cut }: Awaited<ReturnType<typeof file>>) {
  const { filingId, state, attention, counts } = await filing.result();
  const { rows } = await stage.ledger.pool.query(
    "SELECT number FROM attempts WHERE filing_id = $1 AND verdict IS DISTINCT FROM 'unsent'",
    [filingId],
  );
  return {
    cut,
    state,
    attention,
    archived: counts.archived,
    taken: (await stage.requestsOf(exporter)).length,
    certificates: (await stage.account(exporter)).certificates.length,
    sends: rows.length,
  };
}

function groupsOf<T>(size: number, all: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, nth) => all.slice(nth * size, (nth + 1) * size));
}

it('costs no filing and makes no second one, whether its answer is lost too or not', async () => {
  // The first filing of a ledger records the document store.
  await (await file(false)).filing.result();
  const seen = new Set<string>();
  for (const lostAnswer of [false, true]) {
    const undisturbed = await file(lostAnswer);
    await undisturbed.filing.result();
    const cuts = cutsOf(connections.statements(undisturbed.filing.workflowId)).filter(
      ([name]) => !seen.has(name) && seen.add(name),
    );
    expect(cuts.length).toBeGreaterThan(5);
    const once = { state: 'certified', attention: null, archived: 1, taken: 1, certificates: 1, sends: 1 };
    // A few at a time, so that a slow machine serves each within its time-outs.
    for (const some of groupsOf(12, cuts)) {
      const disturbed = [];
      for (const [, cut] of some) disturbed.push(await file(lostAnswer, cut));
      for (const each of disturbed) expect(await endOf(each)).toEqual({ cut: each.cut, ...once });
    }
  }
  // Of a filing that went another way, as on a slow machine, the statement may never come.
  expect(connections.uncut().length).toBeLessThan(filings / 5);
});
