/** The example of a proxy with TLS: run before a server that tells what reaches it, where nginx is installed. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../dev/free-port';
import { MAX_BODY_BYTES } from '../../src/server/http/body';
import { preferredWait } from '../../src/server/views/watch';
import { createAuthority } from '../support/certificates';
import { testFolder } from '../support/folder';
import { eventually } from '../support/processes';
import { readProject } from './project';

const EXAMPLE = readProject('ops/proxy/nginx.conf');
// Debian has it where only administrators' paths lead.
const PATH = `${process.env['PATH']}:/usr/sbin:/usr/local/sbin`;
const hasNginx = spawnSync('nginx', ['-v'], { env: { PATH } }).status === 0;

const folder = testFolder();

/** The number of a directive: seconds, or megabytes. */
const figureOf = (directive: string) =>
  Number(new RegExp(String.raw`\n *${directive} (\d+)[sm];`, 'u').exec(EXAMPLE)?.[1] ?? NaN);

it('waits longer than the HTTP API does, and takes larger bodies', () => {
  const longestWait = preferredWait('wait=9999');
  expect(figureOf('proxy_read_timeout')).toBeGreaterThan(longestWait + figureOf('client_body_timeout'));
  expect(figureOf('client_max_body_size') * 1024 * 1024).toBeGreaterThan(MAX_BODY_BYTES);
});

interface Seen {
  url: string;
  headers: IncomingHttpHeaders;
  bytes: number;
}

/** The example before a server that answers with what reached it. */
async function startProxy(folder: string) {
  const seen: Seen[] = [];
  const upstream = createServer((asked, answer) => {
    let bytes = 0;
    asked.on('data', (chunk: Buffer) => (bytes += chunk.length));
    asked.on('end', () => {
      seen.push({ url: asked.url ?? '', headers: asked.headers, bytes });
      answer.end();
    });
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');

  const authority = await createAuthority(folder);
  const tls = await authority.sign('ebrc.example');
  const [port, plain] = [await freePort(), await freePort()];
  const rendered = EXAMPLE.replace('127.0.0.1:8080', `127.0.0.1:${(upstream.address() as AddressInfo).port}`)
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace('listen 80', `listen 127.0.0.1:${plain}`)
    .replace('/etc/nginx/tls/ebrc.pem', tls.certificate)
    .replace('/etc/nginx/tls/ebrc.key', tls.key);
  mkdirSync(join(folder, 'conf.d'));
  writeFileSync(join(folder, 'conf.d', 'ebrc.conf'), rendered);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${each};`);
  // Only where root runs it: its own user could not write into the folder.
  const main = `user root root; daemon off; pid nginx.pid; error_log stderr; events {} http { ${temporary.join(' ')} include conf.d/*.conf; }`;
  writeFileSync(join(folder, 'nginx.conf'), main);
  const nginx = spawn('nginx', ['-p', folder, '-c', 'nginx.conf'], { env: { PATH }, stdio: 'pipe' });
  let said = '';
  nginx.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const close = async () => {
    nginx.kill('SIGTERM');
    if (nginx.exitCode === null) await once(nginx, 'exit');
    upstream.close();
  };

  const ca = readFileSync(authority.certificate);
  const ask = (
    path: string,
    { headers = {}, body = '' }: { headers?: Record<string, string>; body?: string | Buffer } = {},
  ) =>
    new Promise<number>((resolve, reject) => {
      const options = { host: '127.0.0.1', port, servername: 'ebrc.example', ca, path, method: 'POST', headers };
      const asked = request(options, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      asked.on('error', reject).end(body);
    });
  const isUp = () => ask('/').then(Boolean, () => nginx.exitCode !== null);
  await eventually(isUp);
  if (nginx.exitCode !== null) throw new Error(said);
  return { ask, seen, plainUrl: `http://127.0.0.1:${plain}`, close };
}

let proxy: Awaited<ReturnType<typeof startProxy>> | undefined;
beforeAll(async () => {
  if (hasNginx) proxy = await startProxy(folder);
});
afterAll(() => proxy?.close());

it('passes everything but health and metrics, with the address of the caller and the name that it asked', async () => {
  if (!proxy) {
    process.stderr.write('nginx is not installed: the example of a proxy was read, and not run.\n');
    return;
  }
  const { ask, seen, plainUrl } = proxy;
  seen.length = 0;
  for (const path of ['/metrics', '/healthz', '/readyz', '/metrics/', '//metrics', '/%6detrics', '/x/../metrics?y'])
    expect([path, await ask(path)]).toEqual([path, 404]);
  expect(seen).toEqual([]);

  const claimed = { 'x-forwarded-for': '6.6.6.6', 'x-forwarded-proto': 'http', 'x-forwarded-host': 'other.example' };
  const paths = ['/', '/v1/filings/A%2FB?n=2', '/docs', '/sign-in/callback?code=x', '/exporters'];
  for (const path of paths) {
    const headers = { ...claimed, host: 'ebrc.example', authorization: 'Bearer x', prefer: 'wait=60' };
    expect([path, await ask(path, { headers })]).toEqual([path, 200]);
  }
  expect(seen.map(({ url }) => url)).toEqual(paths);
  for (const { headers } of seen) {
    expect(headers).toMatchObject({ host: 'ebrc.example', authorization: 'Bearer x', prefer: 'wait=60' });
    expect(headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'https' });
    expect(headers).not.toHaveProperty('x-forwarded-host');
  }

  expect(await ask('/v1/filings', { body: Buffer.alloc(MAX_BODY_BYTES + 1) })).toBe(200);
  expect(seen.at(-1)?.bytes).toBe(MAX_BODY_BYTES + 1);
  expect(await ask('/v1/filings', { body: Buffer.alloc(9 * 1024 * 1024) }).catch(() => 413)).toBe(413);
  const moved = await fetch(`${plainUrl}/v1/x?y=1`, { redirect: 'manual' });
  expect([moved.status, moved.headers.get('location')]).toEqual([308, 'https://127.0.0.1/v1/x?y=1']);
});
