import { userInfo } from 'node:os';

/** Who runs a command, if `--by` is not given: the user of the operating system. */
export function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no name.
    return 'unknown';
  }
}
