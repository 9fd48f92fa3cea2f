/** Which addresses webhooks may be sent to: public ones, checked at each connect, and connected to as checked. */
import { lookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';

/** Public by its number, but the metadata and agent service of one cloud's own machines. */
const METADATA = '168.63.129.16';

/** What an address is, if nothing may be sent to it; null: it is a public one. */
export function refusedAddress(address: string): string | null {
  if (!ipaddr.isValid(address)) return 'no address';
  const parsed = ipaddr.parse(address);
  if (parsed.toString() === METADATA) return 'metadata';
  const range = parsed.range();
  if (range !== 'unicast') return range;
  // Of IPv6 only 2000::/3 is in public use.
  return parsed.kind() === 'ipv6' && ((parsed.toByteArray()[0] ?? 0) & 0xe0) !== 0x20 ? 'not in public use' : null;
}

/** Code of the error for an address that is refused. */
const REFUSED = 'address_refused';

function refusal(host: string, address: string, what: string): Error & { code: string } {
  const text = `${host} is ${address}, which is no public address (${what}). Where it is right, EBRC_WEBHOOK_HOSTS of the workers names the host`;
  return Object.assign(new Error(text), { code: REFUSED });
}

/** Resolves like Node, and refuses a name if one of its addresses is refused. */
const publicLookup: LookupFunction = (host, options, callback) => {
  lookup(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
    if (error) return callback(error, '', 0);
    for (const { address } of found) {
      const what = refusedAddress(address);
      if (what !== null) return callback(refusal(host, address, what), '', 0);
    }
    const [first] = found;
    if (options.all) callback(null, found);
    else callback(null, first?.address ?? '', first?.family);
  });
};

/** @param hosts names and addresses that may be private. @param ca the only trusted authority, PEM */
export function webhookConnector({ hosts, ca }: { hosts: readonly string[]; ca?: string }): buildConnector.connector {
  const more = { timeout: 10_000, allowH2: false, ...(ca === undefined ? {} : { ca }) };
  const named = buildConnector(more);
  const others = buildConnector({ ...more, lookup: publicLookup });
  return (options, callback) => {
    const host = options.hostname.toLowerCase().replace(/^\[|\]$/g, '');
    if (hosts.includes(host)) return named(options, callback);
    // Node looks no address up.
    const what = isIP(host) ? refusedAddress(host) : null;
    if (what !== null) return callback(refusal(host, host, what), null);
    others(options, callback);
  };
}
