import { DefaultFailureConverter } from '@temporalio/common';

/** Encrypts the messages and stacks of failures, which name exporters and amounts. Loaded by its path. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
