/** The way to the identity provider and back. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { ROLES, type Principal } from '../../domain/principal';
import { principalOfProvider } from '../../ledger/principals/principals';
import { endSessionsAtProvider, openSessionAtProvider, FRESH_S } from '../../ledger/principals/sessions';
import { Problem } from '../http/problem';
import type { HttpApi } from '../http/route';
import type { AddressLimit, Gate } from './gate';
import { BEGUN, type Arrived, type Begun, type Provider } from './provider';
import { keepSignIn, needTls, newSecret, openFromHere, ownPath, setSecret, takeSignIn } from './session';

interface Server {
  app: FastifyInstance;
  httpApi: HttpApi;
  gate: Gate;
  addresses: AddressLimit;
  provider: Provider;
  logger: Logger;
}

/** What is kept of the page to go back to fits into a cookie. */
const LONGEST_NEXT = 1_000;

export function addProviderSignIn(server: Server): void {
  const { app, httpApi, gate, provider } = server;
  const { pool } = httpApi.deps;
  const config = { config: { name: 'page sign-in at the identity provider' }, schema: { hide: true } };

  app.get('/sign-in/provider', config, async (request, reply) => {
    needTls(request);
    const { next: asked, again } = request.query as { next?: unknown; again?: unknown };
    const next = ownPath(asked);
    const { to, begun } = await provider.begin({
      next: next.length > LONGEST_NEXT ? '/' : next,
      again: again === 'yes',
    });
    keepSignIn(request, reply, begun);
    return reply.redirect(to, 303);
  });

  app.get('/sign-in/callback', config, async (request, reply) => {
    needTls(request);
    const { person, begun } = await arrivedOf(server, request, reply);
    const principal = await principalOf(server, request, person);
    const { signedInAt } = person;
    if (begun.again) assertAskedAgain(signedInAt);
    request.principal = principal;
    await gate.permit(request);
    const secret = newSecret();
    await openSessionAtProvider(pool, secret, { principalId: principal.principalId, signedInAt });
    setSecret(request, reply, secret);
    return openFromHere(reply, ownPath(begun.next));
  });
}

/** Who came back from the provider. @throws Problem 401; 429 after too many that were wrong; 503 */
async function arrivedOf({ addresses, gate, provider, logger }: Server, request: FastifyRequest, reply: FastifyReply) {
  await addresses.assertFew(request);
  const begun = BEGUN.safeParse(takeSignIn(request, reply));
  const fail = async (code: string, detail: string) => {
    await addresses.count(request);
    gate.stranger(request, code);
    return new Problem(401, code, detail);
  };
  if (!begun.success) {
    const detail = 'This sign-in was not begun in this browser, or more than ten minutes ago. Begin it again.';
    throw await fail('sign_in_not_begun', detail);
  }
  try {
    const person = await provider.finish(request.url.split('?')[1] ?? '', begun.data);
    return { person, begun: begun.data } satisfies { person: Arrived; begun: Begun };
  } catch (error) {
    if (error instanceof Problem) throw error;
    logger.warn({ err: error, requestId: request.id }, 'a sign-in at the identity provider was refused');
    const detail =
      'The sign-in was not completed. Begin it again; if it fails again, tell your administrator the number of this request.';
    throw await fail('sign_in_failed', detail);
  }
}

/** @throws Problem 403 for somebody without a role, or who was removed here */
async function principalOf(
  { gate, httpApi, provider }: Server,
  request: FastifyRequest,
  person: Arrived,
): Promise<Principal> {
  const { pool, mode } = httpApi.deps;
  const { names, roles, issuer, subject } = person;
  const who = `You are ${names[0]} at ${provider.issuer}`;
  if (roles.length === 0) {
    await endSessionsAtProvider(pool, issuer, subject);
    gate.stranger(request, 'no_role');
    const ask = `Ask your administrator to give you one or more of ${ROLES.join(', ')} there, in the claim ${provider.roleClaim}`;
    throw new Problem(403, 'no_role', `${who}, which gives you no role here. ${ask}, and sign in again.`);
  }
  const principal = await principalOfProvider(pool, mode, person);
  if (principal) return principal;
  gate.stranger(request, 'removed');
  const ask = 'Ask who runs this service to add you again (`ebrc principals add`)';
  throw new Problem(403, 'removed', `${who}. Your access here was removed, or has ended. ${ask}.`);
}

/** @throws Problem 403 */
function assertAskedAgain(signedInAt: Date | null): void {
  if (signedInAt !== null && Date.now() - signedInAt.getTime() < FRESH_S * 1_000) return;
  const ask = 'Ask its administrator to let it heed `max_age`, and to give `auth_time` in the ID token';
  const detail = `The identity provider does not say that it has just asked who you are, which a decision needs. ${ask}.`;
  throw new Problem(403, 'sign_in_again', detail);
}
