/**
 * SHA-256 of the archives that may be downloaded, by artifact, version, platform and architecture, as their publisher
 * lists them (github.com/temporalio/cli, releases). Anything else is not used.
 */
const ARCHIVES = {
  'cli v1.5.1 linux amd64': 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
  'cli v1.5.1 linux arm64': 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
  'cli v1.5.1 darwin amd64': 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
  'cli v1.5.1 darwin arm64': 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
};

/** Hashes of Go modules, as in Go's checksum database. */
export const GO_MODULES = {
  'github.com/temporalio/cli@v1.5.1': 'h1:0RZMk14BWxz44Xg6ciDQvpfAMffoG3J7/K03ql80teY=',
};

/**
 * SHA-256 over the sorted lines `name sha256` of the test server's jar (1.32.0) and its dependencies from Maven
 * Central.
 */
export const TEST_SERVER_JARS = '5da334274a4f1185af525b42b46193463c992551277ffa75f84d624996cdf2ef';

/**
 * The SHA-256 that an archive must have; `TEMPORAL_DOWNLOAD_SHA256` sets it for an archive that is not listed here.
 * Throws if there is neither.
 */
export function archiveHash({ artifact, version, platform, arch, env }) {
  const hash = env.TEMPORAL_DOWNLOAD_SHA256 || ARCHIVES[`${artifact} ${version} ${platform} ${arch}`];
  if (hash) return hash.toLowerCase();
  throw new Error(
    `the SHA-256 of ${artifact} ${version} for ${platform} ${arch} is not known here (set TEMPORAL_DOWNLOAD_SHA256)`,
  );
}
