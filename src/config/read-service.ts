/** Settings of the filing service and of the extraction service: addresses, keys, the mode of the key. */
import { modeOfKey, type Mode } from '../domain/names';
import * as hints from './hints';
import { isOpenHttp } from './links';
import type { Reader } from './reader';

/** The mode of the key or, for commands that only read, of EBRC_MODE. */
export function modeOf(read: Reader): Mode | undefined {
  const key = read.optional('EBRC_API_KEY');
  const configured = read.optional('EBRC_MODE');
  const ofKey = key === undefined ? undefined : (modeOfKey(key) ?? undefined);
  if (ofKey && configured && ofKey !== configured) {
    read.report(
      'EBRC_MODE',
      `is ${configured}, but EBRC_API_KEY is a key of ${ofKey} mode; allowed: unset, or ${ofKey}`,
    );
  }
  return ofKey ?? configured;
}

/** Whether live data is used; for settings that need no key themselves but must protect such data. */
export const isLive = (read: Reader) => modeOf(read) === 'live';

export function readMode(read: Reader) {
  if (!read.isSet('EBRC_MODE')) read.required('EBRC_API_KEY', hints.MODE_HINT);
  return { mode: modeOf(read) };
}

export function readApi(read: Reader, warnings: string[]) {
  const apiUrl = read.required('EBRC_API_URL', hints.API_URL_HINT);
  const apiKey = read.required('EBRC_API_KEY', hints.API_KEY_HINT);
  const mode = modeOf(read);
  if (apiUrl !== undefined && isOpenHttp(apiUrl)) {
    if (mode === 'live')
      read.report('EBRC_API_URL', 'would send a prod_ key over an unencrypted connection; allowed: an https address');
    else warnings.push('EBRC_API_URL is an http address of another machine: the dev_ key travels unencrypted.');
  }
  return { apiUrl, apiKey, mode, ...readTuning(read) };
}

export function readTuning(read: Reader) {
  return { httpTimeoutMs: read.required('EBRC_HTTP_TIMEOUT'), rateWindowMs: read.required('EBRC_RATE_WINDOW') };
}

export function readExtraction(read: Reader) {
  const extractionMapping = read.optional('EBRC_EXTRACTION_MAPPING');
  if (!read.isSet('EBRC_EXTRACTION_URL') && !read.isSet('EBRC_EXTRACTION_KEY')) return { extractionMapping };
  const url = read.required('EBRC_EXTRACTION_URL', hints.EXTRACTION_HINT);
  const key = read.required('EBRC_EXTRACTION_KEY', hints.EXTRACTION_HINT);
  if (url !== undefined && isOpenHttp(url) && isLive(read)) {
    const problem = 'would send documents and a key over an unencrypted connection; allowed with a prod_ key: https';
    read.report('EBRC_EXTRACTION_URL', problem);
  }
  return { extraction: { url, key, version: read.required('EBRC_EXTRACTION_VERSION') }, extractionMapping };
}
