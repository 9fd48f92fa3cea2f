/** Documents in a folder and in an object store: the same suite over both. */
import fc from 'fast-check';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  mkdtemp,
  readdir,
  rm,
  stat,
  utimes,
  writeFile,
  chmod,
  lstat,
  mkdir,
  open,
  readFile,
  symlink,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, basename, dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createDocumentStore } from '../../src/documents/document-store';
import { parseS3Location } from '../../src/documents/s3-location';
import { findS3Server, startS3Server, type S3Server } from '../support/s3-server';
import { pdf, storeSuite } from './store-suite';
import { writeOutputFile } from '../../src/documents/output-file';
import { useFolder } from '../support/folder';
import { randomBytes } from 'node:crypto';
import { documentName, isDocumentName } from '../../src/documents/stored-document';

const isRecord = (name: string) => name === 'store-id' || name.startsWith('sent');

describe('in a folder', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'ebrc-documents-'));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  storeSuite(async () => {
    // It is made on demand.
    const folder = join(await mkdtemp(join(tmpdir(), 'ebrc-documents-')), 'made', 'on', 'demand');
    return {
      open: () => createDocumentStore({ root: folder }),
      pathOf: (name) => join(folder, name),
      names: async () => (await readdir(folder)).filter((name) => !isRecord(name)),
      overwrite: (name, content) => writeFile(join(folder, name), content),
      close: () => rm(join(folder, '..', '..', '..'), { recursive: true }),
    };
  });

  test('makes folders for its own user alone, whatever the umask', async () => {
    const before = process.umask(0o022);
    try {
      const folder = join(root, 'made', 'documents');
      const store = createDocumentStore({ root: folder });
      await store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf() });
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
    } finally {
      process.umask(before);
    }
  });

  test('takes a file: URL', async () => {
    const store = createDocumentStore({ root: pathToFileURL(root).href });
    const stored = await store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf() });
    expect(stored.path).toBe(join(root, 'EBRC2026001.pdf'));
  });

  test('clears away what a dead process left, and nothing that is being written', async () => {
    const old = join(root, '.incoming-old');
    await writeFile(old, 'x');
    await utimes(old, new Date(0), new Date(0));
    await writeFile(join(root, '.incoming-new'), 'x');
    await createDocumentStore({ root }).put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf() });
    expect((await readdir(root)).sort()).toEqual(['.incoming-new', 'EBRC2026001.pdf']);
  });
});

const installed = findS3Server();
if (!installed) {
  process.stderr.write(
    'Neither versitygw nor moto_server is installed: the object store is not tested here. ' +
      'Install one: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0, or pip install "moto[server]".\n',
  );
}

(installed ? describe : describe.skip)(`in an object store (${installed?.kind})`, () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
  });
  afterAll(() => server?.stop());

  storeSuite(() => server.stage());

  test('reports a missing bucket, and nothing else about it', async () => {
    const store = createDocumentStore({ root: 's3://ebrc-not-there/documents?path-style=true' });
    await expect(store.exists('EBRC2026001.pdf')).rejects.toThrow(/404|bucket/i);
    await expect(store.claim('ledger')).rejects.toThrow(/bucket/i);
  });
});

describe('an object store that', () => {
  const before = { ...process.env };
  let answer: RequestListener;
  const careless = createServer((request, response) => request.resume().on('end', () => answer(request, response)));
  beforeAll(async () => {
    await once(careless.listen(0, '127.0.0.1'), 'listening');
    Object.assign(process.env, {
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 'b',
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${(careless.address() as AddressInfo).port}`,
    });
  });
  afterAll(() => {
    process.env = before;
    careless.close();
  });

  const document = { name: 'EBRC2026001', kind: 'pdf', buffer: pdf() } as const;
  const store = () => createDocumentStore({ root: 's3://bucket?path-style=true' });

  test('overlooks conditional writes is refused before anything is counted by it', async () => {
    answer = ({ method }, response) => response.writeHead(method === 'DELETE' ? 204 : 200, { etag: '"x"' }).end();
    const overlooking = store();
    await expect(overlooking.put(document)).rejects.toThrow('If-None-Match');
  });

  test('refuses to create what it does not have is not asked without end', async () => {
    const probed = new Set<string>();
    answer = ({ method, url = '' }, response) => {
      const free = url.includes('.probe-') && !probed.has(url);
      if (method === 'PUT') probed.add(url);
      const status = { PUT: free ? 200 : 412, GET: 404, DELETE: 204 }[method ?? ''] ?? 400;
      const body = '<Error><Code>NoSuchKey</Code></Error>';
      response.writeHead(status, { etag: '"x"', 'content-type': 'application/xml' }).end(status < 400 ? '' : body);
    };
    await expect(store().put(document)).rejects.toThrow('refuses to create it, and does not have it');
  });

  test('answers without a body is reported with its status, and which object it was asked for', async () => {
    let refused = '';
    answer = ({ method = '' }, response) => {
      const status = method === refused ? 403 : 200;
      response.writeHead(status, { etag: '"x"' }).end(method === 'PUT' && status === 200 ? '<CopyObjectResult/>' : '');
    };
    const { name, kind } = document;
    for (const [method, call] of [
      ['PUT', () => store().setAside({ name, kind })],
      ['DELETE', () => store().setAside({ name, kind })],
      ['HEAD', () => store().exists(`${name}.pdf`)],
      ['GET', () => store().read(`${name}.pdf`)],
    ] as const) {
      refused = method;
      await expect(call()).rejects.toThrow('s3://bucket/EBRC2026001.pdf: the object store answered 403');
    }
  });
});

describe('the address of a bucket', () => {
  test.each([
    ['s3://bucket', { bucket: 'bucket', prefix: '', pathStyle: false }],
    ['s3://bucket/a/b/', { bucket: 'bucket', prefix: 'a/b/', pathStyle: false }],
    ['s3://bucket/a?sse=AES256', { bucket: 'bucket', prefix: 'a/', sse: 'AES256', pathStyle: false }],
    [
      's3://bucket?sse=aws:kms&kms-key-id=k1&path-style=true',
      { bucket: 'bucket', prefix: '', sse: 'aws:kms', kmsKeyId: 'k1', pathStyle: true },
    ],
  ])('%s', (text, location) => expect(parseS3Location(text)).toEqual(location));

  test.each([
    's3://',
    's3://B',
    's3://user:pass@bucket',
    's3://bucket/a b',
    's3://bucket?sse=none',
    's3://b.c/x?y=1',
    's3://bucket/%zz',
  ])('%s is refused', (text) => {
    expect(parseS3Location(text)).toBeNull();
    expect(() => createDocumentStore({ root: text })).toThrow(/not the address of a bucket/);
  });
});

describe('an output file', () => {
  let folder: string;
  useFolder((made) => (folder = made));
  const permissions = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

  test('a new file is readable by its owner alone, whatever the umask lets through', async () => {
    const before = process.umask(0);
    try {
      await writeOutputFile(join(folder, 'checked.xlsx'), Buffer.from('rows'));
    } finally {
      process.umask(before);
    }
    expect(await permissions(join(folder, 'checked.xlsx'))).toBe('600');
    expect(await readdir(folder)).toEqual(['checked.xlsx']);
  });

  test('a file that is there is replaced and keeps the permissions that its owner gave it', async () => {
    const path = join(folder, 'checked.xlsx');
    await writeFile(path, 'old');
    await chmod(path, 0o640);
    await writeOutputFile(path, 'new');
    expect(await readFile(path, 'utf8')).toBe('new');
    expect(await permissions(path)).toBe('640');
  });

  test('a failure leaves nothing behind and the file as it was', async () => {
    const path = join(folder, 'checked.xlsx');
    await writeFile(path, 'old');
    // A value that no file can hold fails in the middle, after the temporary file was made.
    await expect(writeOutputFile(path, 7 as unknown as string)).rejects.toThrow();
    expect(await readFile(path, 'utf8')).toBe('old');
    expect(await readdir(folder)).toEqual(['checked.xlsx']);
    await mkdir(join(folder, 'sub'));
    await expect(writeOutputFile(join(folder, 'sub'), 'x')).rejects.toMatchObject({ code: 'EISDIR' });
  });

  test('a symbolic link that somebody put there is replaced, and what it leads to stays as it was', async () => {
    const theirs = join(folder, 'theirs');
    await writeFile(theirs, 'untouched');
    await chmod(theirs, 0o666);
    for (const [name, leadsTo] of Object.entries({ linked: theirs, dangling: join(folder, 'nowhere') })) {
      await symlink(leadsTo, join(folder, name));
      await writeOutputFile(join(folder, name), 'new');
      expect((await lstat(join(folder, name))).isFile()).toBe(true);
      expect(await permissions(join(folder, name))).toBe('600');
    }
    expect(await readFile(theirs, 'utf8')).toBe('untouched');
    expect((await readdir(folder)).sort()).toEqual(['dangling', 'linked', 'theirs']);
  });

  test('what leads to an open file of this process, as /dev/stdout does, is written to and stays', async () => {
    const redirected = await open(join(folder, 'redirected'), 'w');
    await symlink(`/proc/self/fd/${redirected.fd}`, join(folder, 'stdout'));
    await writeOutputFile(join(folder, 'stdout'), 'rows');
    await redirected.close();
    expect((await lstat(join(folder, 'stdout'))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(folder, 'redirected'), 'utf8')).toBe('rows');
  });
});

describe('document names', () => {
  test('are the eBRC number itself where that is safe', () => {
    expect(documentName('EBRC2026001', 'pdf')).toBe('EBRC2026001.pdf');
  });

  test('of two different numbers never collide, on any file system, and never leave the folder', () => {
    const number = fc.oneof(
      fc.string({ maxLength: 120 }),
      fc.stringMatching(/^[A-Za-z0-9/._~-]{1,20}$/u),
      fc.constantFrom(
        '..',
        '.',
        '',
        '/',
        'CON',
        'nul',
        'a/../b',
        'A~b',
        'ebrc2026001',
        'EBRC2026001',
        'EBRC2026001.pdf',
      ),
    );
    fc.assert(
      fc.property(number, number, (one, other) => {
        const [first, second] = [documentName(one, 'pdf'), documentName(other, 'pdf')];
        expect(first.toLowerCase() === second.toLowerCase()).toBe(one === other);
        expect(basename(join('/store', first))).toBe(first);
        expect(dirname(join('/store', first))).toBe('/store');
        expect(isDocumentName(first)).toBe(true);
        expect(first.length).toBeLessThan(200);
      }),
    );
  });

  test('do not depend on anything but the number', () => {
    const number = randomBytes(8).toString('base64');
    expect(documentName(number, 'pdf')).toBe(documentName(number, 'pdf'));
  });
});
