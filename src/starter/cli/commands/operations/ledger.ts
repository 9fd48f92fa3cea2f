import { Option, type Command } from 'commander';
import type { LedgerStatus } from '../../../../ledger/sends/ledger-status';
import { EXIT } from '../../../errors';
import type { Bind } from '../../context';
import { byOption } from '../options';
import { table, toned } from '../../page';

const ABOUT = `
Every send has a record in the document store. A ledger that was restored to an earlier state (a restored volume, a
replica that lagged behind) does not know some of them. Nothing is sent or settled until \`ebrc ledger restored\` has brought them back.
docs/operations.md has the runbook.

Examples:
  $ ebrc ledger status
  $ ebrc ledger restored
  $ ebrc ledger restored --documents restored`;

/** `ledger status`, `ledger migrate` and `ledger restored`. */
export function addLedgerCommands(program: Command, bind: Bind): void {
  const ledger = program
    .command('ledger')
    .summary('check the ledger, migrate it, or repair it after a restore')
    .description('The ledger itself: whether it knows every send, its migrations, and what to do after a restore.')
    .addHelpText('after', ABOUT);
  ledger
    .command('status')
    .summary('show whether the ledger has every send')
    .description(
      'Show whether the ledger knows every send that the document store has, and has the moves that the newest recorded. Changes nothing.',
    )
    .addHelpText('after', '\nExample:\n  $ ebrc ledger status --json')
    .action(
      bind(async (cli) => {
        const { readLedgerStatus } = await import('../../../../ledger/sends/ledger-status.js');
        const status = await readLedgerStatus(await cli.pool(), await cli.configuredDocuments());
        cli.terminal.result(status, () => textOf(status));
        return status.problem === null ? EXIT.done : EXIT.waiting;
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
    .summary('bring back the sends that a restored ledger lost')
    .description(
      'Bring back the sends that a restored ledger does not know, and give void records to numbers that have none. Can be repeated.',
    )
    .addOption(
      new Option(
        '--documents <restored>',
        'the document store was restored as well: everything unsent is in doubt, and new filings wait',
      ).choices(['restored']),
    )
    .addOption(byOption())
    .addHelpText('after', ABOUT)
    .action(
      bind(async (cli, _, { documents, by }: { documents?: 'restored'; by: string }) => {
        const { overdueAfterMs, settleAfterMs } = await cli.config('database', 'documents', 'filing');
        const pool = await cli.pool();
        const store = await cli.configuredDocuments();
        const at = new Date();
        const { importSends } = await import('../../../../ledger/sends/send-import.js');
        const { documentsRestored } = await import('../../../../ledger/sends/documents-restored.js');
        const { readLedgerStatus } = await import('../../../../ledger/sends/ledger-status.js');
        const brought =
          documents === 'restored'
            ? await documentsRestored(pool, store, { at, by, waitMs: overdueAfterMs + settleAfterMs })
            : await importSends(pool, store, { at, by });
        const status = await readLedgerStatus(pool, store);
        const { sends, filings, unreadable } = brought;
        cli.terminal.result({ ...status, ...brought }, () => [
          `${sends} sends brought back; the outcome of ${filings.length} filings is unknown now.`,
          ...filings.map((filingId) => `  ${filingId}`),
          unreadable.length > 0 &&
            `The records of sends ${unreadable.join(', ')} cannot be read: restore them from a backup.`,
          ...textOf(status),
        ]);
        return status.whole ? EXIT.done : EXIT.waiting;
      }),
    );
}

function textOf(status: LedgerStatus): (string | false)[] {
  const { ledgerId, sendNumber, newestInStore, comparedTo, unknownSends, problem, filingsWaitUntil } = status;
  const newest = newestInStore === null ? 'none' : String(newestInStore);
  return [
    `Ledger ${ledgerId}: last send ${sendNumber}, newest in the document store ${newest}, compared up to ${comparedTo}.`,
    problem ?? 'The ledger is whole: it knows every send.',
    unknownSends > 0 && `It does not know ${unknownSends} of the sends.`,
    filingsWaitUntil !== null &&
      `New filings of an exporter wait until its certificates were read after ${filingsWaitUntil}.`,
  ];
}

const HELP = `
Checks the configuration, PostgreSQL (reachable, schema, rights, clock, keys of the stored passwords), Temporal (reachable, search
attributes, workers, schedules), the document store (usable, every send known) and the filing service (reachable, key, clock).
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
