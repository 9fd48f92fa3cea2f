import { effectOf } from '../faults/faults';
import { portalProblem, problem, type PortalErrorCode, type Problem } from '../http/problem';
import type { Call } from '../http/route';
import { FieldErrors, requiredUuid } from '../endpoints/validate';
import type { Customer, PortalAccount } from './world';

/** The client in the key's mode and account. @throws Problem 404 with the endpoint's message */
export function customerOf(call: Call, id: string, message = 'Customer not found'): Customer {
  const customer = call.context.world.customers.get(id);
  const { key, mode } = call.caller;
  if (!customer || customer.mode !== mode || customer.platformId !== key.platformId) throw problem(404, message);
  return customer;
}

/** The client that an input names by `platformCustomerId`. @throws Problem 400, 404 */
export function namedCustomer(call: Call, input: Record<string, unknown>): Customer {
  const errors = new FieldErrors();
  const id = requiredUuid(input, 'platformCustomerId', errors);
  errors.throwIfAny();
  return customerOf(call, id);
}

export function credentialProblem(call: Call, code: PortalErrorCode): Problem {
  return portalProblem(code, call.path, call.now);
}

/** The portal account that a client is linked to, without a login. @throws Problem 422 when there is none. */
export function linkedAccount(call: Call, customer: Customer): PortalAccount {
  const account = call.context.world.accounts.find(({ username }) => username === customer.dgftUsername);
  // Credentials that came with a create are on file, but nothing is linked before they are validated.
  if (!customer.connection || !account) throw credentialProblem(call, 'DGFT_CREDENTIALS_MISSING');
  return account;
}

/** Logs in with a client's stored credentials. @throws Problem (spec: "Credential and download errors") */
export function logInAtPortal(call: Call, customer: Customer): PortalAccount {
  const account = linkedAccount(call, customer);
  applyPortalFaults(call, account);
  const opens = customer.connection?.activatesAt ?? 0;
  if (opens > call.now || effectOf(call.effects, 'activation-pending')) {
    throw credentialProblem(call, 'DGFT_IP_ACTIVATION_PENDING');
  }
  if (portalIsDown(call)) throw credentialProblem(call, 'DGFT_PORTAL_UNAVAILABLE');
  if (account.locked) throw credentialProblem(call, 'DGFT_ACCOUNT_LOCKED');
  if (!tryPassword(account, customer.dgftPassword)) throw credentialProblem(call, 'DGFT_CREDENTIALS_INVALID');
  return account;
}

export function portalIsDown(call: Call): boolean {
  return call.context.world.portalDown || effectOf(call.effects, 'portal-down') !== undefined;
}

/** Changes at the portal that faults make during a call. */
export function applyPortalFaults(call: Call, account: PortalAccount): void {
  const expired = effectOf(call.effects, 'password-expired');
  if (expired) account.password = expired.newPassword;
  if (effectOf(call.effects, 'account-locked')) account.locked = true;
}

/** One login at the portal; counts it, and locks the account after as many failures as the seed sets. */
export function tryPassword(account: PortalAccount, password: string | null): boolean {
  account.logins += 1;
  if (!account.locked && account.password === password) {
    account.failedLoginsInARow = 0;
    return true;
  }
  account.failedLogins += 1;
  account.failedLoginsInARow += 1;
  if (account.lockAfterFailedLogins !== undefined && account.failedLoginsInARow >= account.lockAfterFailedLogins) {
    account.locked = true;
  }
  return false;
}
