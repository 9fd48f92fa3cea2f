import type { Command } from 'commander';
import type { Bind } from '../../bind';
import { checkOutputPath, forceOption } from '../../output-path';

const HELP = `
The service's own template with the exporter's IRMs filled in, and drop-downs, formats, help, the remitter and the free balance
added. Remittances of which nothing is free are left out. If the service cannot provide the template, it is built from the IRMs
that the ledger holds.

Example:
  $ ebrc template accounts@asha.example -o july.xlsx`;

export function addTemplateCommand(program: Command, bind: Bind): void {
  program
    .command('template')
    .summary('make a workbook to fill in')
    .description('Make a bulk workbook with one row per inward remittance, to be filled in and filed.')
    .argument('<exporter>', 'id or e-mail')
    .requiredOption('-o, --output <FILE.xlsx>', 'where it is written')
    .addOption(forceOption())
    .option('--all', 'also remittances of which nothing is free')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [exporter = ''], { output, force, all }: { output: string; force?: boolean; all?: boolean }) => {
        await checkOutputPath(output, { force, endings: ['.xlsx'] });
        const { makeTemplate } = await import('../../../exporters/template.js');
        const { writeOutputFile } = await import('../../../../documents/output-file.js');
        const { mode } = await cli.config('api', 'database');
        const deps = { pool: await cli.pool(), api: await cli.api(), mode };
        const { bytes, rows, source, notice } = await makeTemplate(deps, exporter, { all });
        if (notice) cli.terminal.note(notice);
        await writeOutputFile(output, bytes);
        cli.terminal.result({ path: output, rows, source }, () => `${rows} IRMs written to ${output}.`);
      }),
    );
}
