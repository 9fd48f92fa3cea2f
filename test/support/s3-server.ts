import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { CreateBucketCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { freePort } from '../../dev/free-port';
import { createDocumentStore } from '../../src/documents/document-store';
import type { StoreStage } from '../documents/store-suite';
import { eventually } from './processes';

const KEYS = { AWS_ACCESS_KEY_ID: 'test-access', AWS_SECRET_ACCESS_KEY: 'test-secret-key', AWS_REGION: 'us-east-1' };

/**
 * A real server that speaks S3, where one is installed: `versitygw` (a Go program), or `moto_server` (a Python one).
 */
export function findS3Server(): { program: string; kind: 'versitygw' | 'moto' } | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), join(homedir(), 'go', 'bin')];
  for (const [name, kind] of [
    ['versitygw', 'versitygw'],
    ['moto_server', 'moto'],
  ] as const) {
    const folder = folders.find((each) => each !== '' && existsSync(join(each, name)));
    if (folder) return { program: join(folder, name), kind };
  }
  return null;
}

export interface S3Server {
  endpoint: string;
  /** For a program that is to use it. */
  env: Record<string, string>;
  /** `s3://bucket` of a new bucket. */
  bucket(): Promise<string>;
  /** A store in a new bucket, below a prefix. */
  stage(): Promise<StoreStage>;
  stop(): Promise<void>;
}

/** Starts one on a free port of 127.0.0.1. This process uses it too: the AWS SDK reads the environment. */
export async function startS3Server(): Promise<S3Server> {
  const found = findS3Server();
  if (!found) throw new Error('no server that speaks S3 is installed');
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-s3-'));
  const port = await freePort();
  const [data, sidecar] = [join(folder, 'data'), join(folder, 'sidecar')];
  await Promise.all([mkdir(data), mkdir(sidecar)]);
  const args = {
    // Attributes beside the files: not every file system can hold them.
    versitygw: ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--sidecar', sidecar, data],
    moto: ['-H', '127.0.0.1', '-p', String(port)],
  }[found.kind];
  const child = spawn(found.program, args, {
    stdio: 'ignore',
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ROOT_ACCESS_KEY: KEYS.AWS_ACCESS_KEY_ID,
      ROOT_SECRET_KEY: KEYS.AWS_SECRET_ACCESS_KEY,
    },
  });
  const endpoint = `http://127.0.0.1:${port}`;
  const env = { ...KEYS, AWS_ENDPOINT_URL_S3: endpoint };
  Object.assign(process.env, env);
  await eventually(() =>
    fetch(endpoint).then(
      () => true,
      () => false,
    ),
  );
  const client = new S3Client({ forcePathStyle: true });

  async function bucket(): Promise<string> {
    const Bucket = `ebrc-${randomBytes(6).toString('hex')}`;
    await client.send(new CreateBucketCommand({ Bucket }));
    return `s3://${Bucket}`;
  }

  return {
    endpoint,
    env,
    bucket,
    stage: async () => {
      const base = `${await bucket()}/of/the/worker`;
      const Bucket = new URL(base).hostname;
      const Prefix = 'of/the/worker/';
      return {
        open: () => createDocumentStore({ root: `${base}?path-style=true` }),
        pathOf: (name) => `${base}/${name}`,
        names: async () => {
          const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix }));
          return Contents.map(({ Key = '' }) => Key.slice(Prefix.length));
        },
        overwrite: async (name, content) => {
          await client.send(new PutObjectCommand({ Bucket, Key: Prefix + name, Body: content }));
        },
        checksThenWrites: found.kind === 'moto',
        close: () => Promise.resolve(),
      };
    },
    stop: async () => {
      client.destroy();
      const closed = new Promise((resolve) => child.once('close', resolve));
      child.kill();
      await closed;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
