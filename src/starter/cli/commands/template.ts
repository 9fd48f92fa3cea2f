import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { ApiError } from '../../../api/errors';
import { writeOutputFile } from '../../../documents/output-file';
import { heldIrms, listIrms } from '../../../ledger/irms';
import { buildTemplate, decorateTemplate } from '../../../workbook/template';
import { readWorkbook, WorkbookRefused } from '../../../workbook/read';
import type { Cli } from '../context';
import type { Bind } from '../program';

const HELP = `
The service's own template with the exporter's IRMs filled in, and drop-downs, formats and help added. Where the service cannot
give it, it is built from the IRMs that the ledger holds.

Example:
  $ ebrc template accounts@asha.example -o july.xlsx`;

export function addTemplateCommand(program: Command, bind: Bind): void {
  program
    .command('template')
    .summary('make a workbook to fill in')
    .description('Make a bulk workbook with one row per inward remittance, to be filled in and filed.')
    .argument('<exporter>', 'id or e-mail')
    .requiredOption('-o, --output <FILE.xlsx>', 'where it is written')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [exporter = ''], { output }: { output: string }) => {
        const { exporterId } = await (await cli.client()).exporter(exporter);
        const { bytes, source } = await templateOf(cli, exporterId);
        await writeOutputFile(output, bytes);
        const rows = (await readWorkbook(bytes)).drafts.length;
        cli.terminal.result({ path: output, rows, source }, () => `${rows} IRMs written to ${output}.`);
      }),
    );
}

async function templateOf(cli: Cli, exporterId: string): Promise<{ bytes: Buffer; source: 'service' | 'ledger' }> {
  const api = await cli.api();
  try {
    const original = await api.irmTemplate(exporterId, (body) => buffer(body), { exporterId });
    return { bytes: await decorateTemplate(original), source: 'service' };
  } catch (error) {
    // What came in its place may be no workbook at all, such as the page of a proxy.
    if (!(error instanceof ApiError || error instanceof WorkbookRefused)) throw error;
    cli.terminal.note(`The service did not give its template (${error.message}); it is built from the ledger.`);
    const pool = await cli.pool();
    const numbers = (await listIrms(pool, exporterId)).map(({ irmNumber }) => irmNumber);
    return { bytes: await buildTemplate(await heldIrms(pool, exporterId, numbers)), source: 'ledger' };
  }
}
