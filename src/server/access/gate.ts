/** Authenticates every request, checks the caller's roles, and records both. */
import type { FastifyRequest, FastifyInstance } from 'fastify';
import type { Principal, Role } from '../../domain/principal';
import type { Mode } from '../../domain/names';
import { principalOfToken } from '../../ledger/principals/principals';
import type { AuditTrail } from './audit';
import { Problem, temporalAway, tooManyRequests } from '../http/problem';
import { readinessOf, temporalProbe } from '../../telemetry/readiness';
import type { LedgerDependencies } from '../../starter/dependencies';
import type { Client } from '@temporalio/client';
import { createWatch, LONGEST_WAIT_S } from '../views/watch';
import { inTurn } from '../../domain/values';
import { normalizeIP } from '@fastify/rate-limit';

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null;
  }
  interface FastifyContextConfig {
    /** The route's name in the audit log. */
    name?: string;
    roles?: readonly Role[];
    /** Whether the route changes something. */
    changes?: boolean;
  }
}

/** How often the tokens of requests that wait are looked up. */
const LOOK_EVERY_MS = 2_000;

/** The form of every token; other texts are not looked up. */
const BEARER = /^Bearer +(ebrc_(?:test|live)_[A-Za-z0-9_-]{43})$/i;
const BARE = /^ebrc_(?:test|live)_[A-Za-z0-9_-]{43}$/;
const TOKEN = /(ebrc_(?:test|live)_)[A-Za-z0-9_-]{43}/g;

export type Gate = ReturnType<typeof createGate>;

/** @param temporalPresent rejects with a problem while Temporal cannot be reached */
export function createGate(
  { pool, mode, audit }: LedgerDependencies & { audit: AuditTrail },
  temporalPresent: () => Promise<void>,
) {
  const lookUp = inTurn((token: string) => principalOfToken(pool, mode, token));
  // Tokens that were valid when they were last looked up, so there are no more than principals have.
  const known = new Set<string>();

  function eventOf(request: FastifyRequest) {
    const { principal } = request;
    const { name = request.method, changes = false } = request.routeOptions.config;
    const params = Object.values((request.params ?? {}) as Record<string, string>);
    // A token sent as a name was shown to proxies on the way; it is not stored as well.
    const subject = params[0]?.replace(TOKEN, '$1…');
    const about = { action: name, principal, requestId: request.id, ...(subject !== undefined && { subject }) };
    return { changes, about };
  }

  const stranger = (request: FastifyRequest, code: string): void =>
    audit.count({ ...eventOf(request).about, outcome: 'refused', code });

  const tokenOf = ({ headers }: FastifyRequest) => BEARER.exec(headers.authorization ?? '')?.[1];

  /** The token's principal as of now; null if the token is wrong, or over. */
  async function principalBy(token: string): Promise<Principal | null> {
    const principal = await lookUp(token);
    if (principal) known.add(token);
    else known.delete(token);
    return principal;
  }

  const over = createWatch<string>(LOOK_EVERY_MS, async (waiting) => {
    const ended = new Set<string>();
    for (const token of new Set(waiting)) if (!(await principalBy(token))) ended.add(token);
    return (token) => ended.has(token);
  });

  /** The principal of a token. @throws Problem 401; 429 after too many wrong ones from the address */
  async function admit(request: FastifyRequest, limit: AddressLimit, token: string | undefined): Promise<Principal> {
    if (token === undefined || !known.has(token)) await limit.assertFew(request);
    const principal = token === undefined ? null : await principalBy(token);
    if (principal) return principal;
    await limit.count(request);
    stranger(request, 'unauthorized');
    throw unauthorized(request.headers.authorization, mode);
  }

  return {
    /** Authenticates the bearer token. @throws Problem 401 or 429, as `admit` */
    async enter(request: FastifyRequest, limit: AddressLimit): Promise<void> {
      request.principal = await admit(request, limit, tokenOf(request));
    },
    /** The principal of a token that was typed at a page. @throws Problem 401 or 429, as `admit` */
    signIn: (request: FastifyRequest, limit: AddressLimit, token: string): Promise<Principal> =>
      admit(request, limit, BARE.exec(token.trim())?.[0]),
    /** Resolves with true as soon as the token of a request that waits is over, as its principal was removed. */
    isOver: (request: FastifyRequest, answered: AbortSignal): Promise<boolean> =>
      over.until(tokenOf(request) ?? '', LONGEST_WAIT_S * 1_000, answered),
    /** Ends a request that waited, if its token is over by now. @throws Problem 401 */
    async assertStillIn(request: FastifyRequest): Promise<void> {
      const token = tokenOf(request);
      if (token === undefined || !(await principalBy(token))) throw unauthorized(request.headers.authorization, mode);
    },
    /** Checks the route's roles and records the use. @throws Problem 403; 503 for a change while Temporal is away */
    async permit(request: FastifyRequest): Promise<void> {
      const { roles = [] } = request.routeOptions.config;
      const { changes, about } = eventOf(request);
      const { name = '', roles: rolesOfPrincipal = [] } = about.principal ?? {};
      if (roles.length > 0 && !roles.some((role) => rolesOfPrincipal.includes(role))) {
        const detail = `${name} has ${rolesOfPrincipal.join(', ')}; this needs one of: ${roles.join(', ')}.`;
        throw new Problem(403, 'role_missing', detail, { members: { missing: roles } });
      }
      if (changes) await temporalPresent();
      // A change that cannot be recorded is not made.
      if (changes) await audit.record({ ...about, outcome: 'used' });
      else audit.count({ ...about, outcome: 'used' });
    },
    principalOf(request: FastifyRequest): Principal {
      const { principal } = request;
      if (!principal) throw new Error('A route was reached without a principal.');
      return principal;
    },
    close: (): void => over.close(),
    /** Records that somebody was not let in. */
    stranger,
    refused(request: FastifyRequest, code: string): void {
      if (request.principal) audit.count({ ...eventOf(request).about, outcome: 'refused', code });
    },
  };
}

function unauthorized(header: string | undefined, mode: Mode): Problem {
  const headers = { 'www-authenticate': 'Bearer' };
  return new Problem(401, 'unauthorized', unauthorizedText(header, mode), { headers });
}

function unauthorizedText(header: string | undefined, mode: Mode): string {
  const make = 'Whoever runs this service makes one (`ebrc principals add`).';
  if (header === undefined) return `Send the token of a principal: Authorization: Bearer ebrc_${mode}_… ${make}`;
  return `The token is unknown, has ended, or is of the other mode; this API is in ${mode} mode. ${make}`;
}

/** Fails fast while Temporal is away, whose client keeps trying. @returns a function that rejects with a 503 then */
export function createTemporalWatch(client: Client): () => Promise<void> {
  const look = readinessOf([temporalProbe(client)]);
  return async () => {
    const [temporal] = await look();
    if (!temporal?.ok) throw temporalAway(new Error(`Temporal: ${temporal?.message}`));
  };
}

export type AddressLimit = ReturnType<typeof createAddressLimit>;

const WITHIN_MS = 10_000;

/**
 * Limits wrong tokens by the address that sends them, because each costs a look into the ledger.
 * @param most wrong tokens of one address within ten seconds
 */
export function createAddressLimit(api: FastifyInstance, most: number) {
  const limit = api.createRateLimit({
    max: most,
    timeWindow: WITHIN_MS,
    keyGenerator: ({ ip }) => normalizeIP(ip),
  });

  return {
    /** @throws Problem 429 */
    async assertFew(request: FastifyRequest): Promise<void> {
      const found = await limit(request, { increment: false });
      if (!found.isAllowed && found.isExceeded) {
        throw tooManyRequests('Too many wrong tokens came from this address. Try again later.', found.ttl);
      }
    },
    async count(request: FastifyRequest): Promise<void> {
      await limit(request);
    },
  };
}
