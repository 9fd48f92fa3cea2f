import { createHash } from 'node:crypto';
import { mappingIdentity } from '../../domain/identity';
import type { Mapping } from '../../domain/filing/mapping';

/**
 * The fingerprint of a party's mapping, which is unique among live rows: the party, a colon and the hash of the
 * mapping's identity. The party is readable in it, so that one statement can move rows to another party.
 */
export function fingerprintOf(partyId: number, mapping: Mapping): string {
  return `${partyId}:${createHash('sha256').update(mappingIdentity(mapping)).digest('hex')}`;
}
