import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium, type Browser } from 'playwright-core';

/** Debian's, where it is installed; otherwise the one that npm brings, which is for 64-bit Linux on Intel alone. */
const INSTALLED = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const PACKAGED = process.platform === 'linux' && process.arch === 'x64';

export const HAS_BROWSER = INSTALLED !== undefined || PACKAGED;

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: await executable(), args: ['--no-sandbox'] });
}

async function executable(): Promise<string> {
  if (INSTALLED !== undefined) return INSTALLED;
  // Its package is an ES module, which jest does not load.
  const script = `import('@sparticuz/chromium').then(async ({ default: c }) => console.log(await c.executablePath()))`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: join(__dirname, '..') });
  return stdout.trim();
}
