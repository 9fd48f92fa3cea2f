/** What the library does not tell of an .xls: the order of its sheets, and why it cannot be read. */
export interface XlsRecords {
  /** In the order of their tabs. The library has them in the order of their positions in the stream. */
  sheets: { position: number; hidden: boolean; isWorksheet: boolean }[];
  /** Encrypted, by a password or to forbid changes. */
  locked: boolean;
  /** Every sheet is there to its end; the library reads what is left of a file that is cut off. */
  whole: boolean;
  /** It has formulas, and was saved before they were calculated. */
  stale: boolean;
}

const FILE_PASS = 0x2f;
const UNCALCULATED = 0x5e;
const BOUND_SHEET = 0x85;
const BEGIN = 0x809;
const END = 0x0a;
const FORMULAS: ReadonlySet<number> = new Set([0x06, 0x206, 0x406]);

/** A record has a type, a length, and so many bytes. */
export function readRecords(stream: Buffer): XlsRecords {
  const found: XlsRecords = { sheets: [], locked: false, whole: false, stale: false };
  const begins = new Set<number>();
  let depth = 0;
  let hasFormula = false;
  let uncalculated = false;
  for (let at = 0; at + 4 <= stream.length;) {
    const type = stream.readUInt16LE(at);
    const length = stream.readUInt16LE(at + 2);
    const data = stream.subarray(at + 4, at + 4 + length);
    if (type === BEGIN) {
      begins.add(at);
      depth += 1;
    } else if (type === END) depth -= 1;
    at += 4 + length;
    if (type === FILE_PASS) found.locked = true;
    if (type === UNCALCULATED) uncalculated = true;
    if (FORMULAS.has(type)) hasFormula = true;
    if (type !== BOUND_SHEET || data.length < 6) continue;
    const [state = 0, kind = 0] = data.subarray(4);
    found.sheets.push({ position: data.readUInt32LE(0), hidden: (state & 3) !== 0, isWorksheet: kind === 0 });
  }
  found.whole = depth === 0 && found.sheets.every(({ position }) => begins.has(position));
  found.stale = hasFormula && uncalculated;
  return found;
}
