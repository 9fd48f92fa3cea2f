import type { FastifyInstance } from 'fastify';
import { clientObject, sameAccount } from './customers';
import { applyPortalFaults, customerOf, portalIsDown, tryPassword } from '../authority/portal-access';
import { json, problem, tooManyRequests } from '../http/problem';
import { addRoute, type Call, type Context } from '../http/route';
import { FieldErrors, isUuid, requiredText } from './validate';
import type { Customer } from '../authority/world';

const FUSE_FAILURES = 5;
const FUSE_MS = 15 * 60_000;

/** POST /platform-customers/{id}/check-dgft-credentials (spec: "Validate credentials"). */
export function addCredentialRoute(app: FastifyInstance, context: Context): void {
  addRoute(app, context, {
    operation: 'check-dgft-credentials',
    method: 'POST',
    url: '/platform-customers/:id/check-dgft-credentials',
    handle: check,
  });
}

function check(call: Call) {
  const { body, now, context } = call;
  const errors = new FieldErrors();
  const username = requiredText(body, 'dgftUsername', errors);
  const password = requiredText(body, 'dgftPassword', errors);
  errors.throwIfAny();

  const id = call.params['id'] ?? '';
  if (!isUuid(id)) throw problem(400, 'Invalid platform customer ID format');
  const customer = customerOf(call, id.toLowerCase(), 'Platform customer not found');
  refuseWhileFused(customer, call);
  if (customer.dgftUsername !== null && customer.dgftUsername !== username) {
    throw problem(400, 'DGFT credentials are already set for this customer');
  }
  refuseForeignUsername(customer, username, call);

  const account = context.world.accounts.find((candidate) => candidate.username === username);
  if (account) applyPortalFaults(call, account);
  if (portalIsDown(call)) throw problem(500, 'Error checking DGFT credentials');
  if (!account || !tryPassword(account, password)) {
    noteFailure(customer, now);
    throw problem(400, 'Invalid DGFT credentials');
  }
  customer.dgftUsername = username;
  customer.dgftPassword = password;
  customer.isActive = true;
  customer.failedChecks = [];
  // Access is activated once: a later password does not change the time of the activation.
  customer.connection ??= {
    activatesAt: now + (account.activationDelayMs ?? context.settings.activationDelayMs),
    sharedCredentialsLikely: account.sharedCredentials,
  };
  customer.updatedAt = now;
  return json(clientObject(customer, now, { withMode: true }), 201);
}

function refuseForeignUsername(customer: Customer, username: string, call: Call): void {
  const others = sameAccount(call).filter((other) => other.id !== customer.id && other.dgftUsername === username);
  if (others.some((other) => other.connection !== null)) {
    throw problem(400, 'DGFT username already aligned with another platform customer');
  }
  if (others.length > 0) throw problem(400, 'DGFT username already in use');
}

/** Five failed checks within fifteen minutes are refused for a further fifteen (spec: "Validate credentials"). */
function refuseWhileFused(customer: Customer, call: Call): void {
  if (call.context.settings.rateLimits && call.now < customer.checksRefusedUntil) throw tooManyRequests();
}

function noteFailure(customer: Customer, now: number): void {
  customer.failedChecks = [...customer.failedChecks.filter((at) => now - at < FUSE_MS), now];
  if (customer.failedChecks.length < FUSE_FAILURES) return;
  customer.checksRefusedUntil = now + FUSE_MS;
  customer.failedChecks = [];
}
