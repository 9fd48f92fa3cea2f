import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { boundedConverter, createPayloadCodec } from '../../src/encryption/payload-codec';
import { subKeys } from '../../src/encryption/keys';

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
