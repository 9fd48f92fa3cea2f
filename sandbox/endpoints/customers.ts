import { randomUUID } from 'node:crypto';
import { customerOf, applyPortalFaults, portalIsDown, tryPassword } from '../authority/portal-access';
import { json, problem, tooManyRequests } from '../http/problem';
import type { Call, Route } from '../http/route';
import { FieldErrors, isEmail, isUuid, pageOf, paging, requiredText } from './validate';
import type { Customer } from '../authority/world';

/** Accepted and ignored at creation, for compatibility (spec: "Versioning"). */
const LEGACY = ['id', 'platformId', 'isActive', 'createdAt', 'updatedAt'];
const OPTIONAL_TEXTS = ['companyName', 'address', 'dgftUsername', 'dgftPassword'] as const;
const CREATE = ['name', 'email', 'type', 'iec', ...OPTIONAL_TEXTS, ...LEGACY];
const EDITABLE = ['name', 'companyName', 'address'] as const;

const CUSTOMERS = '/platform-customers';

/** Platform customers and their credentials (spec: "Endpoints", /platform-customers; "Validate credentials"). */
export const CUSTOMER_ROUTES: readonly Route[] = [
  { operation: 'create-customer', method: 'POST', url: CUSTOMERS, handle: create },
  { operation: 'list-customers', method: 'GET', url: CUSTOMERS, handle: list },
  { operation: 'get-customer', method: 'GET', url: `${CUSTOMERS}/:id`, handle: get },
  { operation: 'update-customer', method: 'PATCH', url: `${CUSTOMERS}/:id`, handle: update },
  {
    operation: 'check-dgft-credentials',
    method: 'POST',
    url: `${CUSTOMERS}/:id/check-dgft-credentials`,
    handle: check,
  },
];

function create(call: Call) {
  const { body, now, caller, context } = call;
  const errors = new FieldErrors();
  const name = requiredText(body, 'name', errors);
  if (!isEmail(body['email'])) errors.add('email', 'email must be an email');
  if (body['type'] !== 'customer') errors.add('type', 'type must be one of the following values: customer');
  const iec = readIec(body['iec'], errors);
  for (const field of OPTIONAL_TEXTS) optionalText(body, field, errors);
  rejectOthers(body, CREATE, errors);
  errors.throwIfAny();

  const email = String(body['email']);
  const neighbours = sameAccount(call);
  if (neighbours.some((other) => other.email.toLowerCase() === email.toLowerCase())) {
    throw problem(400, 'User with email already exists');
  }
  const dgftUsername = textOrNull(body['dgftUsername']);
  if (dgftUsername && neighbours.some((other) => other.dgftUsername === dgftUsername)) {
    throw problem(400, 'DGFT username already in use');
  }
  const customer: Customer = {
    id: randomUUID(),
    name,
    email,
    companyName: textOrNull(body['companyName']),
    iec,
    address: textOrNull(body['address']),
    platformId: caller.key.platformId,
    mode: caller.mode,
    isActive: false,
    dgftUsername,
    dgftPassword: textOrNull(body['dgftPassword']),
    connection: null,
    failedChecks: [],
    checksRefusedUntil: 0,
    irms: [],
    cachedPdfs: new Set(),
    createdAt: now,
    updatedAt: now,
  };
  context.world.customers.set(customer.id, customer);
  call.record.platformCustomerId = customer.id;
  return json(clientObject(customer, now, { withMode: true }), 201);
}

function get(call: Call) {
  const id = pathId(call);
  const customer = customerOf(call, id, `Platform customer with id ${id} not found`);
  return json(clientObject(customer, call.now, { withMode: false }));
}

function update(call: Call) {
  const { body } = call;
  const errors = new FieldErrors();
  for (const field of EDITABLE) optionalText(body, field, errors);
  if (body['name'] === null || body['name'] === '') errors.add('name', 'name should not be empty');
  rejectOthers(body, EDITABLE, errors);
  errors.throwIfAny();

  const id = pathId(call);
  const customer = customerOf(call, id, `Platform customer with id ${id} not found`);
  if (typeof body['name'] === 'string') customer.name = body['name'];
  if (body['companyName'] !== undefined) customer.companyName = textOrNull(body['companyName']);
  if (body['address'] !== undefined) customer.address = textOrNull(body['address']);
  customer.updatedAt = call.now;
  return json(clientObject(customer, call.now, { withMode: true }));
}

function list(call: Call) {
  const errors = new FieldErrors();
  const window = paging(call.query, errors);
  errors.throwIfAny();
  const search = typeof call.query['search'] === 'string' ? call.query['search'].toLowerCase() : '';
  const found = sameAccount(call)
    .filter(({ name, email }) => [name, email].some((text) => text.toLowerCase().includes(search)))
    .map((customer) => listedObject(customer, call.now));
  return json(pageOf(found, window));
}

/** The client object of create, update and validate, or (without mode) of get. */
function clientObject(customer: Customer, now: number, { withMode }: { withMode: boolean }) {
  const { connection } = customer;
  const hasDgftCredentials = customer.dgftUsername !== null && customer.dgftPassword !== null;
  return {
    id: customer.id,
    name: customer.name,
    email: customer.email,
    type: 'customer',
    companyName: customer.companyName,
    iec: customer.iec,
    address: customer.address,
    platformId: customer.platformId,
    ...(withMode ? { mode: customer.mode } : {}),
    isActive: customer.isActive,
    hasDgftCredentials,
    // Credentials that were never validated have no activation under way: it starts with the validation.
    ...(hasDgftCredentials ? { dgftApiStatus: apiStatus(connection, now) } : {}),
    createdAt: new Date(customer.createdAt).toISOString(),
    updatedAt: new Date(customer.updatedAt).toISOString(),
  };
}

function apiStatus(connection: Customer['connection'], now: number) {
  const { activatesAt = null, sharedCredentialsLikely = false } = connection ?? {};
  if (activatesAt !== null && activatesAt <= now) return { state: 'ready', activatesAt: null, sharedCredentialsLikely };
  const at = activatesAt === null ? null : new Date(activatesAt).toISOString();
  return { state: 'activation_pending', activatesAt: at, sharedCredentialsLikely };
}

function listedObject(customer: Customer, now: number) {
  const { dgftApiStatus: _unlisted, ...listed } = clientObject(customer, now, { withMode: false });
  return listed;
}

/** The clients of the caller's account in the caller's mode: where e-mail addresses and usernames are unique. */
function sameAccount({ context, caller }: Call): Customer[] {
  return [...context.world.customers.values()].filter(
    ({ platformId, mode }) => platformId === caller.key.platformId && mode === caller.mode,
  );
}

function pathId(call: Call): string {
  const id = call.params['id'] ?? '';
  if (!isUuid(id)) throw problem(400, 'Invalid platform customer ID format');
  return id.toLowerCase();
}

function readIec(value: unknown, errors: FieldErrors): string | null {
  if (value === undefined || value === null) return null;
  const iec = typeof value === 'string' ? value.trim() : '';
  if (!/^[A-Za-z0-9]{10}$/.test(iec)) errors.add('iec', 'iec must be exactly 10 alphanumeric characters');
  return iec.toUpperCase();
}

function optionalText(body: Record<string, unknown>, field: string, errors: FieldErrors): void {
  const value = body[field];
  if (value !== undefined && value !== null && typeof value !== 'string')
    errors.add(field, `${field} must be a string`);
}

function rejectOthers(body: Record<string, unknown>, known: readonly string[], errors: FieldErrors): void {
  for (const property of Object.keys(body)) {
    if (!known.includes(property)) errors.add(property, `property ${property} should not exist`);
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

const FUSE_FAILURES = 5;
const FUSE_MS = 15 * 60_000;

function check(call: Call) {
  const { body, now, context } = call;
  const errors = new FieldErrors();
  const username = requiredText(body, 'dgftUsername', errors);
  const password = requiredText(body, 'dgftPassword', errors);
  errors.throwIfAny();

  const customer = customerOf(call, pathId(call), 'Platform customer not found');
  // Five failed checks within fifteen minutes are refused for a further fifteen (spec: "Validate credentials").
  if (context.settings.rateLimits && now < customer.checksRefusedUntil) throw tooManyRequests();
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

function noteFailure(customer: Customer, now: number): void {
  customer.failedChecks = [...customer.failedChecks.filter((at) => now - at < FUSE_MS), now];
  if (customer.failedChecks.length < FUSE_FAILURES) return;
  customer.checksRefusedUntil = now + FUSE_MS;
  customer.failedChecks = [];
}
