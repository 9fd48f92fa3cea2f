import { DATE_FORMS } from '../dates';

/** Messages about single values. Most begin like the service's own (spec: "Bulk upload" errors). */

/** A value, shortened and quoted for a message. */
export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}

export function missing(field: string, hint = ''): string {
  return `Required field ${field} is missing${hint ? `: ${hint}` : ': fill it in'}.`;
}

/** The message about a value in a cell that a merged range hides. */
export function hiddenByMerge(field: string, hint: string): string {
  return `${field} has a value that is not shown: ${hint}.`;
}

export function invalidYesNo(field: string, value: unknown): string {
  return `Invalid value ${quoted(value)} in ${field}: write Y or N.`;
}

/** @param hint a separate sentence about the likely cause */
export function invalidDate(field: string, value: unknown, hint = ''): string {
  return `Invalid date value ${quoted(value)} in ${field}. Expected a date as ${DATE_FORMS}, or a real Excel date cell.${hint ? ` ${hint}` : ''}`;
}

export function invalidNumber(field: string, value: unknown, hint = ''): string {
  return `Invalid number value ${quoted(value)} in ${field}. Expected digits, without separators or currency signs.${hint ? ` ${hint}` : ''}`;
}

export function invalidText(field: string, value: unknown, hint: string): string {
  return `Invalid text value ${quoted(value)} in ${field}. ${hint}`;
}

export const TOO_MUCH_TEXT =
  'The rows hold more text than a filing may have (8 MB). Shorten the texts, or split the rows into several filings.';

/** A list as `3, 5 and 9`; long lists end in `and 12 more`. */
export function listed(items: readonly (string | number)[], most = 8): string {
  const shown = items.slice(0, most).map(String);
  if (items.length > most) return `${shown.join(', ')} and ${items.length - most} more`;
  if (shown.length < 2) return shown.join('');
  return `${shown.slice(0, -1).join(', ')} and ${shown.at(-1) ?? ''}`;
}

/** Control characters and unpaired surrogates, which XML and the ledger's JSON do not allow. */
export const UNWRITABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]|\p{Surrogate}/u;

export function controlCharacter(field: string, value: string): string {
  return invalidText(field, value, 'It holds a control or invisible character. Delete the value and type it again.');
}
