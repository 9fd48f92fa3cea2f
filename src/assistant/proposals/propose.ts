import type { LedgerDependencies } from '../../starter/dependencies';
import { MAX_ROWS_PER_SUBMISSION } from '../../domain/service/limits';
import { draftRow, gapsOf, type DocumentFacts, type DraftRow } from '../drafts/cells';
import { comparableText } from '../../domain/identity';
import { counted } from '../../domain/text';
import { groupBy } from '../../domain/values';
import { propose, type Proposal } from './assignment';
import { listIrms, type IrmRow } from '../../ledger/exporters/irms';
import { checkedDraft } from '../drafts/draft-workbook';
import { refusal } from '../../starter/errors';
import { exporterIdOf } from '../../starter/lookup';
import { knownDocuments, openIrms } from './open-documents';

export interface ProposeOutcome {
  workbook: Buffer;
  uploadType: number;
  proposals: ReturnType<typeof viewOf>[];
  /** Cells that a person has to fill in before filing; `row` is the Excel row. */
  gaps: ReturnType<typeof gapsOf>;
  /** Whether the workbook passes `ebrc check` unchanged. */
  ok: boolean;
  /** What is not in the workbook, and why. */
  notes: string[];
}

/**
 * Proposes which open balance pays for which open document, as a workbook in the form of the upload template. Documents
 * come from the invoice list and from filed rows. Nothing is filed.
 * @throws RefusedError for an unknown exporter, or if there is nothing to propose
 */
export async function proposeMappings(
  deps: LedgerDependencies,
  args: {
    /** Id or e-mail. */
    exporter: string;
    /** Only documents of this type or of unknown type; a filing has one type. */
    uploadType?: number;
  },
): Promise<ProposeOutcome> {
  const { exporter, uploadType: asked } = args;
  const { pool, mode } = deps;
  const exporterId = await exporterIdOf(pool, mode, exporter);
  const [known, rows] = await Promise.all([knownDocuments(pool, exporterId), listIrms(pool, exporterId)]);
  const typed = known.map((document) => ({ ...document, uploadType: document.uploadType ?? asked ?? null }));
  const documents = typed.filter(({ uploadType }) => asked === undefined || uploadType === asked);
  const considered = documents.slice(0, MAX_CONSIDERED.documents);
  const { irms, known: balances } = await openIrms(pool, exporterId, {
    rows,
    most: MAX_CONSIDERED.irms,
    sorted: (open) => mostLikely(open, considered),
  });
  const { proposals: all, cut } = propose(irms, considered);
  const { type, chosen, notes } = choose(all, asked);
  if (documents.length > considered.length || balances > MAX_CONSIDERED.irms)
    notes.push(
      `Looked at ${considered.length} of ${documents.length} open documents, the oldest, and ${irms.length} of ${balances} remittances with a balance; propose again after filing these.`,
    );
  if (cut > 0) notes.push(`${cut} pairs were ignored because both sides have more likely ones.`);
  if (chosen.length === 0) throw nothingToPropose(balances, documents.length, notes);
  const filed = chosen.slice(0, MAX_ROWS_PER_SUBMISSION);
  const drafted = filed.map((proposal, index) => rowOf(proposal, type, index + 1));
  if (chosen.length > drafted.length)
    notes.push(
      `${chosen.length - drafted.length} proposals do not fit into one workbook; propose again after filing these.`,
    );
  const title = `Proposed mappings of ${exporter}, upload type ${type}. Nothing is filed until you file it.`;
  const { workbook, ok } = await checkedDraft(deps, { exporter, name: 'proposals.xlsx' }, { rows: drafted, title });
  const proposals = filed.map((proposal) => viewOf(proposal, type));
  return { workbook, uploadType: type, proposals, gaps: gapsOf(drafted), ok, notes };
}

/** Maximum number of documents and IRMs considered, because each is compared with each. */
const MAX_CONSIDERED = { documents: 500, irms: 500 };

/** IRMs in the documents' currencies: those whose remitter is one of the buyers first, then the oldest. */
function mostLikely(irms: readonly IrmRow[], documents: readonly DocumentFacts[]): IrmRow[] {
  const currencies = new Set(documents.map(({ currency }) => currency));
  const buyers = new Set(documents.map(({ buyer }) => comparableText(buyer ?? '')));
  const isNamed = ({ remitterName }: IrmRow) => remitterName !== null && buyers.has(comparableText(remitterName));
  const fitting = irms.filter(({ currency }) => currencies.has(currency ?? '')).reverse();
  const byBuyer = groupBy(fitting, (irm) => String(isNamed(irm)));
  return [...(byBuyer.get('true') ?? []), ...(byBuyer.get('false') ?? [])];
}

/** Selects the proposals of one upload type: the requested one, or the one with the most. A filing has one type. */
function choose(proposals: readonly Proposal[], asked: number | undefined) {
  const byType = groupBy(proposals, ({ document }) => String(document.uploadType ?? 'unknown'));
  const sizes = [...byType].filter(([type]) => type !== 'unknown').sort(([, a], [, b]) => b.length - a.length);
  const type = asked ?? Number(sizes[0]?.[0] ?? NaN);
  const notes = [...byType]
    .filter(([other]) => other !== String(type))
    .map(([other, left]) =>
      other === 'unknown'
        ? `Left out: ${counted(left.length, 'proposal')} for documents of unknown upload type: give --upload-type.`
        : `Left out: ${counted(left.length, 'proposal')} for upload type ${other}: give --upload-type ${other}.`,
    );
  return { type, chosen: byType.get(String(type)) ?? [], notes };
}

function nothingToPropose(irms: number, documents: number, notes: readonly string[]) {
  const why =
    irms === 0
      ? 'no remittance has a free balance (`ebrc irms EXPORTER --refresh` reads them again)'
      : documents === 0
        ? 'no open document is known (`ebrc invoices import FILE` adds them, `ebrc draft` reads PDFs)'
        : `none of ${irms} remittances fits one of ${documents} documents`;
  return refusal('nothing_to_propose', [`There is nothing to propose: ${why}.`, ...notes].join(' '));
}

function rowOf(proposal: Proposal, type: number, serialNo: number): DraftRow {
  const facts = proposal.document as DocumentFacts;
  const asked = { uploadType: { value: type, note: 'As asked for.' } };
  return draftRow({ ...proposal, document: { ...facts, cells: { ...asked, ...facts.cells } } }, serialNo);
}

function viewOf(proposal: Proposal, uploadType: number) {
  const { irm, document, amount, confidence, reasons, alternatives } = proposal;
  return {
    irmNumber: irm.irmNumber,
    irmAdCode: irm.irmAdCode,
    document: document.number,
    documentDate: document.date,
    uploadType,
    amount,
    currency: irm.currency,
    confidence,
    reasons,
    alternatives: alternatives.map(({ irmNumber }) => irmNumber),
  };
}
