/** Sign-in at a company's identity provider: OpenID Connect, code flow with PKCE. */
import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import { isLoopbackHost } from '../../config/listen-address';
import type { ProviderSettings } from '../../config/sections';
import { isName, ROLES } from '../../domain/principal';
import type { PersonOfProvider } from '../../ledger/principals/principals';
import { unavailable } from '../http/problem';
import { FRESH_S, SIGNED_IN_S } from '../../ledger/principals/sessions';

/** What a sign-in begins with, which the browser keeps until it comes back. */
export const BEGUN = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: z.string(),
  /** Before a decision: the provider has to ask who this is, although it may know. */
  again: z.boolean(),
});

export type Begun = z.infer<typeof BEGUN>;

/** A person, as the provider vouches for it. Without a role it has no access. */
export interface Arrived extends PersonOfProvider {
  /** When the provider last asked who this is; null: it does not say. */
  signedInAt: Date | null;
}

export type Provider = ReturnType<typeof createProvider>;

/** Loaded only where an identity provider is configured. */
const loadLibrary = () => import('openid-client');

const TIMEOUT_S = 10;

/** Begins to look for the provider at once, so that the log of the start says whether it is there. */
export function createProvider(settings: ProviderSettings, logger: Logger) {
  const { issuer, roleClaim, pagesUrl } = settings;
  const redirect = `${pagesUrl}/sign-in/callback`;
  let found: ReturnType<typeof discover> | null = null;

  /** @throws Problem 503 */
  async function reach() {
    found ??= discover(settings);
    const asked = found;
    try {
      return await asked;
    } catch (error) {
      if (found === asked) found = null;
      logger.warn({ err: error, url: issuer }, 'the identity provider cannot be reached: only tokens sign in');
      const detail = `The identity provider (${issuer}) cannot be reached. Try again later, or sign in with a token.`;
      throw unavailable('provider_unavailable', detail, { retryAfterS: 15, cause: error });
    }
  }

  void reach().then(
    () => logger.info({ url: issuer }, 'people sign in at the identity provider'),
    () => undefined,
  );

  return {
    issuer,
    roleClaim,
    /** The address at which a sign-in begins: the one to which the provider sends people back, for the cookie. */
    start: `${pagesUrl}/sign-in/provider`,
    /** Where the provider asks who this is. @throws Problem 503 if it cannot be reached */
    async begin({ next, again }: Pick<Begun, 'next' | 'again'>): Promise<{ to: string; begun: Begun }> {
      const { library, configuration } = await reach();
      const verifier = library.randomPKCECodeVerifier();
      const begun = { state: library.randomState(), nonce: library.randomNonce(), verifier, next, again };
      const url = library.buildAuthorizationUrl(configuration, {
        ...{ redirect_uri: redirect, scope: 'openid profile email', state: begun.state, nonce: begun.nonce },
        ...{ code_challenge: await library.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
        // Also asks for the time of the sign-in, `auth_time`.
        max_age: String(again ? FRESH_S : SIGNED_IN_S),
        ...(again && { prompt: 'login' }),
      });
      return { to: url.href, begun };
    },
    /** @param query of the address that the provider sent the browser back to @throws Error if anything is wrong */
    async finish(query: string, { state, nonce, verifier }: Begun): Promise<Arrived> {
      const { library, configuration } = await reach();
      const tokens = await library.authorizationCodeGrant(configuration, new URL(`${redirect}?${query}`), {
        ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
      });
      const claims = CLAIMS.parse(tokens.claims());
      const { iss, sub, auth_time: at } = claims;
      const known = [claims[roleClaim]].flat();
      return {
        ...{ issuer: iss, subject: sub, names: namesOf(claims) },
        roles: ROLES.filter((role) => known.includes(role)),
        signedInAt: at === undefined ? null : new Date(at * 1_000),
      };
    },
  };
}

async function discover({ issuer, clientId, clientSecret }: ProviderSettings) {
  const library = await loadLibrary();
  const url = new URL(issuer);
  const [basic, post] = [library.ClientSecretBasic(clientSecret), library.ClientSecretPost(clientSecret)];
  const authentication: typeof basic = (server, ...rest) => {
    const takes = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (takes.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
  const configuration = await library.discovery(url, clientId, undefined, authentication, {
    timeout: TIMEOUT_S,
    execute: [
      // The ID token comes over TLS from the provider itself; its signature is checked too.
      library.enableNonRepudiationChecks,
      ...(url.protocol === 'http:' && isLoopbackHost(url.hostname) ? [library.allowInsecureRequests] : []),
    ],
  });
  return { library, configuration };
}

const CLAIMS = z.looseObject({
  iss: z.string(),
  // As the specification bounds it.
  sub: z.string().regex(/^[\x20-\x7e]{1,255}$/),
  auth_time: z.number().optional(),
});

/** The names that a person may have here, best first. The last is nobody else's. */
function namesOf(claims: z.infer<typeof CLAIMS>): string[] {
  const { iss, sub } = claims;
  const mark = createHash('sha256').update(`${iss} ${sub}`).digest('hex').slice(0, 12);
  const given = [claims['name'], claims['preferred_username'], claims['email']].map((name) =>
    typeof name === 'string' ? name.trim() : '',
  );
  const [name = 'person'] = given.filter((each) => isName(each) && isName(`${each} ${mark}`));
  return name === 'person' ? [`person ${mark}`] : [name, `${name} ${mark}`];
}
