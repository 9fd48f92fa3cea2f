/** A file that is refused: not a workbook, too large, or malicious. `message` says what to do instead. */
export class WorkbookRefused extends Error {
  override readonly name = 'WorkbookRefused';

  /** @param code stable and snake_case, such as `xls_format` or `macros`; programs branch on it */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
