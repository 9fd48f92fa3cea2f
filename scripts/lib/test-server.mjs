import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once as finished } from 'node:events';
import { chmod, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, installInto, withLock } from './cache.mjs';
import { TEST_SERVER_JARS } from './checksums.mjs';
import { downloadExecutable } from './download.mjs';
import { isExecutable, run, which } from './run.mjs';

const VERSION = '1.32.0';
const ARTIFACT = 'temporal-test-server';
const NAME = 'time-skipping test server';
const EXE = process.platform === 'win32' ? '.exe' : '';
const COPY_DEPENDENCIES = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

const HOW_TO_GET_IT = `The time-skipping test server, which the workflow tests need, could not be obtained. Any one of these will do:
  1. let this machine reach https://temporal.download (or a mirror of it, named by TEMPORAL_DOWNLOAD_URL);
  2. install Java 11 or newer and Maven: it is then fetched from Maven Central;
  3. set TEMPORAL_TEST_SERVER to the path of a temporal-test-server binary.`;

/**
 * A start takes half the processor time that it takes without them, and each test file starts a server. Without its
 * archive of classes Java starts as if none were named.
 */
const JAVA_FLAGS = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-XX:SharedArchiveFile=classes.jsa'];

/** The path of a build for this platform, or of a script that runs the Java one. */
function cachedTestServer(env = process.env) {
  return join(cacheFolder(env), `${ARTIFACT}-${VERSION}`, `${ARTIFACT}${EXE}`);
}

/** The server that is available without fetching anything: `{path, version}` or null. */
export async function findTestServer({ say = () => undefined, env = process.env } = {}) {
  const named = env.TEMPORAL_TEST_SERVER;
  if (named) {
    if (await isExecutable(named)) return { path: named, version: 'TEMPORAL_TEST_SERVER' };
    say(NAME, `TEMPORAL_TEST_SERVER: ${named} is not there or not executable; looking further`);
  }
  const path = cachedTestServer(env);
  return (await isExecutable(path)) ? { path, version: VERSION } : null;
}

/** Finds or fetches the time-skipping test server. Throws an error that lists the ways to get it. */
export async function obtainTestServer(report) {
  const { say } = report;
  const found = await findTestServer({ say });
  if (found) return found;
  await withLock(
    ARTIFACT,
    (message) => say(NAME, message),
    () => report.during(NAME, (progress) => fetchTestServer(say, progress)),
  );
  say(NAME, `ready, ${VERSION}`);
  return { path: cachedTestServer(), version: VERSION };
}

async function fetchTestServer(say, onProgress) {
  if (await isExecutable(cachedTestServer())) return;
  for (const [what, attempt] of [
    [`downloading ${VERSION} as the SDK does`, download],
    [`fetching ${VERSION} from Maven Central`, copyFromMaven],
  ]) {
    say(NAME, `${what} …`);
    try {
      return await attempt(onProgress);
    } catch (error) {
      say(NAME, `that failed (${error.message})`);
    }
  }
  throw new Error(HOW_TO_GET_IT);
}

const target = () => join(cacheFolder(), `${ARTIFACT}-${VERSION}`);

function download(onProgress) {
  return installInto(target(), async (draft) => {
    const path = await downloadExecutable({ artifact: ARTIFACT, version: `v${VERSION}`, folder: draft, onProgress });
    const folder = join(draft, 'server');
    await mkdir(folder);
    await rename(path, join(folder, `${ARTIFACT}${EXE}`));
    await chmod(join(folder, `${ARTIFACT}${EXE}`), 0o755);
    return folder;
  });
}

async function copyFromMaven() {
  if (process.platform === 'win32') throw new Error('the script that runs it needs a POSIX shell');
  for (const program of ['java', 'mvn']) {
    if (!(await which(program))) throw new Error(`there is no ${program} on PATH`);
  }
  return installInto(target(), async (draft) => {
    const folder = join(draft, 'server');
    await mkdir(join(folder, 'lib'), { recursive: true });
    await writeFile(join(draft, 'pom.xml'), pom());
    await run(
      'mvn',
      ['-B', '-q', '-f', join(draft, 'pom.xml'), COPY_DEPENDENCIES, `-DoutputDirectory=${join(folder, 'lib')}`],
      {
        withinMs: 10 * 60_000,
      },
    );
    await checkJars(join(folder, 'lib'));
    const java = `java ${JAVA_FLAGS.join(' ')} -cp 'lib/*' io.temporal.testserver.TestServer`;
    const script = join(folder, ARTIFACT);
    // The script finds its folder at each start, because the folder is renamed after this is written.
    await writeFile(script, `#!/bin/sh\ncd "$(dirname "$0")" && exec ${java} "$@"\n`);
    // Java writes the archive of its classes when it exits: here at the end of the time limit.
    const once = `exec ${java.replace('SharedArchiveFile', 'ArchiveClassesAtExit')} 0`;
    const archiving = spawn('sh', ['-c', once], { cwd: folder, stdio: 'ignore', timeout: 5_000 });
    const giveUp = setTimeout(() => archiving.kill('SIGKILL'), 60_000);
    await finished(archiving, 'close').finally(() => clearTimeout(giveUp));
    await chmod(script, 0o755);
    return folder;
  });
}

/** Maven's checksums come from the same place as the files, so the hash is pinned here. */
async function checkJars(lib) {
  const hash = createHash('sha256');
  for (const name of (await readdir(lib)).sort()) {
    hash.update(
      `${name} ${createHash('sha256')
        .update(await readFile(join(lib, name)))
        .digest('hex')}\n`,
    );
  }
  const found = hash.digest('hex');
  if (found !== TEST_SERVER_JARS)
    throw new Error(`the jars have the SHA-256 ${found}, not ${TEST_SERVER_JARS}: they are not used`);
}

function pom() {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>fetch-${ARTIFACT}</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>io.temporal</groupId><artifactId>${ARTIFACT}</artifactId><version>${VERSION}</version></dependency>
  </dependencies>
</project>
`;
}
