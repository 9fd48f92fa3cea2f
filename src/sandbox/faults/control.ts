import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { faultSchema } from './fault-schema';
import { doubleFilings } from '../endpoints/filings';
import type { Context } from '../http/route';
import { processDue } from '../authority/processing';
import { accountSchema, certificateSchema, irmSchema, keySchema, outcomeSchema } from '../authority/seed';
import { irmKey, portalAccount, portalIrm, type Filing, type PortalAccount, type World } from '../authority/world';

const accountChange = z.strictObject({ password: z.string().min(1).optional(), locked: z.boolean().optional() });
const portalChange = z.strictObject({ down: z.boolean() });
const refusal = z.strictObject({ forMs: z.number().int().positive().max(600_000) });
const certificateChange = z.strictObject({
  eBRCStatus: z.string().optional(),
  brcUtilStatus: z.string().optional(),
  realisedValueFCC: z.number().positive().optional(),
  currencyCode: z.string().length(3).optional(),
  sbCumInvoiceNumber: z.string().optional(),
});
const keyChange = keySchema.partial().required({ key: true });

/** Control endpoints below `/__sandbox`: not part of the service, without key and limits. */
export function addControlRoutes(
  app: FastifyInstance,
  context: Context,
  refuse: (refuse: boolean) => Promise<void>,
): void {
  addFaultRoutes(app, context);
  addAccountRoutes(app, context);
  addCertificateRoutes(app, context);
  addSettingRoutes(app, context);
  addReportRoutes(app, context);

  app.post('/refuse', async (request, reply) => {
    const body = read(refusal, request.body, reply);
    if (!body) return reply;
    // The answer is sent first, because closing the port closes every connection.
    reply.raw.once('close', () => void refuse(true));
    void sleep(body.forMs, undefined, { signal: context.stop }).then(
      () => refuse(false),
      () => undefined,
    );
    return reply.header('connection', 'close').send({ refusingForMs: body.forMs });
  });
}

function addFaultRoutes(app: FastifyInstance, { faults }: Context): void {
  app.get('/faults', () => faults.list());
  app.post('/faults', (request, reply) => {
    const fault = read(faultSchema, request.body, reply);
    return fault ? reply.code(201).send(faults.add(fault)) : reply;
  });
  app.delete('/faults', (_request, reply) => {
    faults.clear();
    return reply.code(204).send();
  });
  app.delete<{ Params: { id: string } }>('/faults/:id', (request, reply) =>
    faults.remove(request.params.id) ? reply.code(204).send() : missing(reply, `no fault ${request.params.id}`),
  );
}

function addAccountRoutes(app: FastifyInstance, { world }: Context): void {
  const find = (username: string) => findAccount(world, username);

  app.get('/accounts', () => world.accounts.map(accountView));
  app.post('/accounts', (request, reply) => {
    const account = read(accountSchema, request.body, reply);
    if (!account) return reply;
    if (find(account.username)) return conflict(reply, `account ${account.username} exists already`);
    world.accounts.push(portalAccount(account));
    return reply.code(201).send({ username: account.username });
  });
  app.patch<{ Params: { username: string } }>('/accounts/:username', (request, reply) => {
    const account = find(request.params.username);
    if (!account) return missing(reply, `no account ${request.params.username}`);
    const change = read(accountChange, request.body, reply);
    if (!change) return reply;
    account.password = change.password ?? account.password;
    account.locked = change.locked ?? account.locked;
    if (change.locked === false) account.failedLoginsInARow = 0;
    return accountView(account);
  });
  app.post<{ Params: { username: string } }>('/accounts/:username/irms', (request, reply) => {
    const account = find(request.params.username);
    if (!account) return missing(reply, `no account ${request.params.username}`);
    const irm = read(irmSchema, request.body, reply);
    if (!irm) return reply;
    const added = portalIrm(irm);
    // The same key again is an amendment of that IRM.
    account.irms = [...account.irms.filter((known) => irmKey(known) !== irmKey(added)), added];
    return reply.code(201).send(irm);
  });
}

function addCertificateRoutes(app: FastifyInstance, { world }: Context): void {
  app.post<{ Params: { username: string } }>('/accounts/:username/certificates', (request, reply) => {
    const account = findAccount(world, request.params.username);
    if (!account) return missing(reply, `no account ${request.params.username}`);
    const certificate = read(certificateSchema, request.body, reply);
    if (!certificate) return reply;
    const { certificates } = portalAccount({ ...account, irms: [], certificates: [certificate] });
    account.certificates.push(...certificates);
    return reply.code(201).send(certificate);
  });
  app.patch<{ Params: { username: string; number: string } }>(
    '/accounts/:username/certificates/:number',
    (request, reply) => {
      const { username, number } = request.params;
      const certificate = findAccount(world, username)?.certificates.find(({ eBRCNumber }) => eBRCNumber === number);
      if (!certificate) return missing(reply, `no certificate ${number} of account ${username}`);
      const change = read(certificateChange, request.body, reply);
      return change ? Object.assign(certificate, change) : reply;
    },
  );
  app.delete<{ Params: { username: string; number: string } }>(
    '/accounts/:username/certificates/:number',
    (request, reply) => {
      const { username, number } = request.params;
      const account = findAccount(world, username);
      const left = account?.certificates.filter(({ eBRCNumber }) => eBRCNumber !== number) ?? [];
      if (!account || left.length === account.certificates.length) {
        return missing(reply, `no certificate ${number} of account ${username}`);
      }
      account.certificates = left;
      return reply.code(204).send();
    },
  );
}

/** Scripted outcomes, the portal's availability, and API keys. */
function addSettingRoutes(app: FastifyInstance, { world }: Context): void {
  app.post('/outcomes', (request, reply) => {
    const script = read(outcomeSchema, request.body, reply);
    if (!script) return reply;
    world.outcomes.push({ script, left: script.times ?? Number.POSITIVE_INFINITY });
    return reply.code(201).send(script);
  });
  app.post('/portal', (request, reply) => {
    const change = read(portalChange, request.body, reply);
    if (!change) return reply;
    world.portalDown = change.down;
    return reply.send(change);
  });
  app.post('/keys', (request, reply) => {
    const change = read(keyChange, request.body, reply);
    if (!change) return reply;
    const known = world.keys.find(({ key }) => key === change.key);
    if (known) Object.assign(known, change);
    else world.keys.push(keySchema.parse(change));
    return reply.code(201).send({ added: !known });
  });
}

function addReportRoutes(app: FastifyInstance, context: Context): void {
  const { calls, limiter, settings, world } = context;
  app.get<{ Querystring: { operation?: string; since?: string } }>('/calls', (request) => {
    const { operation, since } = request.query;
    return calls.list({ ...(operation ? { operation } : {}), since: Number(since ?? 0) });
  });
  app.delete('/calls', (_request, reply) => {
    calls.clear();
    return reply.code(204).send();
  });
  app.get('/filings', async () => {
    processDue(context, await settings.clock());
    const certificates = world.accounts.flatMap((account) => account.certificates);
    return {
      requests: [...world.filings.values()].map(filingView),
      certificates: certificates.length,
      doubleFilings: doubleFilings(world),
    };
  });
  app.get('/rate', () => {
    const refused = limiter.refused();
    return { refused, total: Object.values(refused).reduce((sum, count) => sum + count, 0) };
  });
}

/** @returns the parsed body; null, with a 400 sent, when it is invalid */
function read<T>(schema: z.ZodType<T>, body: unknown, reply: FastifyReply): T | null {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  void reply.code(400).send({ statusCode: 400, message: z.prettifyError(parsed.error) });
  return null;
}

function findAccount(world: World, username: string): PortalAccount | undefined {
  return world.accounts.find((account) => account.username === username);
}

function missing(reply: FastifyReply, message: string): FastifyReply {
  return reply.code(404).send({ statusCode: 404, message });
}

function conflict(reply: FastifyReply, message: string): FastifyReply {
  return reply.code(409).send({ statusCode: 409, message });
}

function accountView({ password: _secret, irms, certificates, ...account }: PortalAccount) {
  return {
    ...account,
    irms: irms.map(({ available, ...irm }) => ({ ...irm, irmAvailableAmt: available.toNumber() })),
    certificates: certificates.map(({ eBRCNumber, eBRCDate, requestId }) => ({ eBRCNumber, eBRCDate, requestId })),
  };
}

function filingView({ rows, acceptedAt, processAt, username: _login, ...filing }: Filing) {
  return {
    ...filing,
    acceptedAt: new Date(acceptedAt).toISOString(),
    processAt: new Date(processAt).toISOString(),
    rows: rows.map(({ item, ...row }) => ({ serialNo: item.serialNo, ...row })),
  };
}
