import { InvalidArgumentError, Option, type Command } from 'commander';
import { dateText, ISO_DATE, parseDuration, parseFilingDate } from '../../../../domain/dates';
import { FILING_STATES } from '../../../../domain/filing/states';
import { attentionLines, filingsPage, filingPage, nothingListed } from '../../filing-text';
import type { EventView, FilingSummary } from '../../../../domain/filing/view';
import type { Bind, Cli } from '../../context';
import { UsageError } from '../../../errors';
import { printList, withListOptions, checkOutputPath, forceOption, type ListPart, type WriteOptions } from '../options';
import type { ListFilter, CertificateFilter } from '../../../reader';
import { apart, localTime, table, optional, right, type Part, type Page } from '../../page';
import { counted } from '../../../../domain/text';
import { amountText } from '../../../../domain/money';
import type { CertificateView } from '../../../../ledger/certificates/certificates';

/** Default number of filings listed; --jsonl lists all. */
const DEFAULT_LIMIT = 1_000;

const LIST_HELP = `
Examples:
  $ ebrc list --attention
  $ ebrc list --state processing --state overdue --since 7d
  $ ebrc list --search INV-2026-117
  $ ebrc list --jsonl > filings.jsonl`;

export function addListCommand(program: Command, bind: Bind): void {
  const states = new Option('--state <state>', 'only those in this state; may be given several times');
  const list = program
    .command('list')
    .summary('list filings')
    .description(`List filings, newest first; ${DEFAULT_LIMIT} without --limit or --jsonl.`)
    .addOption(states.choices(FILING_STATES).argParser(collectState))
    .option('-e, --exporter <exporter>', 'only those of this exporter (id or e-mail)')
    .option('--attention', 'only those that need attention')
    .option('--since <when>', 'only those made since then: a day (YYYY-MM-DD), or how long ago (7d)', sinceArgument)
    .option(
      '--search <text>',
      'part of a reference, document or its Bill No, IRM number or eBRC number; or a request id',
    )
    .addHelpText('after', LIST_HELP)
    .action(
      bind(async (cli, _args, options: Omit<ListFilter, 'states'> & ListPart & { state?: string[] }) => {
        const { state: states, jsonl, limit = jsonl ? Infinity : DEFAULT_LIMIT, ...filter } = options;
        const reader = await cli.reader();
        const { mode } = await cli.config('mode');
        const asking: FilingSummary[] = [];
        const page = (filings: readonly FilingSummary[]) => {
          asking.push(...filings.filter(({ needsAttention }) => needsAttention));
          return filings.length === 0 ? nothingListed('filings', mode, { ...filter, states }) : filingsPage(filings);
        };
        const pages = reader.filingPages({ ...filter, states, limit });
        await printList(cli, pages, { page, limit, jsonl, nameOf: ({ filingId }) => filingId ?? '' });
        for (const line of attentionLines(asking)) cli.terminal.note(line);
      }),
    );
  withListOptions(list, 'filing');
}

function collectState(state: string, before: string[] = []): string[] {
  if ((FILING_STATES as readonly string[]).includes(state)) return [...before, state];
  throw new InvalidArgumentError(`Allowed choices are ${FILING_STATES.join(', ')}.`);
}

function sinceArgument(text: string): Date {
  const ago = parseDuration(text);
  if (ago !== null) return new Date(Date.now() - ago);
  if (ISO_DATE.test(text) && parseFilingDate(text).ok) return new Date(`${text}T00:00:00`);
  throw new InvalidArgumentError('Give a day such as 2026-07-01, or how long ago, such as 7d.');
}

const SHOW_HELP = `
Examples:
  $ ebrc show JULY-2026
  $ ebrc show JULY-2026 --history`;

export function addShowCommand(program: Command, bind: Bind): void {
  program
    .command('show')
    .summary('show a filing')
    .description('Show a filing: its state, rows, certificates, errors and the next step.')
    .argument('<filing>', 'filing id, reference (the rows of all its numbers) or REFERENCE#n')
    .option('--history', 'also what happened to it')
    .addHelpText('after', SHOW_HELP)
    .action(
      bind(async (cli, [filing = ''], { history }: { history?: boolean }) => {
        const reader = await cli.reader();
        const view = await reader.show(filing);
        const events = history ? await reader.history(view.filingId ?? filing) : null;
        const document = events ? { ...view, history: events } : view;
        cli.terminal.result(document, () => apart([...filingPage(view), events && historyTable(events)]));
      }),
    );
}

export function historyTable(events: readonly EventView[]): Part {
  return table(
    ['At', 'State', 'By', 'What happened'],
    events.map((event) => [localTime(event.at), event.state, event.who, event.text]),
  );
}

const CERTIFICATES_HELP = `
Examples:
  $ ebrc certificates --exporter accounts@asha.example
  $ ebrc certificates --document INV-2026-117 --pdfs certificates/
  $ ebrc certificates --pdfs july.zip -o july.csv
  $ ebrc certificates --for-bank -o for-the-bank.xlsx
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
    .addOption(forBankOption())
    .addOption(forceOption())
    .addHelpText('after', CERTIFICATES_HELP)
    .action(
      bind(async (cli, _args, options: CertificatesOptions) => {
        if (options.forBank) return writeForBank(cli, options);
        const { exporter, document, pdfs, output, force, limit, after, jsonl } = options;
        await checkOutputPath({ output, force }, '.csv', '.xlsx');
        const { isZip, writeCertificates, writePdfs } = await import('../../../filings/export-certificates.js');
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
        const shown = all.map((certificate) =>
          copies ? { ...certificate, copy: copies.get(certificate.eBRCNumber) ?? null } : certificate,
        );
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

type CertificatesOptions = CertificateFilter & ListPart & Partial<WriteOptions> & { pdfs?: string; forBank?: boolean };

const forBankOption = () =>
  new Option(
    '--for-bank',
    'write to -o FILE.xlsx what the bank closes its bills by: each document, its IRMs and certificates, and what is still open',
  ).conflicts(['pdfs', 'limit', 'after', 'jsonl']);

async function writeForBank(cli: Cli, { exporter, document, output, force }: CertificatesOptions): Promise<void> {
  if (output === undefined) throw new UsageError('Name the file of the list for the bank: -o FILE.xlsx.');
  await checkOutputPath({ output, force }, '.xlsx');
  const { writeBankList } = await import('../../../filings/export-certificates.js');
  const entries = await (await cli.reader()).bankList({ exporter, document });
  await writeBankList(output, entries);
  cli.terminal.result(entries, () => `${counted(entries.length, 'certificate')} written to ${output}.`);
}

function certificatesPage(certificates: readonly CertificateView[]): Page {
  return table(
    [
      ...['eBRC number', 'Date', 'Document', right('Realised'), optional('Cancel by')],
      ...[optional('Filing'), optional('Bill No'), optional('PDF')],
    ],
    certificates.map((certificate) => [
      certificate.eBRCNumber,
      dateText(certificate.eBRCDate),
      certificate.sbCumInvoiceNumber,
      amountText(certificate.realisedValueFCC, certificate.currencyCode),
      certificate.cancelBy ?? certificate.eBRCStatus,
      certificate.reference ?? certificate.filingId,
      certificate.billNo,
      [certificate.document, certificate.pdfNote && `(${certificate.pdfNote})`].filter(Boolean).join(' '),
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
    .description('Write what was handed in, declared, decided, sent and answered, and the certificates, into one .zip.')
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
