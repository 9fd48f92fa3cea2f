/** Whether somebody who decides has just shown who it is. */
import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import { renewSession } from '../../ledger/principals/sessions';
import { Problem } from '../http/problem';
import type { AddressLimit, Gate } from './gate';
import { secretOf } from './session';

/** Lets only somebody decide who signed in a few minutes ago, or does so now. @throws Problem 403 */
export async function assertFresh(
  { pool, gate, addresses }: { pool: pg.Pool; gate: Gate; addresses: AddressLimit },
  request: FastifyRequest,
  token?: string,
): Promise<void> {
  const { fresh = false, atProvider = false } = request.session ?? {};
  if (fresh) return;
  const how = atProvider ? 'Open the page again: it asks you to sign in again' : 'Your token is asked for again';
  const again = `${how}, as you signed in more than fifteen minutes ago. Nothing was decided.`;
  const refused = new Problem(403, 'sign_in_again', again);
  if (atProvider || !token) throw refused;
  const principal = gate.principalOf(request);
  const { principalId } = await gate.signIn(request, addresses, token).catch((error: unknown) => {
    throw error instanceof Problem && error.status === 401 ? refused : error;
  });
  if (principalId !== principal.principalId) throw refused;
  await renewSession(pool, secretOf(request) ?? '');
}
