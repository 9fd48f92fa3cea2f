/** What is not encrypted where EBRC_PAYLOADS asks for it: whoever made it may not have the payload key. */
import { isObject } from './values';

/** Stands for such a payload in a workflow or an activity, which could not go on if it failed to decode. */
export const REFUSED_PLAINTEXT = { plaintextRefused: true } as const;

export const isRefusedPlaintext = (value: unknown): boolean => isObject(value) && value['plaintextRefused'] === true;

/** Code and text of the errors that tell it. */
export const PLAINTEXT_CODE = 'plaintext_refused';
export const plaintextText = (what: string): string =>
  `${what} is not encrypted, and is not taken: somebody without the payload key made it. Use the codec with EBRC_PAYLOAD_KEY (docs/callers.md), ebrc, or the HTTP API; EBRC_PAYLOADS=any takes it.`;
