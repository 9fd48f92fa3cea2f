import { columnLetter, columnNumber } from './addresses';

interface Range {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/**
 * Cells that are covered by a merged range. Only the first cell of a range is shown; using its value for every row of
 * the range would count a mapped amount twice, so covered cells are empty and the hint says why. The format painter
 * leaves values in covered cells, where nobody sees them: they are not filed either.
 */
export class MergedCells {
  private readonly ranges: Range[];

  constructor(references: readonly string[]) {
    this.ranges = references.map((reference) => {
      const [, left = '', top, right = '', bottom] = /^([A-Z]+)(\d+):([A-Z]+)(\d+)$/.exec(reference) ?? [];
      return { left: columnNumber(left), top: Number(top), right: columnNumber(right), bottom: Number(bottom) };
    });
  }

  /** The hints of a row: for a column, what to do about its covered cell; undefined for a cell that is not covered. */
  hintsOf(row: number): (column: number) => string | undefined {
    const across = this.ranges.filter(({ top, bottom }) => row >= top && row <= bottom);
    return (column) => {
      const range = across.find(({ left, right }) => column >= left && column <= right);
      if (range === undefined || (range.left === column && range.top === row)) return undefined;
      const first = `${columnLetter(range.left)}${range.top}`;
      return `the cell is merged into ${first}; unmerge the cells and write the value in every row`;
    };
  }
}
