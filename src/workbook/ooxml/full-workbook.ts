import type { Workbook } from 'exceljs';
import { loadFirstSheet, loadWorkbook, readDirectory } from '../sheet/first-sheet';
import type { WorkbookLimits } from './limits';
import type { WorkbookPackage } from './package';
import { WorkbookRefused } from './refused';
import { withoutPrefix } from '../sheet/sheet-xml';
import type { ZipEntry } from './zip';
import { pack, readZip, unpack, writeZip } from './zip';

/** A workbook that is changed and saved again with everything else in it. */
export interface FullWorkbook {
  workbook: Workbook;
  /** Data validations of the first sheet as XML; assign to replace them. */
  validations: string;
  save(): Promise<Buffer>;
}

/** Cells that exceljs would create one by one for merged ranges. */
const MOST_MERGED_CELLS = 100_000;

/** Longest piece of XML that travels beside exceljs; a longer one is no work of a person and goes. */
const LONGEST_PIECE = 1024 * 1024;

/**
 * Loads a whole workbook with exceljs. Data validations and defined names travel beside it as they are: exceljs would
 * unfold each into one object per cell, which a rule for a whole column turns into a million, and would write them
 * differently. A workbook that exceljs cannot load whole is reduced to its first sheet rather than refused.
 *
 * @throws WorkbookRefused when even the first sheet cannot be loaded
 */
export async function loadFullWorkbook(source: WorkbookPackage, limits: WorkbookLimits): Promise<FullWorkbook> {
  try {
    return await loadWhole(source, limits);
  } catch (error) {
    if (!(error instanceof WorkbookRefused)) throw error;
    return saving({ workbook: await loadFirstSheet(source, limits), names: '', validations: [] });
  }
}

interface Kept {
  workbook: Workbook;
  /** `<definedNames>` as it was. */
  names: string;
  /** `<dataValidations>` of each sheet as it was, in sheet order. */
  validations: string[];
}

async function loadWhole(source: WorkbookPackage, limits: WorkbookLimits): Promise<FullWorkbook> {
  const directory = await readDirectory(source);
  const changed = new Map<string, string>();
  for (const name of source.entries.keys())
    if (/\.(xml|rels|vml)$/i.test(name)) changed.set(name, withoutPrefix((await source.xml(name)) ?? ''));
  const workbookXml = cut(changed.get(directory.part) ?? '', 'definedNames');
  changed.set(directory.part, workbookXml.rest.replace(/(<workbookPr\s[^<>]*date1904=")(?:true|on)"/, '$11"'));
  const sheets = directory.sheets.map(({ part }) => {
    const sheet = cut(changed.get(part) ?? '', 'dataValidations');
    refuseHeavy(sheet.rest, limits);
    changed.set(part, sheet.rest);
    return sheet.piece;
  });
  const entries = await Promise.all(
    [...source.entries.values()].map((entry) => replaced(entry, changed.get(entry.name))),
  );
  const workbook = await loadWorkbook(writeZip(entries));
  const same =
    workbook.worksheets.length === directory.sheets.length &&
    workbook.worksheets.every(({ name }, index) => name === directory.sheets[index]?.name);
  if (!same) throw new WorkbookRefused('damaged', 'Some worksheets cannot be loaded. Save the workbook anew as .xlsx.');
  return saving({ workbook, names: workbookXml.piece, validations: sheets });
}

async function replaced(entry: ZipEntry, text: string | undefined): Promise<ZipEntry> {
  return text === undefined ? entry : pack(entry.name, text, 'store');
}

/** Bounds for what exceljs unfolds; the counts include cells that only have a format. */
function refuseHeavy(xml: string, limits: WorkbookLimits): void {
  let cells = xml.split('<c ').length;
  for (const [, left = '', top, right = '', bottom] of xml.matchAll(
    /<mergeCell\s[^<>]*?ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"/g,
  )) {
    const area = (Number(bottom) - Number(top) + 1) * (left === right ? 1 : Math.max(2, 26 ** right.length));
    cells += Math.abs(area) > MOST_MERGED_CELLS ? limits.cells : Math.abs(area);
  }
  if (cells > limits.cells)
    throw new WorkbookRefused(
      'too_many_cells',
      'The workbook has too many formatted cells. Copy the filled rows into a new one.',
    );
}

function cut(xml: string, element: string): { piece: string; rest: string } {
  const start = xml.indexOf(`<${element}`);
  const end = xml.indexOf(`</${element}>`, start);
  if (start < 0 || end < 0) return { piece: '', rest: xml };
  const after = end + element.length + 3;
  const piece = after - start > LONGEST_PIECE ? '' : portable(xml.slice(start, after));
  return { piece, rest: xml.slice(0, start) + xml.slice(after) };
}

/** XML that needs no namespace but the main one: alternatives take their fallback, attributes with a prefix go. */
function portable(piece: string): string {
  return piece
    .replace(
      /<mc:AlternateContent[^<>]*>(?:(?!<mc:Fallback>)[^])*<mc:Fallback>((?:(?!<\/mc:Fallback>)[^])*)<\/mc:Fallback>\s*<\/mc:AlternateContent>/g,
      '$1',
    )
    .replace(/\s(?!xml:)[\w.-]+:[\w.-]+="[^"]*"/g, '');
}

function saving({ workbook, names, validations }: Kept): FullWorkbook {
  const originals = [...workbook.worksheets];
  const full: FullWorkbook = {
    workbook,
    validations: validations[0] ?? '',
    async save() {
      const written = Buffer.from(await workbook.xlsx.writeBuffer());
      const pieces = new Map(
        originals.map(({ id }, index) => [
          `xl/worksheets/sheet${id}.xml`,
          index === 0 ? full.validations : (validations[index] ?? ''),
        ]),
      );
      if (!names && ![...pieces.values()].some(Boolean)) return written;
      const entries = [...readZip(written, Number.MAX_SAFE_INTEGER).values()];
      return writeZip(
        await Promise.all(
          entries.map(async (entry) => {
            const piece = entry.name === 'xl/workbook.xml' ? names : pieces.get(entry.name);
            if (!piece) return entry;
            const xml = (await unpack(entry)).toString('utf8');
            return pack(
              entry.name,
              entry.name === 'xl/workbook.xml' ? withNames(xml, piece) : withValidations(xml, piece),
              'deflate',
            );
          }),
        ),
      );
    },
  };
  return full;
}

/** The format fixes the order of elements; what follows the validations of a sheet, in that order. */
const AFTER_VALIDATIONS =
  /<(?:hyperlinks|printOptions|pageMargins|pageSetup|headerFooter|rowBreaks|colBreaks|drawing|legacyDrawing|picture|tableParts|extLst)[\s/>]|<\/worksheet>/;

function withValidations(xml: string, piece: string): string {
  const rows = Math.max(xml.indexOf('</sheetData>'), xml.indexOf('<sheetData/>'), 0);
  const at = rows + xml.slice(rows).search(AFTER_VALIDATIONS);
  return xml.slice(0, at) + piece + xml.slice(at);
}

function withNames(xml: string, piece: string): string {
  const own = cut(xml, 'definedNames').rest;
  return own.replace('</sheets>', () => `</sheets>${piece}`);
}
