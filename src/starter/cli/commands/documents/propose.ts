import { Option, type Command } from 'commander';
import type { ProposeOutcome } from '../../../../assistant/proposals/propose';
import type { Bind } from '../../context';
import { checkOutputPath, forceOption } from '../../output-path';
import { amountText } from '../../../../domain/money';
import { right, table, type Page } from '../../page';

const HELP = `
Maps the free balances of the exporter's remittances to documents that are not yet certified (from \`ebrc invoices import\` and from
filed rows), so that the whole assignment is the most likely one: by currency, remitter and buyer, amount within bank charges, the order of dates, document
numbers in the bank's remarks, purpose and upload type. Colours and notes mark what to check. Nothing is filed.

Example:
  $ ebrc propose accounts@asha.example -o july.xlsx
  $ ebrc check july.xlsx --exporter accounts@asha.example`;

interface ProposeOptions {
  output: string;
  force?: boolean;
  uploadType?: string;
}

export function addProposeCommand(program: Command, bind: Bind): void {
  program
    .command('propose')
    .summary('propose which remittance pays for which document')
    .description('Propose mappings of free balances to open documents, as a workbook to look through and file.')
    .argument('<exporter>', 'id or e-mail')
    .requiredOption('-o, --output <FILE.xlsx>', 'where it is written')
    .addOption(forceOption())
    .addOption(
      new Option('--upload-type <type>', 'only this type; a filing has one type').choices(['101', '102', '103', '104']),
    )
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [exporter = ''], { output, force, uploadType }: ProposeOptions) => {
        await checkOutputPath(output, { force, endings: ['.xlsx'] });
        const { proposeMappings } = await import('../../../../assistant/proposals/propose.js');
        const { writeOutputFile } = await import('../../../../documents/output-file.js');
        const { mode } = await cli.config('mode', 'database');
        const request = { exporter, ...(uploadType !== undefined && { uploadType: Number(uploadType) }) };
        const { workbook, ...outcome } = await proposeMappings({ pool: await cli.pool(), mode }, request);
        await writeOutputFile(output, workbook);
        for (const note of outcome.notes) cli.terminal.note(note);
        cli.terminal.result({ path: output, ...outcome }, () => textOf(output, outcome));
      }),
    );
}

function textOf(output: string, { proposals, gaps, ok }: Omit<ProposeOutcome, 'workbook'>): Page {
  const rows = proposals.map(({ irmNumber, document, amount, currency, confidence, reasons }) => [
    irmNumber,
    document,
    amountText(amount, currency),
    `${Math.round(confidence * 100)} %`,
    reasons.join('; '),
  ]);
  const left = ok
    ? 'It passes the check unchanged.'
    : `Before it passes the check, ${gaps.length} cells have to be filled in.`;
  return [
    table(['IRM', 'Document', right('Amount'), right('Confidence'), 'Why'], rows),
    `${proposals.length} proposals written to ${output}. ${left}`,
  ];
}
