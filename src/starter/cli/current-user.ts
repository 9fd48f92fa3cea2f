import { userInfo } from 'node:os';

/** Who gives a command, where `--by` does not say: the user of the operating system. */
export function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no name.
    return 'unknown';
  }
}
