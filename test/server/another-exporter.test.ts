/** What a principal of one exporter is told of another's: on every route the same as of what there is not. */
import { randomUUID } from 'node:crypto';
import { placeEvents } from '../../src/ledger/events';
import { KAVERI, messageOf, onboard, useHttpStage, ZENITH, type ProblemBody } from './http-stage';
import { everyRoute, type Names } from './every-route';

interface Side extends Names {
  token: string;
  message: unknown;
  /** All that tells something of it. */
  tells: string[];
}

let kaveri: Side;
let zenith: Side;

const stage = useHttpStage(async (opened) => {
  kaveri = await sideOf(KAVERI, 'JULY-KAVERI', 'KVR-7781');
  zenith = await sideOf(ZENITH, 'JULY-ZENITH', 'ZEN-5512');
  await placeEvents(opened.ledger.pool);
});

/** An exporter with a principal of its own, a certified filing, and a finding. */
async function sideOf(who: typeof KAVERI, reference: string, document: string): Promise<Side> {
  const exporter = await onboard(stage, who);
  const token = await stage.principal(['viewer', 'maker', 'checker', 'admin'], { exporters: [who.email] });
  const message = await messageOf(stage, document, 1, who);
  const ask = <T>(method: string, path: string, json?: unknown) =>
    stage.ask<T>(method, path, { token, json, headers: { prefer: 'wait=60' } });
  type Filed = { filingId: string; state: string; contentHash: string; requestId: string; dgftAckId: string };
  const { body: filed } = await ask<Filed>('POST', '/v1/filings', { exporter, reference, message });
  const { body: rows } = await ask<{ items: { eBRCNumber: string }[] }>('GET', `/v1/filings/${reference}/rows`);
  const number = rows.items[0]?.eBRCNumber ?? '';
  expect([filed.state, number]).toEqual(['certified', expect.stringMatching(/./u)]);
  const { rows: made } = await stage.ledger.pool.query<{ id: string }>(
    `INSERT INTO findings (finding_id, mode, iec, key, kind, exporter_id, text, first_seen_at, last_seen_at)
     VALUES ($3, 'test', $1, $1, 'status_changed', $2, 'x', now(), now()) RETURNING finding_id AS id`,
    [who.iec, exporter, who === KAVERI ? 'F1F1F1F1F1F1F1F1' : 'F2F2F2F2F2F2F2F2'],
  );
  const [{ irmNumber } = { irmNumber: '' }] = message.ebrcBulkGenDtos;
  const { filingId, contentHash, requestId, dgftAckId } = filed;
  const url = `https://${document.toLowerCase()}.example/`;
  const { webhookId: webhook } = (await ask<{ webhookId: string }>('POST', '/v1/webhooks', { url })).body;
  const tells = [exporter, who.email, who.name, who.iec, filingId, reference, number, contentHash, requestId];
  return {
    ...{ exporter, email: who.email, filing: reference, number, id: made[0]?.id ?? '', webhook, token, message },
    tells: [...tells, url, dgftAckId, String(irmNumber), document].filter((each) => each !== null),
  };
}

const nothing = (): Names => ({
  ...{
    exporter: randomUUID(),
    email: 'nobody@x.example',
    filing: 'JULY-NOBODY',
    number: 'NONE123',
    id: '0A0A0A0A0A0A0A0A',
  },
  webhook: randomUUID(),
});

type Asking = Awaited<ReturnType<typeof everyRoute>>[number] & { search?: string };

/** The answer, without the names that were asked with and what is new in each answer. */
async function answer(token: string, { method, path, json, search = '' }: Asking, names: Names) {
  const asked = await stage.ask<ProblemBody>(method, `${path}${search}`, { token, json });
  const text = asked.bytes
    .toString('latin1')
    .replace(/"request_id":"[^"]+"/u, '')
    .replace(/"next":"[^"]+"/u, '');
  const plain = Object.values(names).reduce((left: string, name: string) => left.replaceAll(name, 'NAME'), text);
  return { status: asked.status, text: plain, whole: text };
}

describe.each([
  ['kaveri', 'zenith'],
  ['zenith', 'kaveri'],
] as const)('%s asks about %s', (own, theirs) => {
  const sides = () => ({ own: { kaveri, zenith }[own], other: { kaveri, zenith }[theirs] });

  it('and learns nothing on any route', async () => {
    const { own: asking, other } = sides();
    const absent = nothing();
    const reference = 'AUGUST-1';
    const routes = (names: Names) => everyRoute(stage, { ...names, message: asking.message, reference });
    const filtered = (each: Asking, names: Names): Asking[] =>
      (['exporter', 'filing'] as const)
        .filter((field) => each.query.includes(field))
        .map((field) => ({ ...each, search: `?${field}=${encodeURIComponent(names[field])}` }));
    const all = async (names: Names) =>
      (await routes(names)).flatMap((each): Asking[] => [each, ...filtered(each, names)]);
    const [hidden, gone] = [await all(other), await all(absent)];
    expect(hidden.length).toBeGreaterThan(30);
    for (const [at, each] of hidden.entries()) {
      const told = await answer(asking.token, each, other);
      const name = `${each.method} ${each.path}${each.search ?? ''}`;
      const same = each.path === gone[at]!.path && each.search === undefined && each.method === 'GET';
      const as = same ? told : await answer(asking.token, gone[at]!, absent);
      expect([name, told.status, told.text]).toEqual([name, as.status, as.text]);
      // What was asked with may be repeated.
      for (const secret of other.tells)
        expect([name, secret, told.text.includes(secret)]).toEqual([name, secret, false]);
    }
  }, 120_000);

  it('and files under its reference, whatever the number and the content', async () => {
    const { own: asking, other } = sides();
    const changed = await messageOf(stage, 'AUG-1', 2, own === 'kaveri' ? KAVERI : ZENITH);
    const answers = [];
    for (const n of [undefined, 1, 2, 3, 50])
      for (const message of [asking.message, other.message, changed, {}]) {
        const json = { exporter: asking.exporter, reference: other.filing, message, ...(n !== undefined && { n }) };
        answers.push(await answer(asking.token, { method: 'POST', path: '/v1/filings', json } as Asking, other));
      }
    expect(new Set(answers.map(({ status, whole }) => `${status} ${whole}`)).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 409, text: expect.stringContaining('reference_taken') as string });
    for (const secret of other.tells) expect([secret, answers[0]!.whole.includes(secret)]).toEqual([secret, false]);
  });

  it('and is shown what is its own', async () => {
    const { own: asking } = sides();
    for (const path of [`filings/${asking.filing}`, `exporters/${asking.email}`, `certificates/${asking.number}/pdf`])
      expect([path, (await stage.ask('GET', `/v1/${path}`, { token: asking.token })).status]).toEqual([path, 200]);
    const events = await stage.ask<{ items: { subject: string }[] }>('GET', '/v1/events', { token: asking.token });
    expect(events.body.items.map(({ subject }) => subject)).toContain(asking.filing);
  });
});
