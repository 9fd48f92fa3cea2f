import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger, type BundleOptions } from '@temporalio/worker';
import { FAILURE_CONVERTER } from '../encryption/payload-codec';

/** Path of the built bundle, beside the compiled program. */
export function workflowBundlePath({ encrypted, traced }: { encrypted: boolean; traced: boolean }): string {
  const name = ['workflow-bundle', ...(encrypted ? ['encrypted'] : []), ...(traced ? ['traced'] : [])].join('-');
  return join(__dirname, '..', `${name}.js`);
}

/** Bundle options: the interceptors of every bundle, and what encryption and tracing add. */
export function bundleParts({ encrypted, traced }: { encrypted: boolean; traced: boolean }): Partial<BundleOptions> {
  return {
    ...(encrypted && { failureConverterPath: FAILURE_CONVERTER }),
    workflowInterceptorModules: [
      ...(traced ? [require.resolve('../telemetry/workflow-interceptors')] : []),
      require.resolve('../workflows/interceptors'),
    ],
  };
}

/** Builds the workflow bundles ahead, so that workers start fast and every worker of a release runs the same one. */
async function build(): Promise<void> {
  for (const traced of [false, true]) {
    for (const encrypted of [false, true]) {
      const { code } = await bundleWorkflowCode({
        workflowsPath: join(__dirname, '..', 'workflows', 'index.js'),
        logger: new DefaultLogger('WARN'),
        ...bundleParts({ encrypted, traced }),
      });
      await writeFile(workflowBundlePath({ encrypted, traced }), code);
    }
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
