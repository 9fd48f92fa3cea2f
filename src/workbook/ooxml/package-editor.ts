import { posix } from 'node:path';
import { readRelations, relationsName } from '../sheet/first-sheet';
import type { WorkbookPackage } from './package';
import { withDefaultNamespace } from '../sheet/sheet-xml';
import { appendChild } from './xml-edit';
import { attribute } from './xml-text';
import type { ZipEntry } from './zip';
import { pack, packPieces, writeZip } from './zip';

const CONTENT_TYPES = '[Content_Types].xml';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TRANSITIONAL = {
  main: 'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
  relations: 'http://schemas.openxmlformats.org/officeDocument/2006/relationships',
};
const STRICT = {
  main: 'http://purl.oclc.org/ooxml/spreadsheetml/main',
  relations: 'http://purl.oclc.org/ooxml/officeDocument/relationships',
};

export const XML_START = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/** A workbook of which some parts are changed. All others are saved byte for byte, without being unpacked. */
export class PackageEditor {
  private readonly changed = new Map<string, string | null>();
  private readonly packed = new Map<string, ZipEntry>();

  constructor(
    private readonly source: WorkbookPackage,
    /** The main part of the workbook. */
    readonly workbookPart: string,
  ) {}

  /** The text of a part as it is now, names without prefix; undefined where there is none. */
  async xml(part: string): Promise<string | undefined> {
    const changed = this.changed.get(part);
    if (changed !== undefined) return changed ?? undefined;
    const text = await this.source.xml(part);
    return text === undefined ? undefined : withDefaultNamespace(text);
  }

  set(part: string, xml: string): void {
    this.changed.set(part, xml);
  }

  /** Writes a large part from pieces, once and for all: it is packed at once and not read again. */
  async setPieces(part: string, pieces: Iterable<Iterable<string>>): Promise<void> {
    this.packed.set(part, await packPieces(part, flat(pieces)));
  }

  /** The namespaces of the workbook: the format has two dialects that differ in them. */
  async namespaces(): Promise<typeof TRANSITIONAL> {
    return ((await this.xml(this.workbookPart)) ?? '').includes(STRICT.main) ? STRICT : TRANSITIONAL;
  }

  /** Relationships of a part by id. */
  relations(part: string): Promise<Map<string, { type: string; part: string }>> {
    return readRelations(this, relationsName(part), posix.dirname(part));
  }

  /**
   * Adds a part under the first free name and relates another part to it.
   * @param name the name for a number, such as `xl/comments1.xml` for 1
   * @returns the id of the relationship
   */
  async add(from: string, type: string, name: (number: number) => string, content: NewPart): Promise<string> {
    let number = 1;
    while (this.has(name(number))) number += 1;
    const part = name(number);
    this.set(part, content.xml);
    await this.declare(part, content);
    const relations = relationsName(from);
    const known = await this.relations(from);
    const before = (await this.xml(relations)) ?? `${XML_START}<Relationships xmlns="${PACKAGE}/relationships"/>`;
    let id = known.size + 1;
    while (known.has(`rId${id}`)) id += 1;
    const target = posix.relative(posix.dirname(from), part);
    const relation = `<Relationship Id="rId${id}" Type="${(await this.namespaces()).relations}/${type}" Target="${target}"/>`;
    this.set(relations, appendChild(before, 'Relationships', relation));
    return `rId${id}`;
  }

  /** Takes a part that another one refers to away, with what refers to it. */
  async remove(from: string, part: string): Promise<void> {
    this.changed.set(part, null);
    const without = async (name: string, tag: RegExp, key: string, same: (value: string) => boolean) => {
      const xml = await this.xml(name);
      if (xml !== undefined)
        this.set(
          name,
          xml.replace(tag, (whole) => (same(attribute(whole, key) ?? '') ? '' : whole)),
        );
    };
    await without(CONTENT_TYPES, /<Override\s[^<>]*\/>/g, 'PartName', (value) => value === `/${part}`);
    const folder = posix.dirname(from);
    await without(
      relationsName(from),
      /<Relationship\s[^<>]*\/>/g,
      'Target',
      (value) => value === `/${part}` || posix.join(folder, value) === part,
    );
  }

  /** The bytes of the workbook. */
  async save(): Promise<Buffer> {
    const entries = [...this.source.entries.values()]
      .map((entry) => this.packed.get(entry.name) ?? entry)
      .filter(({ name }) => !this.changed.has(name));
    for (const [name, xml] of this.changed) {
      if (xml !== null) entries.push(await pack(name, inUtf8(xml), 'deflate'));
    }
    // Some readers look for this part at the very beginning.
    return writeZip(entries.sort((a, b) => Number(b.name === CONTENT_TYPES) - Number(a.name === CONTENT_TYPES)));
  }

  private has(part: string): boolean {
    const lower = part.toLowerCase();
    return [...this.source.entries.keys(), ...this.changed.keys()].some((name) => name.toLowerCase() === lower);
  }

  private async declare(part: string, { contentType, byExtension = false }: NewPart): Promise<void> {
    const xml = await this.xml(CONTENT_TYPES);
    if (xml === undefined) return;
    const extension = posix.extname(part).slice(1);
    const known = [...xml.matchAll(/<Default\s[^<>]*>/g)].some(
      ([tag]) =>
        attribute(tag, 'Extension')?.toLowerCase() === extension && attribute(tag, 'ContentType') === contentType,
    );
    if (known) return;
    const entry = byExtension
      ? `<Default Extension="${extension}" ContentType="${contentType}"/>`
      : `<Override PartName="/${part}" ContentType="${contentType}"/>`;
    this.set(CONTENT_TYPES, appendChild(xml, 'Types', entry));
  }
}

function* flat(pieces: Iterable<Iterable<string>>): Generator<string> {
  let start = true;
  for (const group of pieces) {
    for (const piece of group) {
      yield start ? inUtf8(piece) : piece;
      start = false;
    }
  }
}

/** What was read in another encoding is saved in this one, and has to say so. */
function inUtf8(xml: string): string {
  return xml.replace(/^(<\?xml[^>]*\sencoding=")[^"]*"/, '$1UTF-8"');
}

export interface NewPart {
  xml: string;
  contentType: string;
  /** Declared for all parts of its extension, as is the custom for some kinds. */
  byExtension?: boolean;
}
