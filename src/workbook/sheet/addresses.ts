/** Addresses in a sheet. Rows and columns count from 1. */
export const LAST_COLUMN = 16_384;
export const LAST_ROW = 1_048_576;

/** 1 for A, 27 for AA. */
export function columnNumber(letters: string): number {
  let number = 0;
  for (let at = 0; at < letters.length; at += 1) number = number * 26 + letters.charCodeAt(at) - 64;
  return number;
}

/** A for 1, AA for 27. */
export function columnLetter(column: number): string {
  let letters = '';
  for (let rest = column; rest > 0; rest = Math.floor((rest - 1) / 26))
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  return letters;
}

/** Row and column of an address such as `B2`. */
export function placeOf(address: string): [row: number, column: number] {
  const [, letters = '', row] = /^([A-Z]+)(\d+)$/.exec(address) ?? [];
  return [Number(row), columnNumber(letters)];
}
