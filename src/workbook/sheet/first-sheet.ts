import { Workbook } from 'exceljs';
import { posix } from 'node:path';
import type { WorkbookLimits } from '../ooxml/limits';
import type { WorkbookPackage } from '../ooxml/package';
import { rawRows } from './raw-cells';
import { WorkbookRefused } from '../ooxml/refused';
import { canonicalSheet, withoutPrefix } from './sheet-xml';
import { attribute } from '../ooxml/xml-text';
import { pack, writeZip } from '../ooxml/zip';

/** The first worksheet as text, brought into one dialect, with what its cells refer to. */
export interface FirstSheet {
  name: string;
  /** A worksheet with nothing but its filled rows (sheet-xml.ts). */
  xml: string;
  merged: string[];
  sharedStrings: string;
  styles: string;
  date1904: boolean;
}

interface SheetEntry {
  name: string;
  part: string;
}

/**
 * The first worksheet and no other part that it does not need: other sheets, pictures, validations and notes cost nothing.
 * @throws WorkbookRefused where there is none, or it is beyond the limits
 */
export async function openFirstSheet(source: WorkbookPackage, limits: WorkbookLimits): Promise<FirstSheet> {
  const { sheets } = await readDirectory(source);
  return openSheet(source, sheets[0], limits);
}

/** Any worksheet, in the same way. */
export async function openSheet(
  source: WorkbookPackage,
  entry: SheetEntry | undefined,
  limits: WorkbookLimits,
): Promise<FirstSheet> {
  const { date1904, parts } = await readDirectory(source);
  const xml = entry && (await source.xml(entry.part));
  if (!entry || xml === undefined) {
    throw new WorkbookRefused('no_worksheet', 'The workbook has no worksheet. Put the rows on its first worksheet.');
  }
  const text = async (part: string | undefined) => withoutPrefix((part && (await source.xml(part))) ?? '');
  const sheet = canonicalSheet(xml, limits);
  return {
    name: entry.name,
    ...sheet,
    date1904,
    sharedStrings: await text(parts.sharedStrings),
    styles: await text(parts.styles),
  };
}

/** A workbook of the first worksheet alone, for when the whole cannot be loaded. */
export async function loadFirstSheet(source: WorkbookPackage, limits: WorkbookLimits): Promise<Workbook> {
  const first = await openFirstSheet(source, limits);
  // exceljs would reserve room up to any address; the walk refuses those that no sheet has.
  for (const row of rawRows(first.xml)) row.cells.length = 0;
  const reduced = writeZip(
    await Promise.all([
      pack('xl/workbook.xml', workbookXml(first.date1904), 'store'),
      pack('xl/_rels/workbook.xml.rels', RELATIONSHIPS, 'store'),
      ...(first.sharedStrings ? [pack('xl/sharedStrings.xml', first.sharedStrings, 'store')] : []),
      ...(first.styles ? [pack('xl/styles.xml', first.styles, 'store')] : []),
      pack('xl/worksheets/sheet1.xml', first.xml, 'store'),
    ]),
  );
  const workbook = await loadWorkbook(reduced);
  const [sheet] = workbook.worksheets;
  if (!sheet)
    throw new WorkbookRefused('damaged', 'The first worksheet cannot be read. Save the workbook anew as .xlsx.');
  sheet.name = first.name;
  return workbook;
}

/** Loads bytes with exceljs; a file that it cannot parse is refused instead of crashing the caller. */
export async function loadWorkbook(file: Buffer): Promise<Workbook> {
  const workbook = new Workbook();
  const bytes = new ArrayBuffer(file.length);
  file.copy(new Uint8Array(bytes));
  try {
    return await workbook.xlsx.load(bytes);
  } catch (cause) {
    throw Object.assign(
      new WorkbookRefused('damaged', 'The workbook cannot be read. Open it in Excel and save it anew as .xlsx.'),
      { cause },
    );
  }
}

/** The worksheets in order, and where the parts that they share are. */
export interface WorkbookDirectory {
  /** The main part. */
  part: string;
  sheets: SheetEntry[];
  date1904: boolean;
  parts: { sharedStrings: string | undefined; styles: string | undefined };
}

export async function readDirectory(source: WorkbookPackage): Promise<WorkbookDirectory> {
  const part = await workbookPart(source);
  const xml = withoutPrefix((await source.xml(part)) ?? '');
  const folder = posix.dirname(part);
  const relations = await readRelations(source, relationsName(part), folder);
  const sheets: SheetEntry[] = [];
  for (const [tag] of xml.matchAll(/<sheet\s[^<>]*>/g)) {
    const relation = relations.get(attribute(tag, '[\\w.-]+:id') ?? '');
    if (relation?.type === 'worksheet') sheets.push({ name: attribute(tag, 'name') ?? '', part: relation.part });
  }
  const partOf = (type: string) => [...relations.values()].find((relation) => relation.type === type)?.part;
  return {
    part,
    sheets,
    date1904: /^(1|true|on)$/.test(attribute(/<workbookPr\s[^<>]*>/.exec(xml)?.[0] ?? '', 'date1904') ?? ''),
    parts: { sharedStrings: partOf('sharedStrings'), styles: partOf('styles') },
  };
}

async function workbookPart(source: WorkbookPackage): Promise<string> {
  const relations = await readRelations(source, '_rels/.rels', '');
  return [...relations.values()].find(({ type }) => type === 'officeDocument')?.part ?? 'xl/workbook.xml';
}

/** Where the relationships of a part are. */
export function relationsName(part: string): string {
  return posix.join(posix.dirname(part), '_rels', `${posix.basename(part)}.rels`);
}

/** Relationships by id; the type is the last word of its address, which differs between the two dialects of the format. */
export async function readRelations(
  source: Pick<WorkbookPackage, 'xml'>,
  name: string,
  folder: string,
): Promise<Map<string, { type: string; part: string }>> {
  const xml = withoutPrefix((await source.xml(name)) ?? '');
  const relations = new Map<string, { type: string; part: string }>();
  for (const [tag] of xml.matchAll(/<Relationship\s[^<>]*>/g)) {
    const target = attribute(tag, 'Target') ?? '';
    const part = target.startsWith('/') ? target.slice(1) : posix.join(folder, target);
    relations.set(attribute(tag, 'Id') ?? '', { type: (attribute(tag, 'Type') ?? '').split('/').at(-1) ?? '', part });
  }
  return relations;
}

const RELATIONSHIPS = '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>';

function workbookXml(date1904: boolean): string {
  return `<workbook><workbookPr${date1904 ? ' date1904="1"' : ''}/><sheets><sheet name="first" sheetId="1" r:id="rId1"/></sheets></workbook>`;
}
