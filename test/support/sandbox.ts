import type { SandboxOptions } from '../../sandbox/options';
import { createSandbox, type Sandbox } from '../../sandbox/sandbox';
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

export type PortalAccount = Awaited<ReturnType<Sandbox['state']>>['accounts'][number];

/** A portal account of its own: a copy of the sandbox's first one, without what happened to that. */
export async function addAccount(
  sandbox: Sandbox,
  changes: (pattern: PortalAccount) => Partial<PortalAccount>,
): Promise<PortalAccount> {
  const { accounts } = await sandbox.state();
  const [pattern] = accounts;
  if (!pattern) throw new Error('the sandbox has no account to copy');
  const fresh = { certificates: [], logins: 0, failedLogins: 0, failedLoginsInARow: 0 };
  const account = { ...pattern, ...fresh, ...changes(pattern) };
  accounts.push(account);
  return account;
}
