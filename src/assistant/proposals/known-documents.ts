import { DIRECT_EXPORT, isUploadType } from '../../domain/rules/upload-type';
import type { DocumentFacts, DraftCell, DraftCells } from '../drafts/cells';
import type { Mapping } from '../../domain/filing/mapping';
import { lastPorts, ledgerDocuments, type LedgerDocument } from './open-documents';
import type { Queryable } from '../../ledger/pool';

/** A shipping bill number (spec: rule 2 of the push message). */
const SHIPPING_BILL = /^\d{1,7}$/;

/** Open documents, each with the data of its filed rows. Their type is null if it is not known. */
export async function knownDocuments(db: Queryable, exporterId: string): Promise<DocumentFacts[]> {
  const ports = await lastPorts(db, exporterId);
  const open = (await ledgerDocuments(db, exporterId)).filter((each) => Number(each.open) > 0);
  return open.map((document) => {
    const type = document.uploadType ?? (SHIPPING_BILL.test(document.number) ? DIRECT_EXPORT : null);
    const port = type === null ? undefined : ports.get(type);
    return {
      ...document,
      uploadType: type,
      billNo: document.filed?.mapping.billNo ?? null,
      cells: cellsOf(document, type, port),
      documents: [document.filed ? `filing ${document.filed.reference}` : 'invoice list'],
    };
  });
}

function cellsOf(
  document: LedgerDocument,
  type: number | null,
  port: { port: string; reference: string } | undefined,
): DraftCells {
  const { filed, number, date, currency, value } = document;
  const source =
    filed && document.uploadType === filed.mapping.uploadType ? `Filing ${filed.reference}` : 'Invoice list';
  const read = (it: string | number, note = source): DraftCell => ({ value: it, note });
  const guess = (it: string | number, note: string): DraftCell => ({ value: it, note, mark: 'guess' });
  const cells: DraftCells = {
    sbCumInvoiceNumber: read(number),
    sbCumInvoiceDate: read(date),
    sbCumInvoiceFCC: read(currency),
    sbCumInvoiceValueinFCC: read(Number(value)),
    billNo: guess(number.slice(0, 20), 'No invoice reference is known: this is the number of the document.'),
    ...(port && { portCode: guess(port.port, `The port of filing ${port.reference}, the last of this upload type.`) }),
    ...(filed && fromFiled(filed.mapping, (it) => read(it, `Filing ${filed.reference}`))),
  };
  if (type !== null && isUploadType(type)) {
    const isKnown = document.uploadType !== null;
    cells.uploadType = isKnown ? read(type) : guess(type, 'Only digits, at most seven: it looks like a shipping bill.');
  }
  return cells;
}

/** Data of an earlier row of the document that stays the same from row to row. */
function fromFiled(mapping: Mapping, read: (value: string | number) => DraftCell): DraftCells {
  const { portCode, billNo, branchSlNo, isVostro, gstinInvoiceNumber, gstinInvoiceDate } = mapping;
  return {
    portCode: read(portCode),
    billNo: read(billNo),
    branchSlNo: read(branchSlNo),
    isVostro: read(isVostro),
    ...(gstinInvoiceNumber &&
      gstinInvoiceDate && {
        gstinInvoiceNumber: read(gstinInvoiceNumber),
        gstinInvoiceDate: read(gstinInvoiceDate),
      }),
  };
}
