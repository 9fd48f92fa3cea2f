import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { archiveHash } from './checksums.mjs';
import { run } from './run.mjs';

const ANSWER_WITHIN_MS = 15_000;
const STALLED_AFTER_MS = 20_000;
const WHOLE_WITHIN_MS = 10 * 60_000;

const ARCH = { x64: 'amd64', arm64: 'arm64' };
const PLATFORM = { linux: 'linux', darwin: 'darwin', win32: 'windows' };

/**
 * Downloads an executable as the Temporal SDK's testing package does: an address that names the archive for this
 * platform, then the archive. Unpacks it into `folder` and returns the path of the executable. Time limits: 15 s for
 * each answer, 20 s without a byte, 10 minutes in all. `TEMPORAL_DOWNLOAD_URL` may name a mirror with the same two-step
 * protocol. An archive whose hash is not the pinned one is not unpacked.
 */
export async function downloadExecutable({ artifact, version, folder, onProgress, env = process.env }) {
  const arch = ARCH[process.arch];
  const platform = PLATFORM[process.platform];
  if (!arch || !platform) throw new Error(`there is no build for ${process.platform} on ${process.arch}`);
  const wanted = archiveHash({ artifact, version, platform, arch, env });
  const root = (env.TEMPORAL_DOWNLOAD_URL || 'https://temporal.download').replace(/\/$/, '');
  const query = new URLSearchParams({ arch, platform, 'sdk-name': 'sdk-typescript', 'sdk-version': '1.24.0' });
  const { archiveUrl, fileToExtract } = await (await get(`${root}/${artifact}/${version}?${query}`)).json();
  if (!archiveUrl || !fileToExtract) throw new Error(`${root} gave no archive for ${artifact} ${version}`);

  const archive = join(folder, basename(new URL(archiveUrl).pathname));
  const sha256 = await save(archiveUrl, archive, onProgress);
  // Checked before anything reads the archive, unpacking included.
  if (sha256 !== wanted) throw new Error(`${archiveUrl} has the SHA-256 ${sha256}, not ${wanted}: it is not used`);
  const unpacked = join(folder, 'unpacked');
  await mkdir(unpacked);
  // tar of Windows and macOS reads .zip as well; Linux builds come as .tar.gz.
  await run('tar', ['-xf', archive, '-C', unpacked, fileToExtract], { withinMs: 120_000 });
  return join(unpacked, fileToExtract);
}

async function get(url) {
  const answered = AbortSignal.timeout(ANSWER_WITHIN_MS);
  try {
    const answer = await fetch(url, { signal: answered });
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
    return answer;
  } catch (error) {
    const reason = answered.aborted
      ? `no answer within ${ANSWER_WITHIN_MS / 1000} s`
      : (error.cause?.message ?? error.message);
    throw new Error(`${new URL(url).host} cannot be reached: ${reason}`, { cause: error });
  }
}

/** @returns the SHA-256 of what was saved */
async function save(url, path, onProgress) {
  const stop = new AbortController();
  const whole = setTimeout(() => stop.abort(new Error('the download took more than 10 minutes')), WHOLE_WITHIN_MS);
  let stalled;
  const alive = () => {
    clearTimeout(stalled);
    stalled = setTimeout(() => stop.abort(new Error('the download stalled')), STALLED_AFTER_MS);
  };
  try {
    const head = setTimeout(() => stop.abort(new Error('no answer')), ANSWER_WITHIN_MS);
    const answer = await fetch(url, { signal: stop.signal }).finally(() => clearTimeout(head));
    if (!answer.ok || !answer.body) throw new Error(`${url} answered ${answer.status}`);
    const total = Number(answer.headers.get('content-length')) || null;
    let bytes = 0;
    const hash = createHash('sha256');
    alive();
    const counted = Readable.fromWeb(answer.body).on('data', (chunk) => {
      bytes += chunk.length;
      hash.update(chunk);
      alive();
      onProgress?.(`${Math.round(bytes / 1e6)} MB${total ? ` of ${Math.round(total / 1e6)} MB` : ''}`);
    });
    await pipeline(counted, createWriteStream(path), { signal: stop.signal });
    if (total !== null && bytes !== total) throw new Error(`${url} ended after ${bytes} of ${total} bytes`);
    return hash.digest('hex');
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    clearTimeout(whole);
    clearTimeout(stalled);
  }
}
