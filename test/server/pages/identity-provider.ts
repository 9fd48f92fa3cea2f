/** A real provider of OpenID Connect on 127.0.0.1. Who signs in, and when it was, is said beforehand. */
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createBrowser } from './browser';

export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>;

export const CLIENT = { clientId: 'ebrc', clientSecret: 'a-secret-of-the-client' };

type Claims = Record<string, unknown>;

export async function startIdentityProvider(redirect: string) {
  const { default: Provider } = await import('oidc-provider');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [key, foreignKey] = [newKey(), newKey()];
  const people = new Map<string, Claims>();
  /** What it asked of whoever was sent to it. */
  const asked: string[] = [];
  const next: { who: string; minutesAgo: number; alter: ((claims: Claims) => Claims) | null; key: KeyObject } = {
    ...{ who: '', minutesAgo: 0, alter: null, key },
  };
  const provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret, redirect_uris: [redirect] }],
    jwks: { keys: [{ ...key.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' }] },
    claims: { openid: ['sub'], profile: ['name', 'ebrc_roles'] },
    conformIdTokenClaims: false,
    cookies: { keys: ['a key'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ ...people.get(sub), sub }) }),
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    async loadExistingGrant({ oidc }) {
      const grant = new provider.Grant({ clientId: oidc.client?.clientId, accountId: oidc.session?.accountId });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
  });
  provider.use(async (ctx, go) => {
    await go();
    const answer = ctx.body as { id_token?: string };
    if (ctx.path !== '/token' || !answer.id_token || !next.alter) return;
    const [, payload = ''] = answer.id_token.split('.');
    const claims = next.alter(JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims);
    ctx.body = { ...answer, id_token: signed(claims, next.key) };
  });
  async function interact(request: IncomingMessage, response: ServerResponse) {
    const { prompt } = await provider.interactionDetails(request, response);
    asked.push(prompt.name);
    const ts = Math.floor(Date.now() / 1_000) - next.minutesAgo * 60;
    await provider.interactionFinished(request, response, { login: { accountId: next.who, ts } });
  }
  const answer = provider.callback();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    void (request.url?.startsWith('/interaction/') ? interact(request, response) : answer(request, response));
  });

  return {
    issuer,
    people,
    asked,
    /** A person's browser at the provider, which remembers who signed in. */
    visitor() {
      const browser = createBrowser(issuer);
      return {
        /** Goes where a sign-in leads. @returns the path on our side to which it comes back */
        async visit(to: string, how: Partial<typeof next> & { who: string }): Promise<string> {
          Object.assign(next, { minutesAgo: 0, alter: null, key, ...how });
          let at: string | null = to;
          while (at !== null && !at.startsWith(redirect)) at = (await browser.open(at.replace(issuer, ''))).to;
          if (at === null) throw new Error('The provider did not send the browser back.');
          return at.replace(new URL(redirect).origin, '');
        },
      };
    },
    foreignKey,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const newKey = (): KeyObject => generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;

function signed(claims: Claims, key: KeyObject): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256', kid: 'k1' })}.${part(claims)}`;
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}
