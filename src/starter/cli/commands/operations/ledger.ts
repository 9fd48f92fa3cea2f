import type { Command } from 'commander';
import type { LedgerStatus } from '../../../../ledger/went-back';
import type { Restored } from '../../../restore';
import { EXIT, UsageError } from '../../../errors';
import type { Bind } from '../../context';
import { byOption } from '../options';
import { table, toned } from '../../page';

const ABOUT = `
Workers compare the ledger with what Temporal knows: at their start, hourly, and when the server or its heartbeat shows that
the ledger may have gone back (a restored volume, a promoted replica that lagged behind). Nothing is sent from a ledger that
lacks something until \`ebrc ledger restored\` has brought it back. docs/operations.md has the runbook.

Examples:
  $ ebrc ledger status
  $ ebrc ledger restored --since 2026-02-03T04:00:00Z
  $ ebrc ledger restored --nothing-lost`;

/** `ledger status`, `ledger migrate` and `ledger restored`. */
export function addLedgerCommands(program: Command, bind: Bind): void {
  const ledger = program
    .command('ledger')
    .summary('check the ledger, migrate it, or repair it after a restore')
    .description(
      'The ledger itself: whether it has all that Temporal knows, its migrations, and what to do after a restore.',
    )
    .addHelpText('after', ABOUT);
  ledger
    .command('status')
    .summary('show whether the ledger has all that Temporal knows')
    .description('Show the epoch and heartbeat of the ledger, and what it is known to lack. Changes nothing.')
    .addHelpText('after', '\nExample:\n  $ ebrc ledger status --json')
    .action(
      bind(async (cli) => {
        const { readLedgerStatus } = await import('../../../../ledger/went-back.js');
        const { pool, mode } = await cli.ledger();
        const status = await readLedgerStatus(pool, mode);
        cli.terminal.result(status, () => textOf(status));
        return status.state === 'whole' ? EXIT.done : EXIT.waiting;
      }),
    );
  ledger
    .command('migrate')
    .summary('apply the missing migrations')
    .description(
      'Apply the missing migrations, with a DATABASE_URL whose user owns the schema. Workers then do not need that right.',
    )
    .addHelpText('after', '\nExample:\n  $ DATABASE_URL=postgres://ebrc_migrator@HOST/ebrc ebrc ledger migrate')
    .action(
      bind(async (cli) => {
        const { databaseUrl } = await cli.config('database');
        const { migrate } = await import('../../../../ledger/migrate.js');
        const applied = await migrate(databaseUrl, { grants: true });
        const text = applied.length === 0 ? 'The ledger is up to date.' : `Applied: ${applied.join(', ')}`;
        cli.terminal.result({ applied }, () => text);
        return EXIT.done;
      }),
    );
  ledger
    .command('restored')
    .summary('bring back what a restored ledger lost')
    .description(
      'Bring back the filings that Temporal knows and the ledger lost, and let work go on. What may have been sent since and nobody knows is unknown. Can be repeated.',
    )
    .option('--since <time>', 'the time of the backup, or earlier, as 2026-02-03T04:00:00Z')
    .option('--nothing-lost', 'nothing was lost, as after a planned move: the ledger is used as it is')
    .addOption(byOption())
    .addHelpText('after', ABOUT)
    .action(
      bind(
        async (cli, _, { since, nothingLost = false, by }: { since?: string; nothingLost?: boolean; by: string }) => {
          if ((since !== undefined) === nothingLost)
            throw new UsageError('Give either --since TIME or --nothing-lost.');
          const time = since === undefined ? null : timeOf(since);
          const { mode, ...config } = await cli.config('mode', 'database', 'temporal', 'filing', 'tuning');
          const pool = await cli.pool();
          const { nothingLost: renew, restoreLedger } = await import('../../../restore.js');
          const { filingSettings } = await import('../../../../config/config.js');
          const restored =
            time === null
              ? await renew({ pool, mode }, by)
              : await restoreLedger(
                  {
                    pool,
                    mode,
                    temporal: await cli.temporal(),
                    taskQueue: config.taskQueue,
                    settings: filingSettings(config),
                  },
                  { since: time, by },
                );
          cli.terminal.result(restored, () => restoredText(restored));
          return restored.state === 'whole' && restored.lost.length === 0 ? EXIT.done : EXIT.waiting;
        },
      ),
    );
}

function timeOf(text: string): Date {
  const time = new Date(text);
  const known =
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/u.test(text) && !Number.isNaN(time.getTime());
  if (!known || time.getTime() > Date.now())
    throw new UsageError(`${text} is no time in the past; allowed: such as 2026-02-03T04:00:00Z.`);
  return time;
}

function textOf({ ledgerId, epoch, heartbeat, state, comparedAt, missing }: LedgerStatus): string[] {
  return [
    `Ledger ${ledgerId}, epoch ${epoch}, heartbeat ${heartbeat.beat} at ${heartbeat.at}.`,
    comparedAt === null ? 'It was never compared with Temporal.' : `It had all that Temporal knew at ${comparedAt}.`,
    state === 'whole' ? 'The ledger is whole.' : 'The ledger is recovering: nothing is sent.',
    ...missing.map(({ text, since }) => `  since ${since}: ${text}`),
  ];
}

function restoredText(restored: Restored): string[] {
  const { filings, lost } = restored;
  return [
    `${filings.length} filings were brought back.`,
    ...filings.map(({ workflowId, filingId, sends }) => `  ${workflowId} (${filingId}): ${SENDS[sends]}`),
    ...(lost.length > 0 ? ['Not brought back; compare them with the portal:'] : []),
    ...lost.map(({ workflowId, state, why }) => `  ${workflowId}, last seen as ${state}: ${why}`),
    ...textOf(restored),
  ];
}

const SENDS: Record<Restored['filings'][number]['sends'], string> = {
  accepted: 'accepted; its request is followed',
  unknown: 'it is not known whether it was filed',
  abandoned: 'abandoned before a send',
  there: 'the ledger knew its sends already',
  recorded: 'its run goes on with it',
};

const HELP = `
Checks the configuration, PostgreSQL (reachable, schema, rights, clock, keys of the stored passwords), Temporal (reachable, search
attributes, workers, schedules), whether the ledger is whole, the document store (usable, its own) and the filing service (reachable, key, clock).
Run it with the environment of a worker. Exits with 1 if something is wrong.

Example:
  $ ebrc doctor`;

const GOOD = toned('ok', 'good');
const BAD = toned('WRONG', 'bad');

export function addDoctorCommand(program: Command, bind: Bind): void {
  program
    .command('doctor')
    .summary('check this installation')
    .description('Check configuration, links, rights, clocks and workers, and say what to do.')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli) => {
        const { examine } = await import('../../../doctor/doctor.js');
        const results = await examine(cli.env, () => cli.api(), cli.connectWithinMs);
        cli.terminal.result(results, () =>
          table(
            ['Check', '', 'Found', 'What to do'],
            results.map((result) => [result.check, result.ok ? GOOD : BAD, result.message, result.advice]),
          ),
        );
        return results.every(({ ok }) => ok) ? EXIT.done : EXIT.unexpected;
      }),
    );
}
