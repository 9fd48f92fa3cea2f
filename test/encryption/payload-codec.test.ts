import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { boundedConverter, createPayloadCodec } from '../../src/encryption/payload-codec';
import { subKeys } from '../../src/encryption/keys';
import { startCodecServer } from '../../src/encryption/codec-server';
import { ebrc } from '../support/command-line';

const key = (id: string) => ({ id, key: randomBytes(32) });
const payload = (value: unknown): Payload => defaultPayloadConverter.toPayload(value) ?? {};
const valueOf = (one: Payload | undefined) => defaultPayloadConverter.fromPayload(one ?? {});
const bytesOf = (one: Payload | undefined) => Buffer.from(one?.data ?? []).toString('latin1');

const current = key('2026-11');
const codec = createPayloadCodec({ keys: [current] });

it('encrypts a whole payload, its metadata too, and reads it again', async () => {
  const [encrypted] = await codec.encode([payload({ email: 'accounts@kaveri.example' })]);
  expect(bytesOf(encrypted)).not.toContain('kaveri');
  expect(Object.keys(encrypted?.metadata ?? {}).sort()).toEqual(['encoding', 'encryption-key-id']);
  expect(Buffer.from(encrypted?.metadata?.['encryption-key-id'] ?? []).toString()).toBe('2026-11');
  const [decoded] = await codec.decode([encrypted ?? {}]);
  expect(valueOf(decoded)).toEqual({ email: 'accounts@kaveri.example' });
});

it('has the format of the example for callers in other languages', async () => {
  const file = join(__dirname, '..', '..', 'schemas', 'payload-codec.example.json');
  type Base64 = { metadata: Record<string, string>; data: string };
  const example = JSON.parse(readFileSync(file, 'utf8')) as Record<'encryptionKey' | 'payloadKey', string> &
    Record<'decoded' | 'encoded', Base64>;
  const keyOf = (text: string) => ({
    id: text.split(':')[0] ?? '',
    key: Buffer.from(text.split(':')[1] ?? '', 'base64'),
  });
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));
  const payloadOf = ({ metadata, data }: Base64) => ({
    metadata: Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, bytes(value)])),
    data: bytes(data),
  });
  const keys = [keyOf(example.payloadKey)];
  expect(subKeys([keyOf(example.encryptionKey)], 'payloads')).toEqual(keys);
  const [decoded] = await createPayloadCodec({ keys }).decode([payloadOf(example.encoded)]);
  expect(valueOf(decoded)).toEqual({ reference: 'JULY' });
  expect(valueOf(payloadOf(example.decoded))).toEqual(valueOf(decoded));
});

it('encrypts the same payload otherwise each time', async () => {
  const [first, second] = await codec.encode([payload('x'), payload('x')]);
  expect(bytesOf(first)).not.toBe(bytesOf(second));
});

it('reads what was never encrypted as it is: older histories, and callers without a codec', async () => {
  expect(valueOf((await codec.decode([payload([1, 2])]))[0])).toEqual([1, 2]);
  expect(await codec.encode([])).toEqual([]);
});

it('lets workers read JSON of more values or levels than any input has as null, encrypted or not', async () => {
  const { payloadCodecs = [] } = boundedConverter({ payloadCodecs: [codec] });
  const decoded = (given: Payload[]) =>
    payloadCodecs.reduceRight(async (payloads, each) => each.decode(await payloads), Promise.resolve(given));
  const rows = Array.from({ length: 3_300 }, () =>
    Object.fromEntries(Array.from({ length: 22 }, (_, at) => [at, '}{'])),
  );
  const json = (data: string) => ({ ...payload(null), data: Buffer.from(data) });
  const excess = [json(`[${'{},'.repeat(600_000)}{}]`), json(`${'['.repeat(500_000)}${']'.repeat(500_000)}`)];
  for (const given of [excess, await codec.encode(excess)]) {
    expect((await decoded(given)).map(valueOf)).toEqual([null, null]);
    // The codec server shows what is there.
    expect(bytesOf((await codec.decode(given))[0])).toContain('{},{}');
  }
  expect((await decoded([payload(rows)])).map(valueOf)).toEqual([rows]);
});

it('reads payloads of older keys, and encrypts under the first', async () => {
  const [old] = await codec.encode([payload('old')]);
  const next = key('2027-01');
  const rotated = createPayloadCodec({ keys: [next, current] });
  expect(valueOf((await rotated.decode([old ?? {}]))[0])).toBe('old');
  const [fresh] = await rotated.encode([payload('new')]);
  expect(Buffer.from(fresh?.metadata?.['encryption-key-id'] ?? []).toString()).toBe('2027-01');
});

it('reports which key is missing, and no content', async () => {
  const told: string[] = [];
  const other = createPayloadCodec({ keys: [key('other')], onUnreadable: ({ code }) => told.push(code) });
  const encrypted = await codec.encode([payload('secret')]);
  await expect(other.decode(encrypted)).rejects.toThrow(/2026-11, which is not in EBRC_ENCRYPTION_KEY/);
  expect(told).toEqual(['key_missing']);
});

it('refuses a payload that was changed', async () => {
  const [encrypted] = await codec.encode([payload('amount 100')]);
  const data = Buffer.from(encrypted?.data ?? []);
  data[data.length - 1] = (data.at(-1) ?? 0) ^ 1;
  await expect(codec.decode([{ ...encrypted, data }])).rejects.toThrow(/does not open/);
});

it('uses a sub-key of its own: what opens payloads opens nothing of the vault', async () => {
  const ofTheVault = createPayloadCodec({ keys: subKeys([current], 'vault') });
  const forged = await ofTheVault.encode([payload('password')]);
  await expect(codec.decode(forged)).rejects.toThrow(/does not open/);
});

describe('the codec server', () => {
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
      fetch(`${server.url}/decode`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST' },
      });
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
});
