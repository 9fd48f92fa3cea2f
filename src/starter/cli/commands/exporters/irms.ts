import type { Command } from 'commander';
import type { RefreshIrmsResult } from '../../../../domain/contracts';
import { EXIT } from '../../../errors';
import type { Cli } from '../../context';
import { dateText } from '../../filing-text';
import type { Bind } from '../../bind';
import { table } from '../../terminal';

export function addIrmsCommand(program: Command, bind: Bind): void {
  program
    .command('irms')
    .summary('list the inward remittances of an exporter')
    .description('List an exporter’s inward remittances (IRMs): balances, and what our own filings hold of them.')
    .argument('<exporter>', 'id or e-mail')
    .option('--refresh', 'read them live from the authority first')
    .addHelpText('after', '\nExample:\n  $ ebrc irms accounts@asha.example --refresh')
    .action(
      bind(async (cli, [exporter = ''], { refresh }: { refresh?: boolean }) => {
        const skipped = refresh ? await refreshed(cli, exporter) : [];
        const irms = await (await cli.reader()).irms(exporter);
        cli.terminal.result(irms, () =>
          irms.length === 0
            ? 'No IRMs. `ebrc irms EXPORTER --refresh` reads them live.'
            : table(
                [
                  'IRM',
                  'Date',
                  'AD code',
                  'IFSC',
                  'Amount',
                  'Available',
                  'Held by us',
                  'Purpose',
                  'Status',
                  'Remitter',
                ],
                irms.map((irm) => [
                  irm.irmNumber,
                  dateText(irm.irmIssueDate),
                  irm.irmAdCode,
                  irm.irmIfscCode,
                  irm.amount && `${irm.amount} ${irm.currency ?? ''}`,
                  irm.available,
                  irm.heldBy.length > 0 ? `${irm.held} (${irm.heldBy.map((hold) => hold.filingId).join(', ')})` : '',
                  irm.purposeCode,
                  irm.status,
                  irm.remitterName,
                ]),
              ),
        );
        for (const { reason } of skipped) cli.terminal.note(`Not refreshed: ${reason}`);
        return skipped.length > 0 ? EXIT.waiting : EXIT.done;
      }),
    );
}

/** Reads the IRMs live; returns the exporters that could not be read, and why. */
async function refreshed(cli: Cli, exporter: string): Promise<RefreshIrmsResult['skipped']> {
  const client = await cli.client();
  const progress = cli.terminal.progress();
  progress.say('reading IRMs live from the authority');
  try {
    return (await client.refreshIrms(exporter)).skipped;
  } finally {
    progress.stop();
  }
}
