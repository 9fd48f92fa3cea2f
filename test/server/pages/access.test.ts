/** Who may what at the pages, as plain HTTP: sign-ins, forms, exporters, roles, and the second person. */
import { rotatePrincipal, removePrincipal } from '../../../src/starter/principals';
import type { Role } from '../../../src/domain/principal';
import { eventually } from '../../support/processes';
import { KAVERI, messageOf, onboard, useHttpStage, ZENITH } from '../http-stage';
import { createBrowser, formOf, type Browser } from './browser';
import { fileThrough, filledTemplate } from './workbook';

const exporters = { kaveri: '', zenith: '' };
let url = '';
let httpApi: Awaited<ReturnType<(typeof stage)['another']>> | undefined;
// Before what it uses.
afterAll(() => httpApi?.close());

const stage = useHttpStage(async (opened) => {
  exporters.kaveri = await onboard(opened);
  exporters.zenith = await onboard(opened, ZENITH);
  httpApi = await opened.another({}, { pages: true });
  ({ url } = httpApi);
});

async function person(name: string, roles: Role[], more: { exporters?: string[] } = {}) {
  const token = await stage.principal(roles, { name, ...more });
  const browser = createBrowser(url);
  expect(await browser.signIn(token)).toMatchObject({ status: 303, to: '/' });
  return { ...browser, token };
}

/** The id of no finding. */
const NOBODYS = '0A0A0A0A0A0A0A0A';

/** Every form of the pages, with the fields that it needs. */
const formsOf = ({ filing, exporter }: { filing: string; exporter: string }): [path: string, fields: object][] => [
  [`/file`, { exporter, reference: 'NEW-1' }],
  [`/file/${'0'.repeat(64)}`, { exporter, reference: 'NEW-1', declaration: 'Y' }],
  [`/filings/${filing}/approve`, {}],
  [`/filings/${filing}/resolve`, { as: 'not-filed', attempt: '1', note: 'x' }],
  [`/filings/${filing}/abandon`, { note: 'x' }],
  [`/filings/${filing}/resume`, {}],
  [`/filings/${filing}/correct`, {}],
  [`/exporters/${exporter}/credentials`, { username: 'u', password: 'Secret#1' }],
  [`/exporters/${exporter}/policy`, { approval: 'required' }],
  [`/findings/${NOBODYS}/acknowledge`, { note: 'x' }],
  ['/grouping', { grouping: 'indian', next: '/' }],
  ['/sign-out', {}],
];

const fileWorkbook = (browser: Browser, reference: string, fields: Record<string, string> = {}) =>
  fileThrough(stage, browser, { exporter: exporters.kaveri, reference, ...fields });

describe('a sign-in', () => {
  it('is a cookie that scripts and other sites do not get, and that TLS alone carries beyond this machine', async () => {
    const token = await stage.principal(['viewer'], { name: 'cookies' });
    const here = createBrowser(url);
    await here.open('/sign-in');
    const before = here.cookies.get('ebrc');
    await here.signIn(token);
    expect(here.set.at(-1)).toMatch(/^ebrc=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/u);
    // Nobody knows it from before.
    expect(here.cookies.get('ebrc')).not.toBe(before);
    const proxied = { 'x-forwarded-host': 'ebrc.example', 'x-forwarded-proto': 'https' };
    const beyond = createBrowser(url, proxied);
    expect(await beyond.signIn(token)).toMatchObject({ status: 303, to: '/' });
    expect(beyond.set.at(-1)).toMatch(/^__Host-ebrc=[\w-]{43}; Max-Age=43200; .*HttpOnly; Secure; SameSite=Strict$/u);
    expect((await beyond.open('/you')).text).toContain('cookies');
    const plain = createBrowser(url, { 'x-forwarded-host': 'ebrc.example' });
    expect(await plain.signIn(token)).toMatchObject({ status: 400, text: expect.stringContaining('https') as string });
    // The ledger has neither secret.
    const { rows } = await stage.ledger.pool.query<{ all: string }>(
      'SELECT string_agg(s::text, chr(10)) AS all FROM sessions s',
    );
    for (const secret of [token, here.cookies.get('ebrc')!]) expect(rows[0]?.all.includes(secret)).toBe(false);
  });

  it('goes back to the page that was asked for, and to no other site', async () => {
    const browser = createBrowser(url);
    expect(await browser.open('/filings?state=ready')).toMatchObject({
      status: 303,
      to: '/sign-in?next=%2Ffilings%3Fstate%3Dready',
    });
    const next = async (path: string) => formOf((await browser.open(`/sign-in?${path}`)).text, '/sign-in')['next'];
    expect(await next('next=%2Ffilings%3Fstate%3Dready')).toEqual(['/filings?state=ready']);
    for (const path of ['next=//evil.example', 'next=/%5Cevil.example', 'next=https://evil.example', 'next=/a&next=/b'])
      expect([path, await next(path)]).toEqual([path, ['/']]);
    // What only reads parts of a page anew signs in by opening the whole.
    expect(await browser.open('/filings', { 'hx-request': 'true' })).toMatchObject({
      status: 401,
      headers: { 'hx-refresh': 'true' },
    });
    expect(await browser.open('/live?about=needs-you&seen=')).toMatchObject({
      status: 204,
      headers: { 'hx-refresh': 'true' },
    });
  });

  it('ends with its twelve hours, its token, its principal, and everywhere at once', async () => {
    const [left, timed, rotated, removed] = [
      await person('left', ['viewer']),
      await person('timed', ['viewer']),
      await person('rotated', ['viewer']),
      await person('removed', ['viewer']),
    ];
    const elsewhere = createBrowser(url);
    await elsewhere.signIn(left.token);
    const isIn = async (browser: Browser) => (await browser.open('/you')).status === 200;
    for (const browser of [left, elsewhere, timed, rotated, removed]) expect(await isIn(browser)).toBe(true);
    const secret = left.cookies.get('ebrc') ?? '';
    await left.submit('/you', '/sign-out', { everywhere: 'yes' });
    left.cookies.set('ebrc', secret);
    const change = (set: string, name: string) =>
      stage.ledger.pool.query(`${set} WHERE principal_id = (SELECT principal_id FROM principals WHERE name = $1)`, [
        name,
      ]);
    await change("UPDATE sessions SET ends_at = ends_at - interval '12 hours'", 'timed');
    const { deps } = stage;
    await rotatePrincipal(deps, { name: 'rotated', by: 'a test' });
    // Its earlier token is valid for a day.
    expect(await isIn(rotated)).toBe(true);
    await rotatePrincipal(deps, { name: 'rotated', by: 'a test', now: true });
    await removePrincipal(deps, { name: 'removed', by: 'a test' });
    for (const browser of [left, elsewhere, timed, rotated, removed]) expect(await isIn(browser)).toBe(false);
  });
});

describe('a page', () => {
  it('has no script or style of its own, no secret, and is not stored', async () => {
    const reader = await person('reader', ['viewer', 'maker', 'checker', 'admin']);
    const secret = reader.cookies.get('ebrc') ?? '';
    for (const path of [
      '/',
      '/file',
      '/filings',
      '/certificates',
      '/exporters',
      `/exporters/${exporters.kaveri}`,
      '/you',
      '/filings/NONE',
    ]) {
      const { headers, text } = await reader.open(path);
      expect([path, headers['cache-control']]).toEqual([path, 'no-store']);
      expect([path, headers['content-security-policy']]).toEqual([
        path,
        expect.stringMatching(/^default-src 'none'; .*script-src 'self';.*frame-ancestors 'none'/u),
      ]);
      expect([path, headers['content-security-policy']]).toEqual([path, expect.not.stringMatching(/unsafe|\*/u)]);
      expect([path, text.match(/<style|\sstyle=|\son\w+=|javascript:|<script(?! src="\/assets\/)/gu)]).toEqual([
        path,
        null,
      ]);
      for (const each of [secret, reader.token]) expect([path, text.includes(each)]).toEqual([path, false]);
      // Every form has the token of the sign-in.
      const forms = text.split('<form method="post"').slice(1);
      expect([path, forms.length > 0, forms.every((form) => form.includes('name="form" value="'))]).toEqual([
        path,
        true,
        true,
      ]);
    }
  });

  it('takes no form without the token of the sign-in, nor with that of another one', async () => {
    const [own, other] = [
      await person('own', ['viewer', 'maker', 'checker', 'admin']),
      await person('other', ['viewer']),
    ];
    const foreign = await other.form();
    for (const [path, fields] of formsOf({ filing: 'NONE', exporter: exporters.kaveri }))
      for (const form of [undefined, foreign, '']) {
        const { status, text } = await own.send(path, { ...fields, ...(form !== undefined && { form }) });
        expect([path, status, text.includes('another sign-in')]).toEqual([path, 403, true]);
      }
    const { rows } = await stage.ledger.pool.query('SELECT FROM exporters WHERE requires_approval');
    expect(rows).toEqual([]);
    // Without a sign-in there is only the way to it, which says that nothing was done and leads back to the page.
    for (const [path, fields] of formsOf({ filing: 'NONE', exporter: exporters.kaveri })) {
      const answer = await createBrowser(url).send(path, { ...fields, form: foreign });
      const [, page = '/'] = /^(\/(?:filings|exporters)\/[^/]+)/u.exec(path) ?? [];
      const to = `/sign-in?ended=yes&next=${encodeURIComponent(page)}`;
      expect([path, answer]).toEqual([path, expect.objectContaining({ status: 303, to })]);
      expect((await createBrowser(url).open(to)).text).toContain('nothing was done');
    }
  });
});

it('a portal password is sent once, however often its page is read anew', async () => {
  const own = await person('renews', ['admin']);
  const path = `/exporters/${exporters.kaveri}`;
  const credentials = { username: KAVERI.username, password: KAVERI.password };
  const { status, to } = await own.submit(path, `${path}/credentials`, credentials);
  expect([status, to]).toEqual([303, `${path}?said=credentials`]);
  expect((await own.open(to!)).text).toContain('They were handed in');
});

it('amounts are grouped by lakh for who chooses so, in that browser alone', async () => {
  const [own, other] = [await person('lakh', ['viewer']), await person('million', ['viewer'])];
  const path = `/exporters/${exporters.kaveri}`;
  await stage.ledger.pool.query('UPDATE irms SET amount = 1234567.5 WHERE exporter_id = $1', [exporters.kaveri]);
  const shows = async ({ open }: Browser) =>
    [...new Set((await open(path)).text.match(/\d[\d,]*,\d{2,3},567\.50/gu))].join();
  expect([await shows(own), await shows(other)]).toEqual(['1,234,567.50', '1,234,567.50']);
  expect(await own.submit(path, '/grouping', {})).toMatchObject({ status: 303, to: path });
  expect([await shows(own), await shows(other)]).toEqual(['12,34,567.50', '1,234,567.50']);
  await own.submit(path, '/grouping', {});
  expect(await shows(own)).toBe('1,234,567.50');
});

it('a viewer sees, and does nothing else', async () => {
  const viewer = await person('viewer', ['viewer']);
  const form = await viewer.form();
  expect((await viewer.open('/')).text).not.toContain('href="/file"');
  for (const path of ['/file', `/file/${'0'.repeat(64)}?exporter=x&reference=y`])
    expect([path, (await viewer.open(path)).status]).toEqual([path, 403]);
  for (const [path, fields] of formsOf({ filing: 'NONE', exporter: exporters.kaveri }).slice(0, -2))
    expect([path, (await viewer.send(path, { ...fields, form })).status]).toEqual([path, 403]);
  expect((await viewer.open(`/exporters/${exporters.kaveri}`)).text).not.toContain(
    '<form method="post" action="/exporters',
  );
});

it('who sees one exporter learns nothing of another, on any page', async () => {
  const message = await messageOf(stage, 'KVR-HIDDEN', 1);
  const json = { exporter: exporters.kaveri, reference: 'KAVERI-ONLY', message, approval: true };
  const { status, body } = await stage.ask<{ filingId: string }>('POST', '/v1/filings', { json });
  expect(status).toBe(201);
  const { filingId: filing } = body;
  await stage.ledger.pool.query(
    `INSERT INTO findings (finding_id, mode, iec, key, kind, exporter_id, text, first_seen_at, last_seen_at)
     VALUES ('F1F1F1F1F1F1F1F1', 'test', $1, $1, 'status_changed', $2, 'x', now(), now())`,
    [KAVERI.iec, exporters.kaveri],
  );
  const all: Role[] = ['viewer', 'maker', 'checker', 'admin'];
  const hers = await person('zenith’s', all, { exporters: [ZENITH.email] });
  const his = await person('kaveri’s', all, { exporters: [KAVERI.email] });
  const tells = [KAVERI.name, KAVERI.email, KAVERI.iec, exporters.kaveri, filing, 'KAVERI-ONLY', 'KVR-HIDDEN'];
  const lists = [
    '/',
    '/file',
    '/filings',
    '/filings?search=KVR-HIDDEN',
    '/certificates',
    '/exporters',
    '/certificates/list',
  ];
  for (const path of lists) {
    const { status: answered, text } = await hers.open(path);
    // A search repeats what was searched for.
    const told = tells.filter((each) => text.replaceAll('value="KVR-HIDDEN"', '').includes(each));
    expect([path, answered, told]).toEqual([path, 200, []]);
  }
  expect((await hers.open('/reports/daily')).status).toBe(403);
  const exporter = exporters.kaveri;
  const parts = ['', '/workbook', '/bundle', '/pdfs'].map((part) => `/filings/${filing}${part}`);
  const checked = `/file/${'0'.repeat(64)}?exporter=${exporter}&reference=x`;
  for (const path of [
    ...parts,
    '/filings/KAVERI-ONLY',
    `/exporters/${exporter}`,
    `/file/template?exporter=${exporter}`,
    checked,
  ]) {
    const hidden = await hers.open(path);
    const absent = await hers.open(
      path.replace(filing, 'NONE').replace('KAVERI-ONLY', 'NONE').replace(exporter, 'NONE'),
    );
    const plain = ({ text }: { text: string }) =>
      [filing, 'KAVERI-ONLY', exporter]
        .reduce((left, each) => left.replaceAll(each, 'NONE'), text)
        .replace(/Request [\w-]+/u, '');
    expect([path, hidden.status, plain(hidden)]).toEqual([path, absent.status, plain(absent)]);
    expect([path, hidden.status < 400 || hidden.status >= 500]).toEqual([path, false]);
  }
  const form = await hers.form();
  const forms = formsOf({ filing, exporter })
    .slice(0, -2)
    .map(([path, fields]) => [path.replace(NOBODYS, 'F1F1F1F1F1F1F1F1'), fields] as const);
  for (const [path, fields] of forms) {
    const { status: refused, text } = await hers.send(path, { ...fields, form });
    expect([path, refused, text.includes(KAVERI.name)]).toEqual([path, path === '/file' ? 400 : 404, false]);
  }
  const { rows } = await stage.ledger.pool.query('SELECT kind FROM decisions WHERE filing_id = $1', [filing]);
  expect(rows).toEqual([]);
  // Under its reference nothing is filed either.
  const book = await filledTemplate(stage, { bill: 'ZEN-1', email: ZENITH.email });
  const kept = await hers.submit('/file', '/file', { exporter: exporters.zenith, reference: 'KAVERI-ONLY' }, book);
  const taken = await hers.submit(kept.to!, kept.to!.split('?')[0]!, { declaration: 'Y' });
  expect([taken.status, taken.text.includes('The reference is in use')]).toEqual([422, true]);
  expect(tells.filter((each) => each !== 'KAVERI-ONLY' && taken.text.includes(each))).toEqual([]);
  // A workbook is found again by who handed it in alone.
  expect((await his.open(kept.to!.replace(exporters.zenith, exporter))).status).toBe(404);
  expect((await his.open(`/filings/${filing}`)).text).toContain('KVR-HIDDEN');
});

it('what waits is told of what it waits for, and nobody keeps the others waiting', async () => {
  const maker = await person('waits', ['maker']);
  const page = await fileWorkbook(maker, 'LIVE-1', { approval: 'yes' });
  const live = async () =>
    /hx-get="(\/live[^"]+)"/u.exec((await maker.open(page)).text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  await eventually(async () => (await maker.open(page)).text.includes('awaiting approval'));
  const waiting = maker.open(await live());
  for (const about of ['about=%00', 'about=a&about=b', 'about=%F0%9F'])
    expect([about, (await maker.open(`/live?${about}&seen=`)).headers['hx-refresh']]).toEqual([about, 'true']);
  await maker.submit(page, /action="([^"]+\/abandon)"/u.exec((await maker.open(page)).text)?.[1] ?? '', {
    note: 'a test',
  });
  expect(await waiting).toMatchObject({ status: 204, headers: { 'hx-trigger': 'ebrc-changed' } });
});

it('a filing is approved by a second person, who has just shown who it is', async () => {
  const maker = await person('maker', ['maker', 'checker']);
  const checker = await person('checker', ['checker']);
  const page = await fileWorkbook(maker, 'PAIR-1', { approval: 'yes' });
  await eventually(async () => (await checker.open(page)).text.includes('/approve"'));
  const { text } = await checker.open(page);
  const [, approve = ''] = /action="([^"]+\/approve)"/u.exec(text) ?? [];
  const { shown = [], attempt = '', contentHash = '' } = formOf(text, approve);
  // Its maker is shown no form, and one that is made by hand is refused.
  expect((await maker.open(page)).text).toContain('somebody else has to approve it');
  const own = await maker.send(approve, { shown, attempt, contentHash, form: await maker.form() });
  expect([own.status, own.text.includes('maker made this filing')]).toEqual([403, true]);
  await stage.ledger.pool.query("UPDATE sessions SET signed_in_at = signed_in_at - interval '16 minutes'");
  const decisions = async () => (await stage.ledger.pool.query('SELECT FROM decisions')).rows.length;
  const before = await decisions();
  for (const token of [undefined, 'ebrc_test_wrong', maker.token]) {
    const late = await checker.submit(page, approve, token === undefined ? {} : { token });
    expect([late.status, late.text.includes('Your token is asked for again')]).toEqual([403, true]);
  }
  const other = await checker.submit(page, approve, { token: checker.token, contentHash: 'f'.repeat(64) });
  expect(other.status).toBe(409);
  expect(await decisions()).toBe(before);
  const form = await checker.form();
  const once = { ...formOf((await checker.open(page)).text, approve), note: 'looked' };
  // Sent again, it is no second decision, and no error.
  for (let times = 0; times < 2; times += 1)
    expect(await checker.send(approve, once)).toMatchObject({
      status: 303,
      to: expect.stringContaining('#decide') as string,
    });
  const resolve = approve.replace(/approve$/u, 'resolve');
  const unnamed = await checker.send(resolve, { form, as: 'not-filed', note: 'x' });
  expect([unnamed.status, unnamed.text.includes('attempt')]).toEqual([400, true]);
  await eventually(async () => (await checker.open(page)).text.includes('Its row is certified'), 60_000);
  const { rows } = await stage.ledger.pool.query<{ name: string; note: string }>(
    "SELECT name, note FROM decisions WHERE kind = 'approve'",
  );
  expect(rows).toEqual([{ name: 'checker', note: 'looked' }]);
});
