import { createHash, randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type * as S3 from '@aws-sdk/client-s3';
import type { S3Location } from '../s3-location';

/** The server answers 409 if two writers use one key at the same time; the later one retries. */
const CONFLICT_TRIES = 5;
const CONFLICT_PAUSE_MS = 200;
const LIST_PAGE = 1_000;

/**
 * The object operations that the store needs; keys are relative to the location's prefix. The SDK is loaded at the
 * first call, so that commands without documents do not load it.
 */
export function createS3Objects(location: S3Location) {
  const { bucket: Bucket, prefix } = location;
  let loading: Promise<{ sdk: typeof S3; client: S3.S3Client }> | undefined;
  const load = () => (loading ??= loadClient(location));
  const encryption = {
    ...(location.sse && { ServerSideEncryption: location.sse }),
    ...(location.kmsKeyId && { SSEKMSKeyId: location.kmsKeyId }),
  };
  /** An error that names the object: the SDK's messages do not, and are nearly empty for answers without a body. */
  const named = (key: string, error: unknown): Error => {
    const said = error instanceof Error && !/^(Unknown.*)?$/.test(error.message) ? error.message : null;
    const text = said ?? `the object store answered ${statusOf(error) ?? 'nothing'}`;
    return new Error(`s3://${Bucket}/${prefix}${key}: ${text}`, { cause: error });
  };
  const failed = (key: string) => (error: unknown) => {
    throw named(key, error);
  };

  async function put(key: string, content: Buffer, condition: { IfNoneMatch: '*' } | { IfMatch: string }) {
    const { sdk, client } = await load();
    const ChecksumSHA256 = createHash('sha256').update(content).digest('base64');
    for (let tries = 1; ; tries += 1) {
      try {
        const Key = prefix + key;
        await client.send(
          new sdk.PutObjectCommand({ Bucket, Key, Body: content, ChecksumSHA256, ...condition, ...encryption }),
        );
        return true;
      } catch (error) {
        const status = statusOf(error);
        if (status === 412) return false;
        if (status !== 409 || tries === CONFLICT_TRIES) throw named(key, error);
        await sleep(CONFLICT_PAUSE_MS * tries);
      }
    }
  }

  return {
    /** Creates an object unless its key is taken; the server checks the SHA-256. @returns whether it was created */
    create: (key: string, content: Buffer) => put(key, content, { IfNoneMatch: '*' }),
    /** Replaces an object if its version is `etag`. @returns false if it has changed */
    replace: (key: string, content: Buffer, etag: string) => put(key, content, { IfMatch: etag }),
    /** @returns null if there is no such object */
    async read(key: string) {
      const { sdk, client } = await load();
      try {
        const { Body, ETag = '' } = await client.send(new sdk.GetObjectCommand({ Bucket, Key: prefix + key }));
        return { body: Body as Readable, etag: ETag };
      } catch (error) {
        if (isMissingKey(error)) return null;
        throw named(key, error);
      }
    },
    async exists(key: string): Promise<boolean> {
      const { sdk, client } = await load();
      try {
        await client.send(new sdk.HeadObjectCommand({ Bucket, Key: prefix + key }));
        return true;
      } catch (error) {
        // HEAD has no body, so a missing bucket looks the same as a missing key: check the bucket.
        if (statusOf(error) !== 404) throw named(key, error);
        await client.send(new sdk.HeadBucketCommand({ Bucket })).catch(failed(''));
        return false;
      }
    },
    /** Keys that begin so and sort after `after`, in order, with the times of their last writing, at most `limit`. */
    async list(begin: string, after: string, limit: number): Promise<{ key: string; writtenAt: Date }[]> {
      const { sdk, client } = await load();
      const keys: { key: string; writtenAt: Date }[] = [];
      let StartAfter = prefix + after;
      for (;;) {
        const MaxKeys = Math.min(limit - keys.length, LIST_PAGE);
        const page = await client
          .send(new sdk.ListObjectsV2Command({ Bucket, Prefix: prefix + begin, StartAfter, MaxKeys }))
          .catch(failed(begin));
        const found = (page.Contents ?? []).flatMap(({ Key, LastModified }) =>
          Key === undefined ? [] : [{ key: Key.slice(prefix.length), writtenAt: LastModified ?? new Date() }],
        );
        keys.push(...found);
        const last = found.at(-1);
        if (!page.IsTruncated || last === undefined || keys.length >= limit) return keys;
        StartAfter = prefix + last.key;
      }
    },
    async copy(from: string, to: string): Promise<void> {
      const { sdk, client } = await load();
      const CopySource = `${Bucket}/${encodeURI(prefix + from)}`;
      const command = new sdk.CopyObjectCommand({ Bucket, Key: prefix + to, CopySource, ...encryption });
      await client.send(command).catch(failed(from));
    },
    async remove(key: string): Promise<void> {
      const { sdk, client } = await load();
      await client.send(new sdk.DeleteObjectCommand({ Bucket, Key: prefix + key })).catch(failed(key));
    },
  };
}

async function loadClient({ pathStyle }: S3Location) {
  const sdk = await import('@aws-sdk/client-s3');
  // The SDK reads region, endpoint and credentials from the environment.
  const client = new sdk.S3Client({
    forcePathStyle: pathStyle,
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 5_000, requestTimeout: 60_000, throwOnRequestTimeout: true },
  });
  return { sdk, client };
}

/** Checks that the server honours `If-None-Match: *`; otherwise two senders could take one number. @throws Error */
export async function assertConditionalWrites(objects: ReturnType<typeof createS3Objects>): Promise<void> {
  const key = `.probe-${randomUUID()}`;
  const content = Buffer.from('probe\n');
  try {
    await objects.create(key, content);
    if (!(await objects.create(key, content))) return;
  } finally {
    await objects.remove(key).catch(() => undefined);
  }
  throw new Error('the object store ignores If-None-Match, so that two writers could take one name: use another one');
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}

function isMissingKey(error: unknown): boolean {
  return error instanceof Error && (error.name === 'NoSuchKey' || error.name === 'NotFound');
}
