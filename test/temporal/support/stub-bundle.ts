import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** The bundle of the stub workflows, built without a word. */
export const stubBundle = () =>
  bundleWorkflowCode({ workflowsPath: require.resolve('./stub-workflows'), logger: new DefaultLogger('ERROR') });
