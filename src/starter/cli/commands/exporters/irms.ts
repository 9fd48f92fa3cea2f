import type { Command } from 'commander';
import type { RefreshIrmsResult } from '../../../../domain/contracts';
import { EXIT } from '../../../errors';
import type { Cli } from '../../context';
import { dateText } from '../../filing-text';
import type { Bind } from '../../bind';
import { amountText } from '../../amount-text';
import { localTime, optional, right, table } from '../../page';

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
                  right('Amount'),
                  right('Available'),
                  right('Free'),
                  optional('Remitter'),
                  optional('AD code'),
                  optional('IFSC'),
                  optional('Purpose'),
                  optional('Status'),
                  optional('Held by us'),
                  optional('Read'),
                ],
                irms.map((irm) => [
                  irm.irmNumber,
                  dateText(irm.irmIssueDate),
                  amountText(irm.amount, irm.currency),
                  amountText(irm.available),
                  amountText(irm.free),
                  irm.remitterName,
                  irm.irmAdCode,
                  irm.irmIfscCode,
                  irm.purposeCode,
                  irm.status,
                  irm.heldBy.length > 0 &&
                    `${amountText(irm.held)} (${irm.heldBy.map((hold) => hold.reference).join(', ')})`,
                  localTime(irm.readAt),
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
