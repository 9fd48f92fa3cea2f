import type { SandboxOptions } from '../../src/sandbox/options';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox';
import { closeAfterAll } from './closing';

/** One sandbox for a whole test file. */
export function useSandbox(options: SandboxOptions = {}): Sandbox {
  const sandbox = {} as Sandbox;
  beforeAll(async () => {
    Object.assign(sandbox, await createSandbox(options));
  });
  closeAfterAll(() => sandbox.close?.());
  return sandbox;
}
