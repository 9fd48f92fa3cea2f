import { problem } from './problem';
import type { ApiKey } from '../authority/seed';
import type { Mode, World } from '../authority/world';

/** Who calls: the key, and the mode that its prefix sets (spec: "Environments"). */
export interface Caller {
  key: ApiKey;
  mode: Mode;
}

/**
 * The caller of a request by its `x-api-key` header (spec: "Authentication").
 * @throws Problem 401 for no key, an unknown or a revoked one.
 */
export function authenticate(world: World, header: string | string[] | undefined): Caller {
  const presented = Array.isArray(header) ? header[0] : header;
  if (!presented) throw problem(401, 'No API key provided');
  const key = world.keys.find((candidate) => candidate.key === presented && !candidate.revoked);
  if (!key) throw problem(401, 'Invalid API key');
  return { key, mode: key.key.startsWith('prod_') ? 'live' : 'test' };
}

/** The same for the extraction service, which has keys of its own and no modes. */
export function authenticateExtraction(world: World, header: string | string[] | undefined): Caller {
  const presented = Array.isArray(header) ? header[0] : header;
  if (!presented) throw problem(401, 'No API key provided');
  if (!world.extractionKeys.has(presented)) throw problem(401, 'Invalid API key');
  const key: ApiKey = {
    key: presented,
    kind: 'platform',
    platformId: 'extraction',
    ndaSigned: true,
    masterAgreementSigned: true,
    revoked: false,
  };
  return { key, mode: 'live' };
}

/**
 * Whether the key may be used at all.
 * @throws Problem 403 with the documented messages. Creating a customer also requires the platform agreement.
 */
export function authorize({ key }: Caller, operation: string): void {
  if (key.kind !== 'platform') throw problem(403, 'Only platform users can access this resource');
  if (!key.ndaSigned) throw problem(403, 'NDA and agreement not signed yet');
  if (operation === 'create-customer' && !key.masterAgreementSigned) {
    throw problem(403, 'Master Platform Agreement not signed yet');
  }
}
