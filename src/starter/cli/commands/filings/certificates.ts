import type { Command } from 'commander';
import { dateText } from '../../filing-text';
import type { Bind } from '../../bind';
import { amountText } from '../../amount-text';
import { optional, right, table } from '../../page';

export function addCertificateCommands(program: Command, bind: Bind): void {
  program
    .command('certificates')
    .summary('list the certificates and where their PDFs are')
    .description('List the certificates and where their PDFs are, newest first.')
    .option('-e, --exporter <exporter>', 'only those of this exporter (id or e-mail)')
    .addHelpText('after', '\nExample:\n  $ ebrc certificates --exporter accounts@asha.example')
    .action(
      bind(async (cli, _args, { exporter }: { exporter?: string }) => {
        const certificates = await (await cli.reader()).certificates({ exporter });
        cli.terminal.result(certificates, () =>
          certificates.length === 0
            ? 'No certificates.'
            : table(
                ['eBRC number', 'Date', 'Document', right('Realised'), optional('Filing'), optional('PDF')],
                certificates.map((each) => [
                  each.eBRCNumber,
                  dateText(each.eBRCDate),
                  each.sbCumInvoiceNumber,
                  amountText(each.realisedValueFCC, each.currencyCode),
                  each.reference ?? each.filingId,
                  each.document,
                ]),
              ),
        );
      }),
    );
}
