import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** Where the built bundle lies, beside the compiled program. */
export const WORKFLOW_BUNDLE = join(__dirname, 'workflow-bundle.js');

/** Builds the workflow bundle ahead of time, so that a worker starts fast and every worker of a release runs the same. */
async function build(): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(__dirname, 'workflows', 'index.js'),
    logger: new DefaultLogger('WARN'),
  });
  await writeFile(WORKFLOW_BUNDLE, code);
}

if (require.main === module) {
  build().catch((error: unknown) => {
    process.stderr.write(
      `The workflow bundle could not be built: ${error instanceof Error ? error.stack : String(error)}\n`,
    );
    process.exit(1);
  });
}
