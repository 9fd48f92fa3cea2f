import { Workbook } from 'exceljs';
import type { Worksheet } from 'exceljs';
import { posix } from 'node:path';
import type { WorkbookLimits } from './limits';
import type { WorkbookPackage } from './package';
import { WorkbookRefused } from './refused';
import { canonicalSheet, withoutPrefix } from './sheet-xml';
import { pack, writeZip } from './zip';

export interface FirstSheet {
  sheet: Worksheet;
  name: string;
  merged: string[];
  /** Names of the worksheets behind it, which nobody reads. */
  others: string[];
}

interface SheetEntry {
  name: string;
  part: string;
}

/**
 * Loads the first worksheet alone, through a workbook in memory that holds only what reading values needs: its rows, the
 * shared strings and the styles (for date formats). Other sheets, pictures, validations and notes cost nothing this way.
 */
export async function loadFirstSheet(source: WorkbookPackage, limits: WorkbookLimits): Promise<FirstSheet> {
  const { sheets, date1904, parts } = await readDirectory(source);
  const [first, ...others] = sheets;
  const xml = first && (await source.xml(first.part));
  if (!first || xml === undefined)
    throw new WorkbookRefused('no_worksheet', 'The workbook has no worksheet. Put the rows on its first worksheet.');
  const { xml: sheetXml, merged } = canonicalSheet(xml, limits);
  const strings = parts.sharedStrings && (await source.xml(parts.sharedStrings));
  const styles = parts.styles && (await source.xml(parts.styles));
  const reduced = writeZip(
    await Promise.all([
      pack('xl/workbook.xml', workbookXml(date1904), 'store'),
      pack('xl/_rels/workbook.xml.rels', RELATIONSHIPS, 'store'),
      ...(strings ? [pack('xl/sharedStrings.xml', withoutPrefix(strings), 'store')] : []),
      ...(styles ? [pack('xl/styles.xml', literalsRemoved(withoutPrefix(styles)), 'store')] : []),
      pack('xl/worksheets/sheet1.xml', sheetXml, 'store'),
    ]),
  );
  const sheet = (await loadWorkbook(reduced)).worksheets[0];
  if (!sheet)
    throw new WorkbookRefused('damaged', 'The first worksheet cannot be read. Save the workbook anew as .xlsx.');
  return { sheet, name: first.name, merged, others: others.map(({ name }) => name) };
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
export async function readDirectory(source: WorkbookPackage) {
  const part = await workbookPart(source);
  const xml = withoutPrefix((await source.xml(part)) ?? '');
  const folder = posix.dirname(part);
  const relations = await readRelations(source, `${folder}/_rels/${posix.basename(part)}.rels`, folder);
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

/** Relationships by id; the type is the last word of its address, which differs between the two dialects of the format. */
async function readRelations(
  source: WorkbookPackage,
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

function attribute(tag: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(tag);
  const value = match?.[1] ?? match?.[2];
  return value?.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => ENTITIES[entity] ?? '');
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/** Escaped letters in a number format (`\R\s #,##0`) are literals, but exceljs takes an `s` or `d` among them for a date. */
function literalsRemoved(styles: string): string {
  return styles.replace(/formatCode="[^"<>]*"/g, (code) => code.replace(/\\.|_.|\*./g, ''));
}

const RELATIONSHIPS = '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>';

function workbookXml(date1904: boolean): string {
  return `<workbook><workbookPr${date1904 ? ' date1904="1"' : ''}/><sheets><sheet name="first" sheetId="1" r:id="rId1"/></sheets></workbook>`;
}
