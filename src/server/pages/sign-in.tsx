/** Signing in and out, and what a viewer chooses. */
import { z } from 'zod';
import { endSession, endSessionsOf, openSession } from '../../ledger/principals/sessions';
import { bodyOf } from '../http/body';
import { Problem } from '../http/problem';
import { checked } from '../http/route';
import { Document, Layout } from './layout';
import type { Provider } from '../access/provider';
import {
  assertOwnForm,
  clearSecret,
  formToken,
  needTls,
  newSecret,
  ownPath,
  secretOf,
  setGrouping,
  setSecret,
} from '../access/session';
import { addPage, sendPage, type PageServer, type Viewer } from './page';
import { Alert, Fields, Form, Input, Link } from './parts';

const text = z.string().max(2_000);
const SIGN_IN = z.object({ token: text.max(200), next: text.optional() });
const AT_PROVIDER = 'Sign in with your company’s account';
const ENDED = 'You were signed out before this form came in: nothing was done. Sign in, and fill it in again.';
const WRONG = 'This token is unknown, has ended, or is of the other mode. Ask whoever made it for a new one.';

type SignInProps = { form: string; next: string; problem: string | null; provider: Provider | null };

const SignInPage = ({ form, next, problem, provider }: SignInProps): JSX.Element => (
  <Document title="Sign in">
    <main id="main" tabindex="-1">
      <h1>Sign in</h1>
      {problem !== null && <Alert title={problem} />}
      {provider !== null && (
        <p>
          <Link href={`${provider.start}?${new URLSearchParams({ next }).toString()}`} text={AT_PROVIDER} button />
        </p>
      )}
      <Form
        viewer={{ form, fresh: true, atProvider: false, path: '/' }}
        action="/sign-in"
        hidden={{ next }}
        button="Sign in"
      >
        <Input
          label="Your token"
          name="token"
          type="password"
          autocomplete="current-password"
          required
          autofocus={provider === null}
          hint="It begins with ebrc_. Whoever runs this service makes it (ebrc principals add), and it is yours alone."
        />
      </Form>
    </main>
  </Document>
);

/** The form needs no sign-in, but is bound to the browser that opened it. */
export function addSignIn({ app, httpApi, gate, addresses, provider }: PageServer): void {
  const config = { config: { name: 'page sign-in' }, schema: { hide: true } };

  app.get('/sign-in', config, (request, reply) => {
    // Who is signed in in another window stays so.
    const secret = secretOf(request) ?? newSecret();
    setSecret(request, reply, secret);
    const { next, ended } = request.query as { next?: unknown; ended?: unknown };
    const problem = ended === 'yes' ? ENDED : null;
    const page = { form: formToken(secret), next: ownPath(next), problem, provider };
    return sendPage(reply, { html: <SignInPage {...page} /> });
  });

  app.post('/sign-in', { ...config, bodyLimit: 16 * 1024 }, async (request, reply) => {
    needTls(request);
    const { fields } = await bodyOf(request, false);
    assertOwnForm(request, fields);
    const { token, next } = checked(SIGN_IN, fields, 'body');
    // A new secret, so that nobody knows it from before the sign-in.
    const secret = newSecret();
    setSecret(request, reply, secret);
    try {
      request.principal = await gate.signIn(request, addresses, token);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 401) throw error;
      const page = { form: formToken(secret), next: ownPath(next), problem: WRONG, provider };
      return sendPage(reply, { status: 401, html: <SignInPage {...page} /> });
    }
    await openSession(httpApi.deps.pool, secret, { token: token.trim() });
    return sendPage(reply, { to: ownPath(next) });
  });
}

export function addViewerPages(server: PageServer): void {
  const { pool } = server.httpApi.deps;

  addPage(server, { route: 'GET /you', handle: (viewer) => ({ html: <YouPage viewer={viewer} /> }) });
  addPage(server, {
    route: 'POST /grouping',
    changes: false,
    fields: z.object({ grouping: z.enum(['indian', 'western']), next: text }),
    handle({ fields, request, reply }) {
      setGrouping(request, reply, fields.grouping);
      return { to: ownPath(fields.next) };
    },
  });
  addPage(server, {
    route: 'POST /sign-out',
    changes: false,
    fields: z.object({ everywhere: z.literal('yes').optional() }),
    async handle({ principal, fields, request, reply }) {
      if (fields.everywhere) await endSessionsOf(pool, principal.principalId);
      else await endSession(pool, secretOf(request) ?? '');
      clearSecret(request, reply);
      return { to: '/sign-in' };
    },
  });
}

const YouPage = ({ viewer }: { viewer: Viewer }): JSX.Element => {
  const { name, roles, exporters, expiresAt } = viewer.principal;
  const sees = exporters === null ? 'all exporters' : `${exporters.length} of the exporters`;
  return (
    <Layout viewer={viewer} title={name}>
      <h1 safe>{name}</h1>
      <Fields
        pairs={[
          ['Your roles', roles.join(', ')],
          ['You see', sees],
          ['Your access ends', expiresAt?.toISOString()],
        ]}
      />
      <p class="prose">
        A sign-in lasts twelve hours, or as long as your token is valid. Before a decision, you are asked to sign in
        again after fifteen minutes.
      </p>
      <Form viewer={viewer} action="/sign-out" hidden={{ everywhere: 'yes' }} button="Sign out everywhere" />
    </Layout>
  );
};
