/**
 * What is downloaded is used only if its content is known. SHA-256 of the archives by artifact, version, platform and
 * architecture, as their publisher (github.com/temporalio/cli, releases) has them; another version needs other lines
 * here.
 */
const ARCHIVES = {
  'cli v1.5.1 linux amd64': 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
  'cli v1.5.1 linux arm64': 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
  'cli v1.5.1 darwin amd64': 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
  'cli v1.5.1 darwin arm64': 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
};

/** The hash of a Go module, as Go's checksum database has it. */
export const GO_MODULES = {
  'github.com/temporalio/cli@v1.5.1': 'h1:0RZMk14BWxz44Xg6ciDQvpfAMffoG3J7/K03ql80teY=',
};

/**
 * SHA-256 over the lines `name sha256`, sorted, of the test server's jar (1.32.0) and everything that Maven Central
 * gives with it.
 */
export const TEST_SERVER_JARS = '5da334274a4f1185af525b42b46193463c992551277ffa75f84d624996cdf2ef';

/**
 * The SHA-256 that an archive must have. `TEMPORAL_DOWNLOAD_SHA256` names the one of an archive that is not listed
 * here, for whoever has compared it with the publisher's. Throws where there is neither.
 */
export function archiveHash({ artifact, version, platform, arch, env }) {
  const hash = env.TEMPORAL_DOWNLOAD_SHA256 || ARCHIVES[`${artifact} ${version} ${platform} ${arch}`];
  if (hash) return hash.toLowerCase();
  throw new Error(
    `the SHA-256 of ${artifact} ${version} for ${platform} ${arch} is not known here (TEMPORAL_DOWNLOAD_SHA256 can name it)`,
  );
}
