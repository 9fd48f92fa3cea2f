import { posix } from 'node:path';
import { relationsName, relationsOf, targetOf, type WorkbookPackage } from './package';
import { appendChild, withDefaultNamespace, attribute } from './xml-edit';
import { type PackagePart, partKey, pack, writeZip } from './zip';

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

/** A workbook with changed parts. All others are saved byte for byte, without being unpacked. */
export class PackageEditor {
  /** Changed, new and removed (null) parts by key. */
  private readonly changed = new Map<string, { name: string; xml: string | null }>();
  private readonly packed = new Map<string, PackagePart>();

  constructor(
    private readonly source: WorkbookPackage,
    /** The workbook's main part. */
    readonly workbookPart: string,
  ) {}

  /** The present text of a part, without namespace prefixes; undefined if there is none. */
  async xml(part: string): Promise<string | undefined> {
    const changed = this.changed.get(partKey(part));
    if (changed) return changed.xml ?? undefined;
    const text = await this.source.xml(part);
    return text === undefined ? undefined : withDefaultNamespace(text);
  }

  private async bytes(part: string): Promise<Buffer | undefined> {
    const changed = this.changed.get(partKey(part));
    if (!changed) return this.source.bytes(part);
    return changed.xml === null ? undefined : Buffer.from(changed.xml);
  }

  set(part: string, xml: string): void {
    this.changed.set(partKey(part), { name: this.nameOf(part), xml });
  }

  /** Writes a large part from pieces. It is compressed at once and cannot be read again. */
  async setPieces(part: string, pieces: Iterable<Iterable<string>>): Promise<void> {
    this.packed.set(partKey(part), await pack(this.nameOf(part), flat(pieces)));
  }

  /** The part's name as spelled in the file, because some readers are case-sensitive. */
  private nameOf(part: string): string {
    return this.source.entries.get(partKey(part))?.name ?? part;
  }

  /** The workbook's namespaces, which differ between the two dialects of the format. */
  async namespaces(): Promise<typeof TRANSITIONAL> {
    return ((await this.xml(this.workbookPart)) ?? '').includes(STRICT.main) ? STRICT : TRANSITIONAL;
  }

  /** A part's relationships by id. */
  relations(part: string): ReturnType<typeof relationsOf> {
    return relationsOf({ bytes: (name) => this.bytes(name) }, part);
  }

  /** Adds a part under the first free name, such as `xl/worksheets/sheet3.xml`. @returns the relationship's id */
  async add(
    from: string,
    type: string,
    name: (number: number) => string,
    content: { xml: string; contentType: string },
  ): Promise<string> {
    let number = 1;
    while (this.has(name(number))) number += 1;
    const part = name(number);
    this.set(part, content.xml);
    await this.declare(part, content.contentType);
    const relations = relationsName(this.nameOf(from));
    const existing = await this.relations(from);
    const before = (await this.xml(relations)) ?? `${XML_START}<Relationships xmlns="${PACKAGE}/relationships"/>`;
    let id = existing.size + 1;
    while (existing.has(`rId${id}`)) id += 1;
    const target = posix.relative(posix.dirname(from), part);
    const relation = `<Relationship Id="rId${id}" Type="${(await this.namespaces()).relations}/${type}" Target="${target}"/>`;
    this.set(relations, appendChild(before, 'Relationships', relation));
    return `rId${id}`;
  }

  /** Removes a part and the reference to it. */
  async remove(from: string, part: string): Promise<void> {
    this.changed.set(partKey(part), { name: part, xml: null });
    const without = async (name: string, tag: RegExp, key: string, same: (value: string) => boolean) => {
      const xml = await this.xml(name);
      if (xml !== undefined)
        this.set(
          name,
          xml.replace(tag, (whole) => (same(attribute(whole, key) ?? '') ? '' : whole)),
        );
    };
    await without(CONTENT_TYPES, /<Override\s[^<>]*\/>/g, 'PartName', (value) => partKey(value) === partKey(part));
    const folder = posix.dirname(from);
    await without(
      relationsName(from),
      /<Relationship\s[^<>]*\/>/g,
      'Target',
      (value) => targetOf(folder, value) === partKey(part),
    );
  }

  async save(): Promise<Buffer> {
    const entries = [...this.source.entries]
      .filter(([key]) => !this.changed.has(key))
      .map(([key, entry]) => this.packed.get(key) ?? entry);
    for (const { name, xml } of this.changed.values()) {
      if (xml !== null) entries.push(await pack(name, [inUtf8(xml)]));
    }
    // Some readers expect this part first.
    const first = ({ name }: PackagePart) => Number(partKey(name) === partKey(CONTENT_TYPES));
    return writeZip(entries.sort((a, b) => first(b) - first(a)));
  }

  private has(part: string): boolean {
    return this.source.entries.has(partKey(part)) || this.changed.has(partKey(part));
  }

  private async declare(part: string, contentType: string): Promise<void> {
    const xml = await this.xml(CONTENT_TYPES);
    if (xml === undefined) return;
    const entry = `<Override PartName="/${part}" ContentType="${contentType}"/>`;
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

/** A part that was read in another encoding is saved, and declared, as UTF-8. */
function inUtf8(xml: string): string {
  return xml.replace(/^(<\?xml[^>]*\sencoding=")[^"]*"/, '$1UTF-8"');
}
