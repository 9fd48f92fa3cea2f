import { readFile, stat } from 'node:fs/promises';
import { bufferOf } from '../bounded-thread';
import { declaresEntities, encrypted, oversized, type WorkbookLimits, WorkbookRefused } from './limits';
import { decodeXml, tidyXml, readXml } from './xml-reader';
import { type PackagePart, forward, partKey, readZip, unpack } from './zip';
import { posix } from 'node:path';

/** A workbook that passed the checks before parsing: type, sizes, and no parts that run code or fetch data. */
export interface WorkbookPackage {
  /** Parts by `partKey` (zip.ts). */
  entries: ReadonlyMap<string, PackagePart>;
  /** A part's bytes; undefined if it is absent. @throws WorkbookRefused if it is too long */
  bytes(name: string): Promise<Buffer | undefined>;
  /** An XML part's text, to be changed; undefined if it is absent. @throws WorkbookRefused, also for entities */
  xml(name: string): Promise<string | undefined>;
}

const ZIP = Buffer.from('PK\x03\x04', 'latin1');
/** Container format of .xls and of password-protected workbooks. */
const COMPOUND_FILE = Buffer.from([0xd0, 0xcf, 0x11, 0xe0]);
const ENCRYPTED_STREAM = Buffer.from('EncryptedPackage', 'utf16le');

const SAVE_AS = 'Open it in Excel or LibreOffice and save it as an Excel workbook (.xlsx)';

/** Names of parts that run code or fetch data, with advice. */
const FORBIDDEN: readonly { name: RegExp; code: string; message: string }[] = [
  {
    name: /(^|\/)(vbaproject|vbadata)|\/macrosheets\/|\/activex\//i,
    code: 'macros',
    message: 'The workbook contains macros or controls. Save it as an Excel workbook without macros (.xlsx).',
  },
  {
    name: /\/externallinks\//i,
    code: 'external_links',
    message:
      'The workbook has links to other workbooks. Break them (Data > Edit Links > Break Link), so that the values stay, and save it again.',
  },
  {
    name: /\/connections\.xml$|\/querytables\//i,
    code: 'external_data',
    message:
      'The workbook has connections to outside data. Remove them (Data > Queries & Connections), so that the values stay, and save it again.',
  },
  {
    name: /^xl\/workbook\.bin$/i,
    code: 'xlsb_format',
    message: `A binary workbook (.xlsb) cannot be read. ${SAVE_AS}.`,
  },
];

/** Opens a workbook from a path or bytes. @throws WorkbookRefused that says what to do; errors of the file system */
export async function openPackage(source: string | Buffer, limits: WorkbookLimits): Promise<WorkbookPackage> {
  refuseSize(typeof source === 'string' ? (await stat(source)).size : source.length, limits);
  const file = typeof source === 'string' ? await readFile(source) : bufferOf(source);
  const format = formatOf(file);
  if (format === 'xls') throw new WorkbookRefused('xls_format', `This is an .xls workbook. ${SAVE_AS}.`);
  if (format === undefined) {
    throw new WorkbookRefused('not_a_workbook', `This is not an .xlsx workbook, whatever its name says. ${SAVE_AS}.`);
  }
  const entries = await readZip(file, limits.parts);
  refuseForbidden(entries);
  refuseBombs(entries, limits);
  const bytes = async (name: string) => bytesOf(entries.get(partKey(name)), limits);
  return {
    entries,
    bytes,
    xml: async (name) => {
      const part = await bytes(name);
      return part && textOf(part);
    },
  };
}

/** @throws WorkbookRefused */
export function refuseSize(size: number, limits: Pick<WorkbookLimits, 'fileBytes'>): void {
  if (size <= limits.fileBytes) return;
  const megabytes = (bytes: number) => (bytes / 1024 / 1024).toFixed(1);
  const message = `The workbook has ${megabytes(size)} MB; at most ${megabytes(limits.fileBytes)} MB are taken. Remove pictures and unused sheets, or split it.`;
  throw new WorkbookRefused('too_large', message);
}

/** What a file's first bytes say that it is. @throws WorkbookRefused for one with a password */
export function formatOf(file: Buffer): 'xlsx' | 'xls' | undefined {
  const start = file.subarray(0, 4);
  if (start.equals(ZIP)) return 'xlsx';
  if (!start.equals(COMPOUND_FILE)) return undefined;
  if (file.includes(ENCRYPTED_STREAM)) throw encrypted();
  return 'xls';
}

function refuseForbidden(entries: ReadonlyMap<string, PackagePart>): void {
  for (const name of entries.keys()) {
    const rule = FORBIDDEN.find((forbidden) => forbidden.name.test(name));
    if (rule) throw new WorkbookRefused(rule.code, rule.message);
  }
  if (!entries.has(partKey('[Content_Types].xml')) && !entries.has('xl/workbook.xml')) {
    throw new WorkbookRefused('not_a_workbook', `The file is a zip archive but no .xlsx workbook. ${SAVE_AS}.`);
  }
}

function refuseBombs(entries: ReadonlyMap<string, PackagePart>, limits: WorkbookLimits): void {
  let total = 0;
  for (const { name, size, packed } of entries.values()) {
    total += size;
    if (size > 1024 * 1024 && size > packed.length * limits.ratio)
      throw oversized('zip_bomb', `Part ${name} unpacks to ${Math.round(size / packed.length)} times its size`);
  }
  if (total > limits.unpackedBytes)
    throw oversized('zip_bomb', `The workbook unpacks to ${Math.round(total / 1024 / 1024)} MB, more than is read`);
}

async function bytesOf(entry: PackagePart | undefined, limits: WorkbookLimits): Promise<Buffer | undefined> {
  if (!entry) return undefined;
  if (entry.size > limits.partBytes) {
    const megabytes = Math.round(entry.size / 1024 / 1024);
    throw oversized('zip_bomb', `Part ${entry.name} unpacks to ${megabytes} MB, more than is read`);
  }
  return unpack(entry);
}

function textOf(bytes: Buffer): string {
  const text = decodeXml(bytes);
  if (text.includes('<!DOCTYPE') || text.includes('<!ENTITY')) throw declaresEntities();
  return tidyXml(text);
}

/** The worksheets in order, and the parts that they share. */
export interface WorkbookDirectory {
  part: string;
  sheets: { name: string; part: string; hidden: boolean }[];
  /** Whether day 0 is 1 January 1904 instead of 30 December 1899. */
  date1904: boolean;
  /** Whether the file says that the stored results of its formulas are not those that a person would see. */
  stale: boolean;
  parts: { sharedStrings: string | undefined; styles: string | undefined };
}

const isOn = (value = ''): boolean => /^(?:1|true|on)$/.test(value);

/** @throws WorkbookRefused */
export async function readDirectory(source: Pick<WorkbookPackage, 'bytes'>): Promise<WorkbookDirectory> {
  const main = [...(await relationsOf(source, '')).values()].find(({ type }) => type === 'officeDocument');
  const part = main?.part ?? 'xl/workbook.xml';
  const relations = await relationsOf(source, part);
  const sheets: WorkbookDirectory['sheets'] = [];
  let date1904 = false;
  let stale = false;
  readXml(await source.bytes(part), {
    open: (name, attributes) => {
      if (name === 'workbookPr') date1904 = isOn(attributes['date1904']);
      // Written by programs that do not calculate: every formula may have the result 0, or one of older values.
      if (name === 'calcPr') stale = isOn(attributes['fullCalcOnLoad']);
      if (name !== 'sheet') return;
      const id = Object.keys(attributes).find((key) => key.endsWith(':id'));
      const relation = relations.get((id && attributes[id]) ?? '');
      if (relation?.type !== 'worksheet') return;
      const hidden = /^(?:very)?hidden$/i.test(attributes['state'] ?? '');
      sheets.push({ name: attributes['name'] ?? '', part: relation.part, hidden });
    },
  });
  const partOf = (type: string) => [...relations.values()].find((relation) => relation.type === type)?.part;
  return { part, sheets, date1904, stale, parts: { sharedStrings: partOf('sharedStrings'), styles: partOf('styles') } };
}

/** Name of the part with a part's relationships; the empty name stands for the whole file. */
export function relationsName(part: string): string {
  return posix.join(posix.dirname(part), '_rels', `${posix.basename(part)}.rels`);
}

/**
 * A part's relationships by id; the empty name stands for the whole file. `type` is the last segment of its URI, which
 * is the same in both dialects.
 * @throws WorkbookRefused
 */
export async function relationsOf(source: Pick<WorkbookPackage, 'bytes'>, part: string) {
  const relations = new Map<string, { type: string; part: string }>();
  const folder = posix.dirname(part);
  readXml(await source.bytes(relationsName(part)), {
    open: (name, { Id = '', Target = '', Type = '' }) => {
      if (name !== 'Relationship') return;
      relations.set(Id, { type: Type.split('/').at(-1) ?? '', part: targetOf(folder, Target) });
    },
  });
  return relations;
}

/** The key of the part that a relationship's target names. */
export function targetOf(folder: string, given: string): string {
  const target = forward(given);
  return partKey(target.startsWith('/') ? target : posix.join(folder, target));
}
