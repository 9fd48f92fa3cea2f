/** Who calls, whether they may, and what is recorded of both: every request passes here first. */
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
    /** The route's name in the audit trail. */
    name?: string;
    roles?: readonly Role[];
    /** Whether it changes something. */
    changes?: boolean;
  }
}

/** The form of every token: a text of another form needs no look-up. */
const BEARER = /^Bearer +(ebrc_(?:test|live)_[A-Za-z0-9_-]{43})$/i;
const TOKEN = /(ebrc_(?:test|live)_)[A-Za-z0-9_-]{43}/g;

export type Gate = ReturnType<typeof createGate>;

/** @param temporalPresent rejects with the problem while Temporal is away */
export function createGate(
  { pool, mode, audit }: LedgerDependencies & { audit: AuditTrail },
  temporalPresent: () => Promise<void>,
) {
  const lookUp = inTurn((token: string) => principalOfToken(pool, mode, token));

  function eventOf(request: FastifyRequest) {
    const { principal } = request;
    const { name = request.method, changes = false } = request.routeOptions.config;
    const params = Object.values((request.params ?? {}) as Record<string, string>);
    // Whoever sends a token as a name has shown it to the proxies on the way; it is not kept beside that.
    const subject = params[0]?.replace(TOKEN, '$1…');
    const about = { action: name, principal, requestId: request.id, ...(subject !== undefined && { subject }) };
    return { changes, about };
  }

  return {
    /** Finds the principal of the bearer token. @throws Problem 401 */
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
      const { name = '', roles: own = [] } = about.principal ?? {};
      if (roles.length > 0 && !roles.some((role) => own.includes(role))) {
        const detail = `${name} has ${own.join(', ')}; this needs one of: ${roles.join(', ')}.`;
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
  const make = 'Those who run this service make one (`ebrc principals add`).';
  if (header === undefined) return `Send the token of a principal: Authorization: Bearer ebrc_${mode}_… ${make}`;
  return `The token is unknown, has ended, or is of the other mode; this door is for ${mode} mode. ${make}`;
}

/** Tells at once that Temporal is away, whose client tries for longer. @returns what rejects with a problem 503 then */
export function createTemporalWatch(client: Client): () => Promise<void> {
  const look = readinessOf([temporalProbe(client)]);
  return async () => {
    const [temporal] = await look();
    if (!temporal?.ok) throw temporalAway(new Error(`Temporal: ${temporal?.message}`));
  };
}

type AuditTrail = ReturnType<typeof createAuditTrail>;

const FLUSH_MS = 1_000;
/** Different events that are held while PostgreSQL is away; more are lost, and the log says how many. */
const MOST_HELD = 5_000;

/** Records what principals do and what is refused to them. */
export function createAuditTrail({ pool, mode, logger }: LedgerDependencies & { logger: Logger }) {
  let held = new Map<string, AuditEvent>();
  let lost = 0;
  let flushing = Promise.resolve();

  async function flush(all: boolean): Promise<void> {
    const now = Date.now();
    // An event of this minute may still be counted on; a refusal is written at once, so that it can be looked up.
    const due = [...held].filter(
      ([, { at, outcome }]) => all || outcome === 'refused' || now - at.getTime() >= MINUTE_MS,
    );
    if (due.length === 0) return;
    for (const [key] of due) held.delete(key);
    try {
      await recordAudit(
        pool,
        due.map(([, event]) => event),
      );
      if (lost > 0) logger.warn({ count: lost }, 'audit events were lost while PostgreSQL was away');
      lost = 0;
    } catch (error) {
      // Kept for the next time; newer counts of the same key are added to them.
      const newer = held;
      held = new Map(due);
      for (const event of newer.values()) add(event, event.uses ?? 1);
      logger.warn({ err: error, count: held.size }, 'audit events could not be written yet');
    }
  }

  function add(event: AuditEvent, uses: number): void {
    const { principal, action, outcome, code, subject } = event;
    const minute = Math.floor(event.at.getTime() / MINUTE_MS);
    // Who has no token chooses the subject, and who polls reads each of its filings every minute: equal calls are one
    // event, whatever they name.
    const named = principal !== null && outcome === 'refused';
    const key = JSON.stringify([minute, principal?.principalId, action, outcome, code, named && subject]);
    const known = held.get(key);
    if (known) known.uses = (known.uses ?? 1) + uses;
    else if (held.size >= MOST_HELD) lost += uses;
    else held.set(key, { ...event, uses, ...(!named && { subject: undefined, requestId: undefined }) });
  }

  const timer = setInterval(() => void (flushing = flushing.then(() => flush(false))), FLUSH_MS);
  timer.unref();

  return {
    /** Records a change before it is made. @throws what PostgreSQL says */
    record: (entry: Omit<AuditEvent, 'mode' | 'at' | 'uses'>): Promise<void> =>
      recordAudit(pool, [{ ...entry, mode, at: new Date() }]),
    /** Counts a read or a refusal; equal ones of a minute become one event, written a little later. */
    count: (entry: Omit<AuditEvent, 'mode' | 'at' | 'uses'>): void => add({ ...entry, mode, at: new Date() }, 1),
    async close(): Promise<void> {
      clearInterval(timer);
      await flushing;
      await flush(true);
    },
  };
}
