import { type WorkbookDirectory, readDirectory, relationsOf } from '../ooxml/directory';
import { type WorkbookLimits, WorkbookRefused } from '../ooxml/limits';
import { type WorkbookPackage, openPackage } from '../ooxml/package';
import { readXml } from '../ooxml/xml-reader';
import { type OpenSheet, openSheet } from './first-sheet';

export interface OpenWorkbook {
  source: WorkbookPackage;
  directory: WorkbookDirectory;
  first: OpenSheet;
}

/**
 * Opens a workbook by its first worksheet. It also reads once the parts into which findings are written later, so that
 * a file that could not be returned with its errors is refused now, while a person is informed.
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
    // The drawing of notes uses a format older than XML, in which programs leave HTML tags open.
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
