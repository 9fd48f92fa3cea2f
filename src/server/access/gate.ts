/** Authenticates every request, checks the caller's roles, and records both. */
import type { FastifyRequest } from 'fastify';
import type { Principal, Role } from '../../domain/principal';
import type { Mode } from '../../domain/names';
import { principalOfToken, recordAudit, type AuditEvent } from '../../ledger/principals/principals';
import { Problem, temporalAway } from '../http/problem';
import { readinessOf, temporalProbe } from '../../telemetry/readiness';
import type { LedgerDependencies } from '../../starter/dependencies';
import type { Client } from '@temporalio/client';
import { MINUTE_MS } from '../../domain/dates';
import { inTurn } from '../../domain/values';
import type { Logger } from 'pino';

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

/** The form of every token; other texts are not looked up. */
const BEARER = /^Bearer +(ebrc_(?:test|live)_[A-Za-z0-9_-]{43})$/i;
const TOKEN = /(ebrc_(?:test|live)_)[A-Za-z0-9_-]{43}/g;

export type Gate = ReturnType<typeof createGate>;

/** @param temporalPresent rejects with a problem while Temporal cannot be reached */
export function createGate(
  { pool, mode, audit }: LedgerDependencies & { audit: ReturnType<typeof createAuditTrail> },
  temporalPresent: () => Promise<void>,
) {
  const lookUp = inTurn((token: string) => principalOfToken(pool, mode, token));

  function eventOf(request: FastifyRequest) {
    const { principal } = request;
    const { name = request.method, changes = false } = request.routeOptions.config;
    const params = Object.values((request.params ?? {}) as Record<string, string>);
    // A token sent as a name was shown to proxies on the way; it is not stored as well.
    const subject = params[0]?.replace(TOKEN, '$1…');
    const about = { action: name, principal, requestId: request.id, ...(subject !== undefined && { subject }) };
    return { changes, about };
  }

  return {
    /** Authenticates the bearer token. @throws Problem 401 */
    async enter(request: FastifyRequest): Promise<void> {
      const [, token] = BEARER.exec(request.headers.authorization ?? '') ?? [];
      const principal = token === undefined ? null : await lookUp(token);
      if (!principal) {
        audit.count({ ...eventOf(request).about, outcome: 'refused', code: 'unauthorized' });
        throw new Problem(401, 'unauthorized', unauthorizedText(request.headers.authorization, mode), {
          headers: { 'www-authenticate': 'Bearer' },
        });
      }
      request.principal = principal;
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
    refused(request: FastifyRequest, code: string): void {
      if (request.principal) audit.count({ ...eventOf(request).about, outcome: 'refused', code });
    },
  };
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

const FLUSH_MS = 1_000;
/** Most distinct events kept while PostgreSQL is away. Further ones are lost, and the log says how many. */
const MAX_PENDING = 5_000;

/** Records what principals do and what they are refused. */
export function createAuditTrail({ pool, mode, logger }: LedgerDependencies & { logger: Logger }) {
  let pending = new Map<string, AuditEvent>();
  let lost = 0;
  let flushing = Promise.resolve();

  async function flush(all: boolean): Promise<void> {
    const now = Date.now();
    // An event may still be counted until its minute ends. Refusals are written at once, so that they can be looked up.
    const due = [...pending].filter(
      ([, { at, outcome }]) => all || outcome === 'refused' || now - at.getTime() >= MINUTE_MS,
    );
    if (due.length === 0) return;
    for (const [key] of due) pending.delete(key);
    try {
      await recordAudit(
        pool,
        due.map(([, event]) => event),
      );
      if (lost > 0) logger.warn({ count: lost }, 'audit events were lost while PostgreSQL was away');
      lost = 0;
    } catch (error) {
      // Kept for the next attempt, with the newer counts added.
      const newer = pending;
      pending = new Map(due);
      for (const event of newer.values()) add(event, event.uses ?? 1);
      logger.warn({ err: error, count: pending.size }, 'audit events could not be written yet');
    }
  }

  function add(event: AuditEvent, uses: number): void {
    const { principal, action, outcome, code, subject } = event;
    const minute = Math.floor(event.at.getTime() / MINUTE_MS);
    // Without a token the subject is the caller's choice, and a polling caller reads each of its filings every minute.
    // So equal calls are one event, whatever their subject.
    const named = principal !== null && outcome === 'refused';
    const key = JSON.stringify([minute, principal?.principalId, action, outcome, code, named && subject]);
    const counted = pending.get(key);
    if (counted) counted.uses = (counted.uses ?? 1) + uses;
    else if (pending.size >= MAX_PENDING) lost += uses;
    else pending.set(key, { ...event, uses, ...(!named && { subject: undefined, requestId: undefined }) });
  }

  const timer = setInterval(() => void (flushing = flushing.then(() => flush(false))), FLUSH_MS);
  timer.unref();

  return {
    /** Records a change before it is made. @throws the errors of PostgreSQL */
    record: (entry: Omit<AuditEvent, 'mode' | 'at' | 'uses'>): Promise<void> =>
      recordAudit(pool, [{ ...entry, mode, at: new Date() }]),
    /** Counts a read or refusal. Equal ones within a minute become one event, written a little later. */
    count: (entry: Omit<AuditEvent, 'mode' | 'at' | 'uses'>): void => add({ ...entry, mode, at: new Date() }, 1),
    async close(): Promise<void> {
      clearInterval(timer);
      await flushing;
      await flush(true);
    },
  };
}
