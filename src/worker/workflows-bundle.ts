import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { FAILURE_CONVERTER } from '../codec/data-converter';

/**
 * The built bundles, beside the compiled program: the failure converter is part of a bundle, so that workers that
 * encrypt their payloads have one of their own.
 */
const BUNDLES = {
  plain: join(__dirname, '..', 'workflow-bundle.js'),
  encrypted: join(__dirname, '..', 'workflow-bundle-encrypted.js'),
};

/** The bundle for a worker that encrypts its payloads, or does not. */
export function workflowBundlePath({ encrypted }: { encrypted: boolean }): string {
  return encrypted ? BUNDLES.encrypted : BUNDLES.plain;
}

/**
 * Builds the workflow bundles ahead of time, so that a worker starts fast and every worker of a release runs the same.
 */
async function build(): Promise<void> {
  for (const encrypted of [false, true]) {
    const { code } = await bundleWorkflowCode({
      workflowsPath: join(__dirname, '..', 'workflows', 'index.js'),
      logger: new DefaultLogger('WARN'),
      ...(encrypted && { failureConverterPath: FAILURE_CONVERTER }),
    });
    await writeFile(workflowBundlePath({ encrypted }), code);
  }
}

if (require.main === module) {
  build().catch((error: unknown) => {
    process.stderr.write(
      `The workflow bundle could not be built: ${error instanceof Error ? error.stack : String(error)}\n`,
    );
    process.exit(1);
  });
}
