import type { Command } from 'commander';
import { balanceFindings } from '../../../ledger/balance-reservation';
import { findExporter } from '../../../ledger/exporters';
import type { Mode } from '../../../domain/names';
import { hasErrors, type Finding } from '../../../domain/finding';
import { oncePerCell } from '../../../domain/rules-draft';
import { writeOutputFile } from '../../../documents/output-file';
import { annotateWorkbook } from '../../../workbook/annotate';
import { withColumns, WorkbookRefused } from '../../../workbook/read';
import type { Cli } from '../context';
import { EXIT, UsageError } from '../../errors';
import { readFilingFile, type FilingFile } from '../../filings/read-file';
import { unknownExporter } from '../../exporters/lookup';
import type { Bind } from '../program';
import { describeProblems } from '../report-error';

interface CheckOptions {
  exporter: string;
  uploadType?: string;
  declaration?: 'Y' | 'N';
  output?: string;
}

const HELP = `
Nothing is sent and no worker is needed. The balances are those that the ledger holds (DATABASE_URL), less what your own
filings take; without DATABASE_URL only the rules are checked.

Example:
  $ ebrc check july.xlsx --exporter accounts@asha.example -o checked.xlsx`;

export function addCheckCommand(program: Command, bind: Bind): void {
  program
    .command('check')
    .summary('check a file without filing it')
    .description('Check a push message or a workbook by all rules and balances, without filing it.')
    .argument('<file>', 'push message (.json) or workbook (.xlsx)')
    .requiredOption('-e, --exporter <exporter>', 'id or e-mail of the exporter')
    .option('--upload-type <code>', 'as for `ebrc file`')
    .option('--declaration <flag>', 'as for `ebrc file`')
    .option('-o, --output <CHECKED.xlsx>', 'write the workbook with the errors in its own cells')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [path = ''], { exporter, uploadType, declaration, output }: CheckOptions) => {
        const said = { declaration, ...(uploadType !== undefined && { uploadType: Number(uploadType) }) };
        const file = await readFilingFile({ path }, said);
        if (output !== undefined && file.kind === 'json') {
          throw new UsageError('-o goes with a workbook: a push message has no cells to write into.', 'no_workbook');
        }
        const findings = withColumns(
          oncePerCell([...file.findings, ...(await balances(cli, file, exporter))]),
          file.columns,
        );
        const annotated = output === undefined ? null : await annotate(file, findings, output);
        const errors = findings.filter(({ severity }) => severity === 'error');
        const warnings = findings.filter(({ severity }) => severity === 'warning');
        const ok = errors.length === 0;
        cli.terminal.result({ ok, rows: file.rowCount, errors, warnings, annotated }, () => {
          const verdict = ok ? 'can be filed' : 'cannot be filed';
          const counts = `${file.rowCount} rows, ${errors.length} errors, ${warnings.length} warnings: it ${verdict}.`;
          return [describeProblems(findings), counts, annotated && `Written to ${annotated}`]
            .filter(Boolean)
            .join('\n');
        });
        return ok ? EXIT.done : EXIT.refused;
      }),
    );
}

/** The balances as the ledger holds them; a warning in their place where there is no ledger to ask. */
async function balances(cli: Cli, file: FilingFile, exporter: string): Promise<Finding[]> {
  const { databaseUrl } = cli.optional('database');
  if (databaseUrl === undefined) {
    return [warning('no_balances', 'DATABASE_URL is not set: only the rules were checked, not the balances.')];
  }
  const pool = await cli.pool();
  const { mode } = cli.optional('mode');
  const modes: readonly Mode[] = mode ? [mode] : ['test', 'live'];
  for (const each of modes) {
    const known = await findExporter(pool, each, exporter);
    if (!known) continue;
    if (file.exporterInFile !== undefined && file.exporterInFile !== known.exporterId) {
      return [differs(file.exporterInFile, known.exporterId)];
    }
    return balanceFindings(pool, { exporterId: known.exporterId, rows: file.rows, exceptFiling: null });
  }
  throw unknownExporter(exporter, modes.join(' or '));
}

function warning(code: string, message: string): Finding {
  return { severity: 'warning', code, row: null, field: null, message };
}

function differs(inFile: string, exporterId: string): Finding {
  const message = `The message is for ${inFile}, but --exporter is ${exporterId}. Make them agree.`;
  return { severity: 'error', code: 'exporter_differs', row: null, field: 'platformCustomerId', message };
}

/** The path that was written; null for a file that is refused as a whole and has no cells to write into: its error says why. */
async function annotate(file: FilingFile, findings: readonly Finding[], output: string): Promise<string | null> {
  try {
    await writeOutputFile(output, await annotateWorkbook({ source: file.bytes, findings }));
    return output;
  } catch (error) {
    if (error instanceof WorkbookRefused && hasErrors(findings)) return null;
    throw error;
  }
}
