/**
 * The address of a value in extracted data: a JSON Pointer (RFC 6901) in which `*` is every entry of a list, or a bare
 * name, which is searched at every depth.
 */

export interface Found {
  pointer: string;
  value: unknown;
}

const MAX_DEPTH = 12;
/** Limits the search, so that ten thousand line items are not searched for a header field. */
const MAX_FOUND = 1_000;

/** What is wrong with an address; null if it is valid. */
export function addressProblem(address: string): string | null {
  if (address.trim() === '')
    return 'is empty; write a JSON Pointer such as /invoice/number, or a name such as invoiceNumber';
  if (!address.startsWith('/')) {
    return /^[\p{L}\p{N} _.-]+$/u.test(address)
      ? null
      : `"${address}" is neither a JSON Pointer, which starts with a slash, nor a name of letters and digits`;
  }
  return /~(?![01])/.test(address) ? `"${address}" has a ~ that is neither ~0 (a tilde) nor ~1 (a slash)` : null;
}

/** The values at an address, except null and missing ones. For a name, the shallowest ones. */
export function valuesAt(data: unknown, address: string): Found[] {
  const found = address.startsWith('/') ? byPointer(data, address) : byName(data, address);
  return found.filter(({ value }) => value !== undefined && value !== null);
}

function byPointer(data: unknown, address: string): Found[] {
  const steps = address
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  let found: Found[] = [{ pointer: '', value: data }];
  for (const step of steps) {
    found = found
      .flatMap(({ pointer, value }): Found[] => {
        if (Array.isArray(value) && step === '*')
          return value.map((entry: unknown, index) => ({ pointer: `${pointer}/${index}`, value: entry }));
        const next = memberOf(value, step);
        return next === undefined ? [] : [{ pointer: `${pointer}/${escaped(step)}`, value: next }];
      })
      .slice(0, MAX_FOUND);
  }
  return found;
}

function memberOf(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(step) ? (value as unknown[])[Number(step)] : undefined;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
  return (value as Record<string, unknown>)[step];
}

/** Searches level by level. Names match if they differ only in case and punctuation. */
function byName(data: unknown, name: string): Found[] {
  const wanted = plainName(name);
  const found: Found[] = [];
  let level: Found[] = [{ pointer: '', value: data }];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0 && found.length === 0; depth += 1) {
    const next: Found[] = [];
    for (const { name: member, ...at } of level.flatMap(membersOf)) {
      if (member === wanted) found.push(at);
      else if (typeof at.value === 'object' && at.value !== null) next.push(at);
    }
    level = next.slice(0, MAX_FOUND);
  }
  return found;
}

/** The members of an object with their plain names; entries of a list have none. */
function membersOf({ pointer, value }: Found): (Found & { name: string | null })[] {
  return entriesOf(value).map(([key, part]) => ({
    pointer: `${pointer}/${escaped(key)}`,
    value: part,
    name: Array.isArray(value) ? null : plainName(key),
  }));
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

/** The first member under one of these names, ignoring case and punctuation; null if there is none. */
export function memberByName({ pointer, value }: Found, names: readonly string[]): Found | null {
  if (Array.isArray(value)) return null;
  const members = entriesOf(value);
  for (const name of names) {
    const member = members.find(([key, part]) => plainName(key) === plainName(name) && part !== null);
    if (member) return { pointer: `${pointer}/${escaped(member[0])}`, value: member[1] };
  }
  return null;
}

/** Letters and digits in lower case: `Shipping_Bill No.` becomes `shippingbillno`. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

const escaped = (step: string): string => step.replaceAll('~', '~0').replaceAll('/', '~1');
