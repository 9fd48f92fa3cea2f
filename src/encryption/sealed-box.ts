import type { webcrypto } from 'node:crypto';
import { Aes256Gcm, CipherSuite, DhkemP256HkdfSha256, HkdfSha256 } from '@hpke/core';
import { missingKey, subKeys, unreadable, type EncryptionKey } from './keys';

export interface PublicKey {
  /** Id of the key that the public key is derived from. */
  keyId: string;
  publicKey: Buffer;
}

const suite = new CipherSuite({ kem: new DhkemP256HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes256Gcm() });

/** Seals bytes for the holder of the private key. They open only with the same `context`, which is not stored. */
export async function sealTo({ publicKey }: PublicKey, bytes: Buffer, context: string): Promise<Buffer> {
  const recipientPublicKey = (await suite.kem.deserializePublicKey(publicKey)) as webcrypto.CryptoKey;
  const { enc, ct } = await suite.seal({ recipientPublicKey, info: Buffer.from(context) }, bytes);
  return Buffer.concat([Buffer.from(enc), Buffer.from(ct)]);
}

const keyPair = async ({ id, key }: EncryptionKey) => ({
  keyId: id,
  pair: (await suite.kem.deriveKeyPair(key)) as webcrypto.CryptoKeyPair,
});

/**
 * Opens boxes with the key pairs that are derived from the vault's keys; the first public key is the current one.
 * @throws EncryptionError `keys_invalid`
 */
export function createBoxOpener(keys: readonly EncryptionKey[]) {
  const [first, ...more] = subKeys(keys, 'vault');
  // Derived at first use, because derivation is asynchronous.
  let derived: Promise<{ keyId: string; pair: webcrypto.CryptoKeyPair }[]> | undefined;
  const pairs = () => (derived ??= Promise.all([first, ...more].map(keyPair)));
  return {
    async publicKeys(): Promise<[PublicKey, ...PublicKey[]]> {
      const [current, ...older] = await Promise.all(
        (await pairs()).map(async ({ keyId, pair }) => ({
          keyId,
          publicKey: Buffer.from(await suite.kem.serializePublicKey(pair.publicKey)),
        })),
      );
      return [current as PublicKey, ...older];
    },

    /** @throws EncryptionError `key_missing` or `unreadable` */
    async open({ keyId, sealed }: { keyId: string; sealed: Buffer }, context: string): Promise<Buffer> {
      const known = (await pairs()).find((pair) => pair.keyId === keyId);
      if (!known) throw missingKey(keyId);
      const { encSize } = suite.kem;
      const recipient = { recipientKey: known.pair, enc: sealed.subarray(0, encSize), info: Buffer.from(context) };
      try {
        return Buffer.from(await suite.open(recipient, sealed.subarray(encSize)));
      } catch {
        throw unreadable(keyId);
      }
    },
  };
}
