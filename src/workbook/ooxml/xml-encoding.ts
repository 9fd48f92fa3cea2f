/** The encoding of an XML part: UTF-8, UTF-16, or the one that it declares. */
export function encodingOf(bytes: Buffer): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return 'utf-16be';
  const declared = /^(?:\u00ef\u00bb\u00bf)?<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(
    bytes.toString('latin1', 0, 200),
  )?.[1];
  // A part that declares UTF-16 but is not cannot have been read as UTF-16, so it is UTF-8.
  return declared === undefined || /^utf-?16/i.test(declared) ? 'utf-8' : declared;
}
