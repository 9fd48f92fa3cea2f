import type { Command } from 'commander';
import { counted } from '../../../../domain/text';
import { amountText } from '../../../../domain/money';
import type { Bind } from '../../context';
import { dateText } from '../../../../domain/dates';
import { nothingListed } from '../../filing-text';
import { checkOutputPath, forceOption, printList, withListOptions, type ListPart, type WriteOptions } from '../options';
import { optional, right, table, type Page } from '../../page';
import type { CertificateFilter } from '../../../reader';
import type { CertificateView } from '../../../../ledger/certificates/certificates';

const HELP = `
Examples:
  $ ebrc certificates --exporter accounts@asha.example
  $ ebrc certificates --document INV-2026-117 --pdfs certificates/
  $ ebrc certificates --pdfs july.zip -o july.csv
  $ ebrc certificates --jsonl > certificates.jsonl`;

export function addCertificateCommands(program: Command, bind: Bind): void {
  const list = program
    .command('certificates')
    .summary('list the certificates, and copy their PDFs')
    .description('List the certificates and where their PDFs are, newest first.')
    .option('-e, --exporter <exporter>', 'only those of this exporter (id or e-mail)')
    .option('--document <number>', 'only those whose shipping bill, invoice or Bill No contains this')
    .option('--pdfs <place>', 'copy the PDFs into this folder or .zip, named DOCUMENT-EBRCNUMBER.pdf')
    .option('-o, --output <FILE>', 'write the list to a file; ends in .csv or .xlsx')
    .addOption(forceOption())
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, _args, options: CertificateFilter & ListPart & Partial<WriteOptions> & { pdfs?: string }) => {
        const { exporter, document, pdfs, output, force, limit, after, jsonl } = options;
        await checkOutputPath({ output, force }, '.csv', '.xlsx');
        const { isZip, writeCertificates, writePdfs } = await import('../../../export-certificates.js');
        if (pdfs !== undefined && isZip(pdfs)) await checkOutputPath({ output: pdfs, force }, '.zip');
        const pages = (await cli.reader()).certificates({ exporter, document, limit, after });
        const { mode } = await cli.config('mode');
        const page = (items: readonly CertificateView[]) =>
          items.length === 0
            ? nothingListed('certificates', mode, { exporter, document, after })
            : certificatesPage(items);
        if (output === undefined && pdfs === undefined) {
          await printList(cli, pages, { page, limit, jsonl, nameOf: ({ eBRCNumber }) => eBRCNumber });
          return;
        }
        const all: CertificateView[] = [];
        for await (const page of pages) all.push(...page);
        if (output !== undefined) await writeCertificates(output, all);
        const copies = pdfs === undefined ? null : await writePdfs(await cli.documents(), pdfs, all);
        const shown = all.map((each) => (copies ? { ...each, copy: copies.get(each.eBRCNumber) ?? null } : each));
        cli.terminal.result(shown, () => page(all));
        if (output !== undefined) cli.terminal.note(`${counted(all.length, 'certificate')} written to ${output}.`);
        if (copies) {
          const missing = all.length - copies.size;
          const later = missing > 0 ? ` ${counted(missing, 'PDF')} of the list are not stored yet.` : '';
          cli.terminal.note(`${counted(copies.size, 'PDF')} written to ${pdfs}.${later}`);
        }
      }),
    );
  withListOptions(list, 'number');
}

function certificatesPage(certificates: readonly CertificateView[]): Page {
  return table(
    [
      ...['eBRC number', 'Date', 'Document', right('Realised')],
      ...[optional('Filing'), optional('Bill No', { under: 'Document' }), optional('PDF')],
    ],
    certificates.map((each) => [
      each.eBRCNumber,
      dateText(each.eBRCDate),
      each.sbCumInvoiceNumber,
      amountText(each.realisedValueFCC, each.currencyCode),
      each.reference ?? each.filingId,
      each.billNo,
      each.document,
    ]),
  );
}

const EVIDENCE_HELP = `
SHA256SUMS in it has the hash of every file: \`sha256sum -c SHA256SUMS\`. about.json says what retention has removed, and what differs
from what was recorded when it was sent.

Examples:
  $ ebrc evidence JULY-2026 -o july-2026.zip`;

export function addEvidenceCommand(program: Command, bind: Bind): void {
  program
    .command('evidence')
    .summary('write all evidence of a filing into one .zip')
    .description(
      'Write what was handed in, declared, granted, said, sent and answered, and the certificates, into one .zip.',
    )
    .argument('<filing>', 'filing id or reference (REFERENCE#n for the n-th filing under it)')
    .requiredOption('-o, --output <FILE>', 'the file; ends in .zip')
    .addOption(forceOption())
    .addHelpText('after', EVIDENCE_HELP)
    .action(
      bind(async (cli, [filing = ''], write: WriteOptions) => {
        const { output } = write;
        await checkOutputPath(write, '.zip');
        const { writeEvidence } = await import('../../../filings/evidence.js');
        const deps = { ...(await cli.ledger()), documents: await cli.documents() };
        const written = await writeEvidence(deps, filing, output);
        cli.terminal.result(written, () => `${counted(written.files.length, 'file')} written to ${output}.`);
        for (const { file, why } of [...written.removed, ...written.differs]) cli.terminal.note(`${file}: ${why}.`);
      }),
    );
}
