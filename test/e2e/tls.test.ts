/** TLS to PostgreSQL and Temporal, with certificates made here: what is refused is refused before anything is said. */
import { randomBytes } from 'node:crypto';
import { chmod, chown, copyFile, readFile, stat } from 'node:fs/promises';
import { createSecureServer, type Http2SecureServer, type Http2Session, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer, type Server } from 'node:tls';
import { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedServer } from '../../dev/postgres';
import { loadConfig } from '../../src/config/config';
import { migrate } from '../../src/ledger/migrate';
import { createPool } from '../../src/ledger/pool';
import { UnreachableError } from '../../src/starter/errors';
import { testFolder } from '../support/folder';
import { createAuthority, hasOpenssl, type Authority, type Certificate } from '../support/certificates';
import { eventually } from '../support/processes';
import { devServer, type DevServer } from '../support/temporal';

const folder = testFolder();
let ours: Authority;
let other: Authority;
let serverCertificate: Certificate;
let openssl: boolean;

beforeAll(async () => {
  openssl = await hasOpenssl();
  if (!openssl) {
    process.stderr.write('openssl is not installed: TLS is not tested here.\n');
    return;
  }
  [ours, other] = [await createAuthority(folder), await createAuthority(folder, 'other')];
  serverCertificate = await ours.sign('server');
});

describe('PostgreSQL', () => {
  let server: EmbeddedServer;
  let url: string;

  beforeAll(async () => {
    if (!openssl) return;
    server = await startEmbeddedPostgres({ folder: join(folder, 'postgres'), temporary: true });
    url = await server.createDatabase('ebrc');
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    const { rows } = await admin.query<{ folder: string }>("SELECT current_setting('data_directory') AS folder");
    const data = rows[0]?.folder ?? server.folder;
    // PostgreSQL reads only a key that its own user owns and nobody else can read.
    const { uid, gid } = await stat(data);
    for (const [from, to] of [
      [serverCertificate.certificate, 'server.crt'],
      [serverCertificate.key, 'server.key'],
    ] as const) {
      const path = join(data, to);
      await copyFile(from, path);
      await chown(path, uid, gid);
      await chmod(path, 0o600);
    }
    await admin.query('ALTER SYSTEM SET ssl = on');
    await admin.query('SELECT pg_reload_conf()');
    await admin.end();
    // It reads its configuration a moment later.
    await eventually(() => encrypted('sslmode=no-verify').catch(() => false), 20_000);
  });
  afterAll(() => server?.stop());

  async function encrypted(more: string): Promise<boolean> {
    const pool = createPool({ url: `${url}?${more}`, max: 1 });
    try {
      const { rows } = await pool.query<{ ssl: boolean }>('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
      return rows[0]?.ssl ?? false;
    } finally {
      await pool.end();
    }
  }

  it('is reached with verify-full and the authority that signed it, by migrations too', async () => {
    if (!openssl) return;
    const live = {
      EBRC_API_KEY: 'prod_key',
      DATABASE_URL: `${url}?sslmode=verify-full&sslrootcert=${encodeURIComponent(ours.certificate)}`,
    };
    const { databaseUrl } = loadConfig(live, { need: ['database'] });
    expect(await encrypted(new URL(databaseUrl).search.slice(1))).toBe(true);
    expect(await migrate(databaseUrl)).toContain('001_ledger');
    expect(await migrate(databaseUrl)).toEqual([]);
  });

  it('is refused with a certificate of somebody else, and without any authority', async () => {
    if (!openssl) return;
    const wrong = `sslmode=verify-full&sslrootcert=${encodeURIComponent(other.certificate)}`;
    await expect(encrypted(wrong)).rejects.toMatchObject({
      message: expect.stringMatching(/certificate|signature/i) as string,
    });
    await expect(encrypted('sslmode=verify-full')).rejects.toMatchObject({
      message: expect.stringMatching(/certificate/i) as string,
    });
  });

  it('works for a user that may make no roles: the ledger does without them', async () => {
    if (!openssl) return;
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    await admin.query("CREATE USER plain PASSWORD 'plain'");
    await admin.query('CREATE DATABASE plain OWNER plain');
    await admin.query('DROP OWNED BY ebrc_run, ebrc_serve, ebrc_read, ebrc_migrate');
    await admin.query('DROP ROLE ebrc_run, ebrc_serve, ebrc_read, ebrc_migrate');
    await admin.end();
    const own = new URL(url);
    [own.username, own.password, own.pathname] = ['plain', 'plain', '/plain'];
    expect(await migrate(own.href)).toContain('001_ledger');
    const pool = createPool({ url: own.href, max: 1 });
    const { rows } = await pool.query("SELECT count(*)::int AS n FROM pg_roles WHERE rolname LIKE 'ebrc%'");
    expect(rows).toEqual([{ n: 0 }]);
    await pool.end();
  });
});

describe('Temporal', () => {
  let server: DevServer;
  let proxy: Server;
  let client: Certificate;
  let stranger: Certificate;
  const sockets = new Set<Socket>();

  beforeAll(async () => {
    if (!openssl) return;
    [server, client, stranger] = await Promise.all([devServer(), ours.sign('client'), other.sign('stranger')]);
    const [host = '', port] = server.address.split(':');
    // The development server has no TLS of its own; clients of this one have to show a certificate of ours.
    proxy = createTlsServer(
      {
        cert: await readFile(serverCertificate.certificate),
        key: await readFile(serverCertificate.key),
        ca: await readFile(ours.certificate),
        requestCert: true,
        rejectUnauthorized: true,
        ALPNProtocols: ['h2'],
      },
      (near) => {
        const far = connect(Number(port), host);
        for (const socket of [near, far]) {
          sockets.add(socket);
          socket.on('error', () => undefined);
        }
        near.pipe(far).pipe(near);
      },
    );
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    proxy?.close();
    await server?.stop();
  });

  const variables = (authority: Authority, shown?: Certificate) => ({
    EBRC_API_KEY: 'prod_key',
    EBRC_ENCRYPTION_KEY: `k1:${randomBytes(32).toString('base64')}`,
    HOME: '/nonexistent',
    TEMPORAL_ADDRESS: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    TEMPORAL_TLS: 'true',
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: authority.certificate,
    TEMPORAL_TLS_SERVER_NAME: 'localhost',
    ...(shown && { TEMPORAL_TLS_CLIENT_CERT_PATH: shown.certificate, TEMPORAL_TLS_CLIENT_KEY_PATH: shown.key }),
  });

  async function reach(env: Record<string, string>): Promise<void> {
    const { temporal } = loadConfig(env, { need: ['temporal'] });
    const connection = await Connection.connect({ ...temporal.connectionOptions, connectTimeout: '2s' });
    await connection.close();
    const native = await NativeConnection.connect(temporal.connectionOptions);
    await native.close();
  }

  it('is reached by clients and workers that present a certificate and trust the authority', async () => {
    if (!openssl) return;
    await expect(reach(variables(ours, client))).resolves.toBeUndefined();
  });

  it('is refused with a server of another authority, without a certificate, and with a foreign one', async () => {
    if (!openssl) return;
    await expect(reach(variables(other, client))).rejects.toThrow();
    await expect(reach(variables(ours))).rejects.toThrow();
    await expect(reach(variables(ours, stranger))).rejects.toThrow();
  });
});

describe('Temporal with an API key', () => {
  const API_KEY = 'temporal-cloud-key-of-this-test';
  let server: Http2SecureServer;
  let seen: IncomingHttpHeaders[];
  const sessions = new Set<Http2Session>();
  let env: Record<string, string>;

  beforeAll(async () => {
    if (!openssl) return;
    seen = [];
    const [cert, key] = await Promise.all([readFile(serverCertificate.certificate), readFile(serverCertificate.key)]);
    // As a Temporal server answers the first question of every client, to those who have the key.
    server = createSecureServer({ cert, key });
    server.on('session', (session) => sessions.add(session));
    server.on('stream', (stream, headers) => {
      seen.push(headers);
      const known = headers.authorization === `Bearer ${API_KEY}`;
      stream.on('error', () => undefined);
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': known ? '0' : '16' }));
      // An empty message: one byte for "not compressed", four for its length.
      stream.end(known ? Buffer.alloc(5) : undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    env = {
      EBRC_API_KEY: 'prod_key',
      EBRC_ENCRYPTION_KEY: `k1:${randomBytes(32).toString('base64')}`,
      HOME: '/nonexistent',
      TEMPORAL_ADDRESS: `127.0.0.1:${(server.address() as AddressInfo).port}`,
      TEMPORAL_NAMESPACE: 'exports.a1b2c',
      TEMPORAL_API_KEY: API_KEY,
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: ours.certificate,
      TEMPORAL_TLS_SERVER_NAME: 'localhost',
    };
  });
  afterAll(() => {
    for (const session of sessions) session.destroy();
    server?.close();
  });

  it('shows the key to the server, over TLS, as client and as worker', async () => {
    if (!openssl) return;
    const { temporal } = loadConfig(env, { need: ['temporal'] });
    const connection = await Connection.connect({ ...temporal.connectionOptions, connectTimeout: '10s' });
    await connection.close();
    const ofClient = seen.splice(0);
    const native = await NativeConnection.connect(temporal.connectionOptions);
    await native.close();
    for (const requests of [ofClient, seen]) {
      expect(requests.length).toBeGreaterThan(0);
      expect([...new Set(requests.map(({ authorization }) => authorization))]).toEqual([`Bearer ${API_KEY}`]);
    }
  });

  it('is not let in with another key, and does not repeat it', async () => {
    if (!openssl) return;
    const { temporal } = loadConfig({ ...env, TEMPORAL_API_KEY: 'another-key' }, { need: ['temporal'] });
    const refused: unknown = await Connection.connect({ ...temporal.connectionOptions, connectTimeout: '2s' }).catch(
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(Error);
    expect(String(refused)).not.toContain('another-key');
    const { message } = new UnreachableError('Temporal', 'cloud.example:7233', refused);
    expect(message).toMatch(/UNAUTHENTICATED.*check TEMPORAL_API_KEY/);
  });

  it('sends no key to a server of another authority', async () => {
    if (!openssl) return;
    seen.splice(0);
    const { temporal } = loadConfig(
      { ...env, TEMPORAL_TLS_SERVER_CA_CERT_PATH: other.certificate },
      { need: ['temporal'] },
    );
    await expect(Connection.connect({ ...temporal.connectionOptions, connectTimeout: '2s' })).rejects.toThrow();
    await expect(NativeConnection.connect(temporal.connectionOptions)).rejects.toThrow();
    expect(seen).toEqual([]);
  });
});
