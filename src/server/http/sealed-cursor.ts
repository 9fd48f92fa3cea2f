/**
 * Cursors of the feed and of a filing's events. A position counts the events of everybody, so a cursor is sealed:
 * otherwise a principal that may see some exporters could tell how much happens at the others.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { FeedMark } from '../../ledger/events';
import { badCursor } from './fields';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Of the largest bigint. All cursors are of one length. */
const DIGITS = 19;

/** Every process that serves one ledger has the same key, and nobody who has no access to the ledger. */
const keyOf = (epoch: string): Buffer => createHash('sha256').update(`cursor of the feed ${epoch}`).digest();

export function sealMark({ epoch, position }: FeedMark): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(epoch), nonce);
  const sealed = Buffer.concat([cipher.update(position.padStart(DIGITS, '0')), cipher.final()]);
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url');
}

/** @returns null for a cursor of another epoch @throws Problem 400 for what is no cursor */
export function openMark(cursor: string, epoch: string, field = 'after'): FeedMark | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== NONCE_BYTES + DIGITS + TAG_BYTES) {
    throw badCursor(field);
  }
  const decipher = createDecipheriv(CIPHER, keyOf(epoch), bytes.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const digits = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    decipher.final();
    return { epoch, position: String(BigInt(digits.toString())) };
  } catch {
    return null;
  }
}
