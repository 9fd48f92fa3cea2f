import type { Command } from 'commander';
import { EXIT } from '../../errors';
import { dateText } from '../filing-text';
import type { Bind } from '../program';
import { table } from '../terminal';

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
        const client = await cli.client();
        const skipped = refresh
          ? (await refreshed(cli.terminal.progress(), () => client.refreshIrms(exporter))).skipped
          : [];
        const irms = await client.irms(exporter);
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

async function refreshed<T>(progress: { say(text: string): void; stop(): void }, work: () => Promise<T>): Promise<T> {
  progress.say('reading IRMs live from the authority');
  try {
    return await work();
  } finally {
    progress.stop();
  }
}
