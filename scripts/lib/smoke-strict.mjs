// What servers of one's own may ask for, in containers: Temporal shows and wants certificates of an authority of its own, and the documents are
// in a bucket. A file beside docker-compose.yml puts both in; the variables are those of `.env`.
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(import.meta.url);
require('../typescript.cjs');
const { version } = require('../../package.json');
const { createAuthority, hasOpenssl } = require('../../test/support/certificates.ts');
const { findS3Server } = require('../../test/support/s3-server.ts');

const S3 = { AWS_ACCESS_KEY_ID: 'smoke-access', AWS_SECRET_ACCESS_KEY: 'smoke-secret-key' };
const OWN = ['migrate', 'worker', 'http-api', 'ebrc-production'];

/** Variables of a client, with its certificates in a folder of its container. */
const clientOf = (folder) => ({
  TEMPORAL_TLS: 'true',
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: `${folder}/authority.pem`,
  TEMPORAL_TLS_CLIENT_CERT_PATH: `${folder}/client.pem`,
  TEMPORAL_TLS_CLIENT_KEY_PATH: `${folder}/client.key`,
});

/** Variables of the server, by the names of its image. */
const serverOf = (folder) => ({
  TEMPORAL_TLS_REQUIRE_CLIENT_AUTH: 'true',
  ...Object.fromEntries(
    ['SERVER', 'FRONTEND'].flatMap((side) => [
      [`TEMPORAL_TLS_${side}_CERT`, `${folder}/temporal.pem`],
      [`TEMPORAL_TLS_${side}_KEY`, `${folder}/temporal.key`],
    ]),
  ),
  ...Object.fromEntries(
    ['SERVER', 'CLIENT1', 'CLIENT2'].map((side) => [`TEMPORAL_TLS_${side}_CA_CERT`, `${folder}/authority.pem`]),
  ),
  TEMPORAL_TLS_FRONTEND_SERVER_NAME: 'temporal',
  TEMPORAL_TLS_INTERNODE_SERVER_NAME: 'temporal',
});

/**
 * @returns arguments of Compose, the variables of the production profile, and the name of the service that keeps the
 *   bucket; null for each part whose program (openssl, versitygw) is not installed
 */
export async function makeStrict(folder, say) {
  const certificates = join(folder, 'certificates');
  await mkdir(certificates);
  const services = Object.fromEntries(OWN.map((name) => [name, { volumes: [`${certificates}:/etc/ebrc:ro`] }]));
  const env = {};
  const tls = await hasOpenssl();
  if (tls) {
    const authority = await createAuthority(certificates);
    for (const name of ['temporal', 'client']) await authority.sign(name);
    // Each container reads them as a user of its own.
    for (const name of await readdir(certificates)) await chmod(join(certificates, name), 0o644);
    const volumes = [`${certificates}:/etc/certificates:ro`];
    services.temporal = { volumes, environment: serverOf('/etc/certificates') };
    services['temporal-namespace'] = { volumes, environment: clientOf('/etc/certificates') };
    Object.assign(env, clientOf('/etc/ebrc'));
  } else say('openssl is not installed: Temporal is used without TLS');
  const s3 = findS3Server();
  const bucket = s3?.kind === 'versitygw' ? 'bucket' : null;
  if (bucket) {
    const folders = ['/tmp/data/ebrc', '/tmp/sidecar'];
    services[bucket] = {
      image: `ebrc-worker:${version}`,
      tmpfs: ['/tmp'],
      volumes: [`${s3.program}:/usr/local/bin/versitygw:ro`],
      environment: { ROOT_ACCESS_KEY: S3.AWS_ACCESS_KEY_ID, ROOT_SECRET_KEY: S3.AWS_SECRET_ACCESS_KEY },
      command: [
        'sh',
        '-c',
        `mkdir -p ${folders.join(' ')} && exec versitygw --port :7070 --quiet posix --sidecar /tmp/sidecar /tmp/data`,
      ],
      healthcheck: { disable: true },
    };
    const place = { EBRC_DOCUMENTS: 's3://ebrc/production?path-style=true', AWS_REGION: 'us-east-1' };
    Object.assign(env, S3, place, { AWS_ENDPOINT_URL_S3: `http://${bucket}:7070` });
  } else say('versitygw is not installed (npm run tools): the documents are in a volume');
  const file = join(folder, 'strict.yml');
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ services }));
  return { args: ['-f', file], env, tls, bucket };
}
