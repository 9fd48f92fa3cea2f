import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter } from '@temporalio/common';
import { startCodecServer } from '../../src/encryption/codec-server';
import { createPayloadCodec } from '../../src/encryption/payload-codec';
import { ebrc } from '../support/command-line';

const UI = 'http://127.0.0.1:8233';
const TOKEN = randomBytes(24).toString('base64url');
const codec = createPayloadCodec({ keys: [{ id: 'k', key: randomBytes(32) }] });

let server: Awaited<ReturnType<typeof startCodecServer>>;
beforeAll(async () => {
  server = await startCodecServer({ codec, host: '127.0.0.1', port: 0, origins: [UI], token: TOKEN });
});
afterAll(() => server?.close());

async function encrypted(value: unknown) {
  const [payload] = await codec.encode([defaultPayloadConverter.toPayload(value) ?? {}]);
  const metadata = Object.entries(payload?.metadata ?? {}).map(([name, bytes]) => [
    name,
    Buffer.from(bytes).toString('base64'),
  ]);
  return {
    metadata: Object.fromEntries(metadata) as Record<string, string>,
    data: Buffer.from(payload?.data ?? []).toString('base64'),
  };
}

const call = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}`, ...headers },
    body: JSON.stringify(body),
  });

it('decodes for the UI of a named origin', async () => {
  const answer = await call('/decode', { payloads: [await encrypted({ amount: '120000.00' })] }, { origin: UI });
  expect(answer.headers.get('access-control-allow-origin')).toBe(UI);
  const { payloads } = (await answer.json()) as { payloads: { data: string }[] };
  expect(JSON.parse(Buffer.from(payloads[0]?.data ?? '', 'base64').toString())).toEqual({ amount: '120000.00' });
});

it('encodes for the CLI, so that what it decodes is the same again', async () => {
  const plain = {
    metadata: { encoding: Buffer.from('json/plain').toString('base64') },
    data: Buffer.from('"x"').toString('base64'),
  };
  const encoded = (await (await call('/encode', { payloads: [plain] })).json()) as { payloads: unknown[] };
  const decoded = await (await call('/decode', encoded)).json();
  expect(decoded).toEqual({ payloads: [plain] });
});

it('answers the preflight of a named origin alone', async () => {
  const preflight = (origin: string) =>
    fetch(`${server.url}/decode`, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });
  const allowed = await preflight(UI);
  expect(allowed.status).toBe(204);
  expect(allowed.headers.get('access-control-allow-headers')).toContain('x-namespace');
  expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull();
});

it.each([
  ['no token', { authorization: '' }],
  ['another token', { authorization: 'Bearer wrong' }],
  ['a page of another origin, with the token', { origin: 'https://evil.example' }],
])('opens nothing for %s', async (_name, headers) => {
  const answer = await call('/decode', { payloads: [await encrypted('secret')] }, headers);
  expect(answer.status).toBe(401);
  expect(await answer.text()).not.toContain('secret');
});

it('reports what is wrong with a payload, and continues to serve', async () => {
  const answer = await call('/decode', { payloads: [{ ...(await encrypted('x')), data: 'AAAA' }] });
  expect(answer.status).toBe(400);
  expect(((await answer.json()) as { message: string }).message).toMatch(/does not open/);
  expect((await call('/decode', { payloads: 'none' })).status).toBe(400);
  expect((await call('/decode', { payloads: [] })).status).toBe(200);
});

it('without a token decodes alone: what is encoded here would be taken for our own', async () => {
  const open = await startCodecServer({ codec, host: '127.0.0.1', port: 0, origins: [] });
  const post = async (path: string) => {
    const body = JSON.stringify({ payloads: [await encrypted('x')] });
    return (
      await fetch(`${open.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    ).status;
  };
  expect([await post('/decode'), await post('/encode')]).toEqual([200, 403]);
  await open.close();
});

it.each([
  ['no token', {}, [], 'at least 32 characters'],
  ['a short token', { EBRC_CODEC_TOKEN: 'x' }, ['--behind-proxy'], 'at least 32 characters'],
  ['no TLS', { EBRC_CODEC_TOKEN: TOKEN }, [], 'needs TLS'],
  ['half a certificate', { EBRC_CODEC_TOKEN: TOKEN }, ['--tls-cert', 'a.pem'], 'both --tls-cert and --tls-key'],
])('does not listen beyond this machine with %s', async (_name, env, more, say) => {
  const key = { EBRC_PAYLOAD_KEY: `p:${randomBytes(32).toString('base64')}` };
  const { code, stderr } = await ebrc(['codec-server', '--host', '0.0.0.0', ...more], { env: { ...key, ...env } });
  expect([code, stderr]).toEqual([2, expect.stringContaining(say)]);
});
