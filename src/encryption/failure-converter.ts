import { DefaultFailureConverter } from '@temporalio/common';

/** Encrypts failures' messages and stacks, which name exporters and amounts. Loaded by path, everywhere. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
