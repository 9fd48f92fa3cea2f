/** Sign-in at a company's identity provider, as plain HTTP, through a proxy with TLS. */
import { closeAfterAll } from '../../support/closing';
import { eventually } from '../../support/processes';
import { removePrincipal } from '../../../src/starter/principals';
import { onboard, useHttpStage } from '../http-stage';
import { createBrowser, formOf, type Browser } from './browser';
import { CLIENT, startIdentityProvider, type IdentityProvider } from './identity-provider';
import { fileThrough } from './workbook';

const OURS = 'https://ebrc.example';
const PROXY = { 'x-forwarded-host': 'ebrc.example', 'x-forwarded-proto': 'https' };
const SETTINGS = { ...CLIENT, roleClaim: 'ebrc_roles', pagesUrl: OURS };

let idp: IdentityProvider;
let url = '';
let exporter = '';

const stage = useHttpStage(async (opened) => {
  idp = await startIdentityProvider(`${OURS}/sign-in/callback`);
  closeAfterAll(() => idp.close());
  exporter = await onboard(opened);
  const httpApi = await opened.another({}, { pages: true, provider: { ...SETTINGS, issuer: idp.issuer } });
  closeAfterAll(() => httpApi.close());
  ({ url } = httpApi);
});

type How = Parameters<ReturnType<IdentityProvider['visitor']>['visit']>[1];

/** Goes to the provider and comes back. @returns what our side then answers */
async function arrive(browser: Browser, how: How, { next = '/you', again = false, at = idp.visitor() } = {}) {
  const begun = await browser.open(`/sign-in/provider?next=${encodeURIComponent(next)}${again ? '&again=yes' : ''}`);
  expect(begun.status).toBe(303);
  return browser.open(await at.visit(begun.to!, how));
}

/** Somebody who signed in. */
async function person(who: string, roles: string | string[], name = who) {
  idp.people.set(who, { name, ebrc_roles: roles });
  const [browser, at] = [createBrowser(url, PROXY), idp.visitor()];
  const arrived = await arrive(browser, { who }, { at });
  expect([arrived.status, arrived.text]).toEqual([200, expect.stringContaining('content="0; url=/you"')]);
  return { ...browser, at };
}

const isIn = async (browser: Pick<Browser, 'open'>) => (await browser.open('/you')).status === 200;

async function principals(subject: string) {
  const { rows } = await stage.ledger.pool.query<{ name: string; roles: string[]; issuer: string }>(
    'SELECT name, roles, issuer FROM principals WHERE subject = $1',
    [subject],
  );
  return rows;
}

describe('a sign-in at the provider', () => {
  it('asks with PKCE, state and nonce, and makes a person of the ledger', async () => {
    const browser = createBrowser(url, PROXY);
    expect((await browser.open('/sign-in?next=/filings')).text).toContain(
      `href="${OURS}/sign-in/provider?next=%2Ffilings"`,
    );
    const begun = await browser.open('/sign-in/provider');
    expect(Object.fromEntries(new URL(begun.to!).searchParams)).toMatchObject({
      ...{ response_type: 'code', code_challenge_method: 'S256', redirect_uri: `${OURS}/sign-in/callback` },
      ...{ scope: 'openid profile email', state: expect.any(String) as string, nonce: expect.any(String) as string },
    });
    expect(browser.set.at(-1)).toMatch(/^__Host-ebrc_sign_in=[\w-]+; Max-Age=600; .*HttpOnly; Secure; SameSite=Lax$/u);

    const asha = await person('u-1', ['maker', 'checker', 'root']);
    expect(asha.set.at(-1)).toMatch(/^__Host-ebrc=[\w-]{43}; .*HttpOnly; Secure; SameSite=Strict$/u);
    expect((await asha.open('/you')).text).toContain('maker, checker');
    expect(await principals('u-1')).toEqual([{ name: 'u-1', roles: ['maker', 'checker'], issuer: idp.issuer }]);
    // The same person, with the roles that the provider gives now, on every page.
    await person('u-1', 'viewer', 'Another Name');
    expect(await principals('u-1')).toEqual([{ name: 'u-1', roles: ['viewer'], issuer: idp.issuer }]);
    expect((await asha.open('/file')).status).toBe(403);
  });

  it('lets nobody in without a role, and out whose role was taken away', async () => {
    for (const [who, roles] of [
      ['none', undefined],
      ['others', ['root', 'MAKER']],
      ['object', { maker: true }],
    ] as const) {
      idp.people.set(who, { name: 'Nobody', ebrc_roles: roles });
      const browser = createBrowser(url, PROXY);
      const { status, text } = await arrive(browser, { who });
      expect([who, status]).toEqual([who, 403]);
      expect(text).toContain('Ask your administrator to give you one or more of viewer, maker, checker, admin there');
      expect(text).toContain('in the claim ebrc_roles');
      expect([await isIn(browser), await principals(who)]).toEqual([false, []]);
    }
    await eventually(async () => {
      const { rows } = await stage.ledger.pool.query(
        "SELECT FROM audit_events WHERE action = 'page sign-in at the identity provider' AND code = 'no_role'",
      );
      return rows.length > 0;
    });
    const gone = await person('gone', ['maker']);
    idp.people.set('gone', { name: 'gone' });
    expect((await arrive(createBrowser(url, PROXY), { who: 'gone' })).status).toBe(403);
    expect(await isIn(gone)).toBe(false);
  });

  it('refuses another state, browser, code or token, and what came before', async () => {
    idp.people.set('eve', { name: 'eve', ebrc_roles: ['admin'] });
    const sessions = async () =>
      (
        await stage.ledger.pool.query('SELECT FROM sessions s JOIN principals p USING (principal_id) WHERE name = $1', [
          'eve',
        ])
      ).rows.length;
    const refused = async (
      name: string,
      text: string,
      send: (browser: Browser, back: string) => string | Promise<string>,
    ) => {
      const browser = createBrowser(url, PROXY);
      const { to } = await browser.open('/sign-in/provider');
      const back = await idp.visitor().visit(to!, { who: 'eve' });
      const answer = await browser.open(await send(browser, back));
      expect([name, answer.status, answer.text.includes(text)]).toEqual([name, 401, true]);
      expect([name, await isIn(browser), await sessions()]).toEqual([name, false, 0]);
    };
    const [failed, unknown] = ['The sign-in was not completed', 'was not begun in this browser'];
    const swap = (back: string, part: string, value: string) => {
      const at = new URL(back, OURS);
      at.searchParams.set(part, value);
      return `${at.pathname}${at.search}`;
    };
    await refused('another state', failed, (_browser, back) => swap(back, 'state', 'x'.repeat(43)));
    await refused('another issuer', failed, (_browser, back) => swap(back, 'iss', 'http://127.0.0.1:1'));
    await refused('another browser', unknown, (browser, back) => {
      browser.cookies.clear();
      return back;
    });
    // The code of one sign-in under the state of another: its verifier is another one.
    await refused('another code', failed, async (_browser, back) => {
      const { to } = await createBrowser(url, PROXY).open('/sign-in/provider');
      const other = await idp.visitor().visit(to!, { who: 'eve' });
      return swap(back, 'code', new URL(other, OURS).searchParams.get('code') ?? '');
    });

    const hour = 3_600;
    const tokens: [string, Omit<How, 'who'>][] = [
      ['another issuer', { alter: (claims) => ({ ...claims, iss: 'https://other.example' }) }],
      ['another client', { alter: (claims) => ({ ...claims, aud: 'other' }) }],
      ['another nonce', { alter: (claims) => ({ ...claims, nonce: 'other' }) }],
      ['no nonce', { alter: ({ nonce: _, ...claims }) => claims }],
      ['ended', { alter: (claims) => ({ ...claims, exp: Number(claims['iat']) - hour }) }],
      ['another key', { alter: (claims) => claims, key: idp.foreignKey }],
    ];
    for (const [name, how] of tokens) {
      const browser = createBrowser(url, PROXY);
      const { status, text } = await arrive(browser, { who: 'eve', ...how });
      expect([name, status, text.includes(failed), await sessions()]).toEqual([name, 401, true, 0]);
    }

    // A code signs in once, and what a sign-in began with is used once.
    const browser = createBrowser(url, PROXY);
    const { to } = await browser.open('/sign-in/provider');
    const kept = browser.cookies.get('__Host-ebrc_sign_in')!;
    const back = await idp.visitor().visit(to!, { who: 'eve' });
    expect((await browser.open(back)).status).toBe(200);
    expect(browser.cookies.has('__Host-ebrc_sign_in')).toBe(false);
    browser.cookies.set('__Host-ebrc_sign_in', kept);
    expect((await browser.open(back)).status).toBe(401);
    expect(await sessions()).toBe(1);
    // Neither the log nor the ledger has what would sign in.
    for (const secret of [CLIENT.clientSecret, new URL(back, OURS).searchParams.get('code')!])
      expect(stage.logs.join('').includes(secret)).toBe(false);
  });

  it('makes nobody the principal of a token who is called like it, nor lets back in who was removed', async () => {
    const token = await stage.principal(['admin'], { name: 'Ravi Iyer' });
    const ravi = await person('ravi', ['viewer'], 'Ravi Iyer');
    const [{ name, roles } = { name: '', roles: [] }] = await principals('ravi');
    expect([name, roles]).toEqual([expect.stringMatching(/^Ravi Iyer [0-9a-f]{12}$/u), ['viewer']]);
    expect((await ravi.open('/you')).text).toContain(name);
    const browser = createBrowser(url, PROXY);
    await browser.signIn(token);
    expect((await browser.open('/you')).text).toContain('admin');
    await removePrincipal(stage.deps, { name, by: 'a test' });
    expect(await isIn(ravi)).toBe(false);
    const { status, text } = await arrive(ravi, { who: 'ravi' });
    expect([status, text.includes('Your access here was removed')]).toEqual([403, true]);
    expect(await isIn(ravi)).toBe(false);
  });
});

it('two people of the provider make and approve a filing, the second after showing anew who it is', async () => {
  const maker = await person('m', ['maker', 'checker'], 'Meera');
  const checker = await person('c', ['checker'], 'Charu');
  const page = await fileThrough(stage, maker, { exporter, reference: 'OIDC-1', approval: 'yes' });
  await eventually(async () => (await checker.open(page)).text.includes('/approve"'));
  expect((await maker.open(page)).text).toContain('somebody else has to approve it');
  const { text } = await checker.open(page);
  const [, approve = ''] = /action="([^"]+\/approve)"/u.exec(text) ?? [];
  const fields = formOf(text, approve);

  await stage.ledger.pool.query("UPDATE sessions SET signed_in_at = signed_in_at - interval '16 minutes'");
  const late = (await checker.open(page)).text;
  const again = `/sign-in/provider?again=yes&amp;next=${encodeURIComponent(page)}`;
  expect([late.includes(`action="${approve}"`), late.includes(again)]).toEqual([false, true]);
  for (const token of ['', await stage.principal(['checker'])]) {
    const refused = await checker.send(approve, { ...fields, token });
    expect([refused.status, refused.text.includes('sign in again')]).toEqual([403, true]);
  }
  // The provider is asked to ask, although it knows who this is; that it asked long ago is not enough.
  idp.asked.length = 0;
  const stale = await arrive(checker, { who: 'c', alter: minutesEarlier(16) }, { again: true, at: checker.at });
  expect([stale.status, stale.text.includes('auth_time')]).toEqual([403, true]);
  const silent = await arrive(
    checker,
    { who: 'c', alter: ({ auth_time: _, ...claims }) => claims },
    { again: true, at: checker.at },
  );
  expect([silent.status, (await checker.open(page)).text.includes(`action="${approve}"`)]).toEqual([403, false]);
  expect((await arrive(checker, { who: 'c' }, { again: true, at: checker.at, next: page })).status).toBe(200);
  expect(idp.asked).toEqual(['login', 'login', 'login']);
  expect(await checker.submit(page, approve, { note: 'looked' })).toMatchObject({ status: 303 });
  await eventually(async () => (await checker.open(page)).text.includes('Its row is certified'), 60_000);
  const { rows } = await stage.ledger.pool.query("SELECT name FROM decisions WHERE kind = 'approve'");
  expect(rows).toEqual([{ name: 'Charu' }]);
});

const minutesEarlier = (minutes: number) => (claims: Record<string, unknown>) => ({
  ...claims,
  auth_time: Number(claims['auth_time']) - minutes * 60,
});

it('without a provider there is no way to it, and without an answer of it tokens go on signing in', async () => {
  const token = await stage.principal(['viewer'], { name: 'with a token' });
  const [plain, away] = await Promise.all([
    stage.another({}, { pages: true }),
    stage.another({}, { pages: true, provider: { ...SETTINGS, issuer: 'http://127.0.0.1:1' } }),
  ]);
  try {
    const none = createBrowser(plain.url, PROXY);
    expect((await none.open('/sign-in')).text).not.toContain('/sign-in/provider');
    for (const path of ['/sign-in/provider', '/sign-in/callback?code=x'])
      expect((await none.open(path)).status).toBe(404);
    await eventually(() => stage.logs.join('').includes('the identity provider cannot be reached'));
    const browser = createBrowser(away.url, PROXY);
    const { status, text } = await browser.open('/sign-in/provider');
    expect([status, text.includes('cannot be reached')]).toEqual([503, true]);
    await browser.signIn(token);
    expect(await isIn(browser)).toBe(true);
  } finally {
    await plain.close();
    await away.close();
  }
});
