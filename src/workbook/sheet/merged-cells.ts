import { columnLetter, columnNumber } from './addresses';

interface Range {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/**
 * Cells that are covered by a merged range. Only the first cell of a range holds a value; using it for every row of the
 * range would count a mapped amount twice, so covered cells are empty and the hint says why.
 */
export class MergedCells {
  private readonly ranges: Range[];

  constructor(references: readonly string[]) {
    this.ranges = references.map((reference) => {
      const [, left = '', top, right = '', bottom] = /^([A-Z]+)(\d+):([A-Z]+)(\d+)$/.exec(reference) ?? [];
      return { left: columnNumber(left), top: Number(top), right: columnNumber(right), bottom: Number(bottom) };
    });
  }

  /** The hint for an empty cell in a merged range; undefined for any other cell. */
  hint(column: number, row: number): string | undefined {
    const range = this.ranges.find(
      ({ left, top, right, bottom }) => column >= left && column <= right && row >= top && row <= bottom,
    );
    return (
      range &&
      `the cell is merged into ${columnLetter(range.left)}${range.top}; unmerge the cells and write the value in every row`
    );
  }
}
