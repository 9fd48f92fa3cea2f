import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { faultSchema } from './fault-schema';
import { doubleFilings } from '../endpoints/filings';
import { problem } from '../http/problem';
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

/** Control endpoints below `/__sandbox`: not part of the service, without key and limits. `refuse`: see `Sandbox`. */
export function addControlRoutes(
  app: FastifyInstance,
  context: Context,
  refuse: (refuse: boolean) => Promise<void>,
): void {
  app.addHook('onSend', (_request, _reply, _payload, done) => {
    context.keep();
    done();
  });
  addFaultRoutes(app, context);
  addAccountRoutes(app, context);
  addCertificateRoutes(app, context);
  addSettingRoutes(app, context);
  addReportRoutes(app, context);

  app.post('/refuse', async (request, reply) => {
    const { forMs } = bodyOf(request, refusal);
    const refuseForAWhile = async () => {
      await refuse(true);
      await sleep(forMs, undefined, { signal: context.stop });
      await refuse(false);
    };
    // Once the answer is sent, because closing the port closes every connection. A sandbox that closes ends the wait.
    reply.raw.once('close', () => void refuseForAWhile().catch(() => undefined));
    return reply.header('connection', 'close').send({ refusingForMs: forMs });
  });
}

function addFaultRoutes(app: FastifyInstance, { faults }: Context): void {
  app.get('/faults', () => faults.list());
  app.post('/faults', (request, reply) => reply.code(201).send(faults.add(bodyOf(request, faultSchema))));
  app.delete('/faults', (_request, reply) => {
    faults.clear();
    return reply.code(204).send();
  });
  app.delete<{ Params: { id: string } }>('/faults/:id', ({ params: { id } }, reply) => {
    if (!faults.remove(id)) throw problem(404, `no fault ${id}`);
    return reply.code(204).send();
  });
}

interface OfAccount {
  Params: { username: string };
}
interface OfCertificate {
  Params: { username: string; number: string };
}

function addAccountRoutes(app: FastifyInstance, { world }: Context): void {
  app.get('/accounts', () => world.accounts.map(accountView));
  app.post('/accounts', (request, reply) => {
    const account = bodyOf(request, accountSchema);
    if (world.accounts.some(({ username }) => username === account.username)) {
      throw problem(409, `account ${account.username} exists already`);
    }
    world.accounts.push(portalAccount(account));
    return reply.code(201).send({ username: account.username });
  });
  app.patch<OfAccount>('/accounts/:username', (request) => {
    const account = accountOf(world, request.params.username);
    const change = bodyOf(request, accountChange);
    account.password = change.password ?? account.password;
    account.locked = change.locked ?? account.locked;
    if (change.locked === false) account.failedLoginsInARow = 0;
    return accountView(account);
  });
  app.post<OfAccount>('/accounts/:username/irms', (request, reply) => {
    const account = accountOf(world, request.params.username);
    const irm = bodyOf(request, irmSchema);
    const added = portalIrm(irm);
    // The same key again is an amendment of that IRM.
    account.irms = [...account.irms.filter((known) => irmKey(known) !== irmKey(added)), added];
    return reply.code(201).send(irm);
  });
}

function addCertificateRoutes(app: FastifyInstance, { world }: Context): void {
  const find = ({ username, number }: OfCertificate['Params']) => {
    const { certificates } = accountOf(world, username);
    const at = certificates.findIndex(({ eBRCNumber }) => eBRCNumber === number);
    if (at < 0) throw problem(404, `no certificate ${number} of account ${username}`);
    return { certificates, at };
  };
  app.post<OfAccount>('/accounts/:username/certificates', (request, reply) => {
    const account = accountOf(world, request.params.username);
    const certificate = bodyOf(request, certificateSchema);
    const { certificates } = portalAccount({ ...account, irms: [], certificates: [certificate] });
    account.certificates.push(...certificates);
    return reply.code(201).send(certificate);
  });
  app.patch<OfCertificate>('/accounts/:username/certificates/:number', (request) => {
    const { certificates, at } = find(request.params);
    return Object.assign(certificates[at] ?? {}, bodyOf(request, certificateChange));
  });
  app.delete<OfCertificate>('/accounts/:username/certificates/:number', (request, reply) => {
    const { certificates, at } = find(request.params);
    certificates.splice(at, 1);
    return reply.code(204).send();
  });
}

/** Scripted outcomes, the portal's availability, and API keys. */
function addSettingRoutes(app: FastifyInstance, { world }: Context): void {
  app.post('/outcomes', (request, reply) => {
    const script = bodyOf(request, outcomeSchema);
    world.outcomes.push({ script, left: script.times ?? Number.POSITIVE_INFINITY });
    return reply.code(201).send(script);
  });
  app.post('/portal', (request) => {
    const change = bodyOf(request, portalChange);
    world.portalDown = change.down;
    return change;
  });
  app.post('/keys', (request, reply) => {
    const { key } = bodyOf(request, z.looseObject({ key: z.string() }));
    const known = world.keys.find((entry) => entry.key === key);
    // What a change leaves out stays as it is.
    const wanted = bodyOf({ body: { ...known, ...(request.body as object) } }, keySchema);
    world.keys = [...world.keys.filter((entry) => entry !== known), wanted];
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

/** @throws Problem 400 for an invalid body */
function bodyOf<T>({ body }: Pick<FastifyRequest, 'body'>, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw problem(400, z.prettifyError(parsed.error));
  return parsed.data;
}

/** @throws Problem 404 */
function accountOf(world: World, username: string): PortalAccount {
  const account = world.accounts.find((known) => known.username === username);
  if (!account) throw problem(404, `no account ${username}`);
  return account;
}

function accountView({ password: _secret, irms, certificates, ...account }: PortalAccount) {
  return {
    ...account,
    irms: irms.map(({ available, ...irm }) => ({ ...irm, irmAvailableAmt: Number(available) })),
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
