import type { WorkbookDirectory } from '../ooxml/directory';
import { readDirectory, relationsOf } from '../ooxml/directory';
import type { WorkbookLimits } from '../ooxml/limits';
import type { WorkbookPackage } from '../ooxml/package';
import { openPackage } from '../ooxml/package';
import { WorkbookRefused } from '../ooxml/refused';
import { readXml } from '../ooxml/xml-reader';
import type { OpenSheet } from './first-sheet';
import { openSheet } from './first-sheet';

export interface OpenWorkbook {
  source: WorkbookPackage;
  directory: WorkbookDirectory;
  first: OpenSheet;
}

/**
 * Opens a workbook by its first worksheet. Besides what is read now, the parts that findings are written into later are
 * read through once: a file that could not be handed back with its errors is refused here, where a person hears of it.
 * @throws WorkbookRefused; errors of the file system
 */
export async function openWorkbook(source: string | Buffer, limits: WorkbookLimits): Promise<OpenWorkbook> {
  const opened = await openPackage(source, limits);
  const directory = await readDirectory(opened);
  const first = await openSheet(opened, directory, directory.sheets[0], limits);
  const part = directory.sheets[0]?.part ?? '';
  readXml((await opened.bytes('[Content_Types].xml')) ?? EMPTY, {});
  for (const relation of (await relationsOf(opened, part)).values()) {
    if (relation.type === 'comments') await readNotes(opened, relation.part, limits);
    // The drawing of notes is older than XML: programs leave tags of HTML open in it.
    if (relation.type === 'vmlDrawing') await opened.xml(relation.part);
  }
  return { source: opened, directory, first };
}

const EMPTY = Buffer.from('<Types/>');

async function readNotes(source: WorkbookPackage, part: string, { notes: most }: WorkbookLimits): Promise<void> {
  let notes = 0;
  readXml((await source.bytes(part)) ?? EMPTY, {
    open: (name) => {
      if (name === 'comment') notes += 1;
      if (notes > most)
        throw new WorkbookRefused(
          'too_many_notes',
          `The first worksheet has more than ${most} notes. Remove them, or copy the filled rows into a new workbook.`,
        );
    },
  });
}
