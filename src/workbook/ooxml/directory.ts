import { posix } from 'node:path';
import type { WorkbookPackage } from './package';
import { readXml } from './xml-reader';
import { partKey } from './zip';

export interface SheetEntry {
  name: string;
  part: string;
}

/** The worksheets in order, and the parts that they share. */
export interface WorkbookDirectory {
  /** The main part. */
  part: string;
  sheets: SheetEntry[];
  /** Day 0 of date cells is 1 January 1904 instead of 30 December 1899. */
  date1904: boolean;
  parts: { sharedStrings: string | undefined; styles: string | undefined };
}

/**
 * A relationship of a part; the type is the last segment of its address, which differs between the two dialects of the
 * format.
 */
export interface Relation {
  type: string;
  part: string;
}

type PartBytes = Pick<WorkbookPackage, 'bytes'>;

/** @throws WorkbookRefused */
export async function readDirectory(source: PartBytes): Promise<WorkbookDirectory> {
  const part = await workbookPart(source);
  const relations = await relationsOf(source, part);
  const sheets: SheetEntry[] = [];
  let date1904 = false;
  readXml((await source.bytes(part)) ?? NOTHING, {
    open: (name, attributes) => {
      if (name === 'workbookPr') date1904 = /^(1|true|on)$/.test(attributes['date1904'] ?? '');
      if (name !== 'sheet') return;
      const id = Object.keys(attributes).find((key) => key.endsWith(':id'));
      const relation = relations.get((id && attributes[id]) ?? '');
      if (relation?.type === 'worksheet') sheets.push({ name: attributes['name'] ?? '', part: relation.part });
    },
  });
  const partOf = (type: string) => [...relations.values()].find((relation) => relation.type === type)?.part;
  return { part, sheets, date1904, parts: { sharedStrings: partOf('sharedStrings'), styles: partOf('styles') } };
}

const NOTHING = Buffer.from('<nothing/>');

async function workbookPart(source: PartBytes): Promise<string> {
  const relations = await relationsOf(source, '');
  return [...relations.values()].find(({ type }) => type === 'officeDocument')?.part ?? 'xl/workbook.xml';
}

/** Name of the part with a part's relationships; for the whole file with the empty name. */
export function relationsName(part: string): string {
  return posix.join(posix.dirname(part), '_rels', `${posix.basename(part)}.rels`);
}

/** Relationships of a part by id, of the whole file for the empty name. @throws WorkbookRefused */
export async function relationsOf(source: PartBytes, part: string): Promise<Map<string, Relation>> {
  const relations = new Map<string, Relation>();
  const folder = posix.dirname(part);
  readXml((await source.bytes(relationsName(part))) ?? NOTHING, {
    open: (name, { Id = '', Target = '', Type = '' }) => {
      if (name !== 'Relationship') return;
      relations.set(Id, { type: Type.split('/').at(-1) ?? '', part: targetOf(folder, Target) });
    },
  });
  return relations;
}

/** The key of the part that a target names. */
export function targetOf(folder: string, target: string): string {
  return partKey(target.startsWith('/') ? target : posix.join(folder, target));
}
