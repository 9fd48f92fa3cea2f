import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Moves messages and stack traces of failures into a payload, so that the codec encrypts them too: they name exporters,
 * documents and amounts. Loaded by its path, in the worker and in the workflow bundle alike.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
