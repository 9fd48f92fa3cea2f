import { HAS_BROWSER } from '../../dev/browser';

/** `describe` where there is a browser for this machine; skipped with a message otherwise. */
export const inBrowser = HAS_BROWSER ? describe : describe.skip;
if (!HAS_BROWSER) process.stderr.write('No Chromium for this machine: no page is opened. Install chromium.\n');
