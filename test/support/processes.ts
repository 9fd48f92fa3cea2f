/** Whether a process with this id is running. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits until a condition holds; throws after `withinMs`. Looks less often in time: a query may be a whole replay. */
export async function eventually(condition: () => boolean | Promise<boolean>, withinMs = 60_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (let pauseMs = 25; !(await condition()); pauseMs = Math.min(pauseMs * 1.5, 400)) {
    if (Date.now() > deadline)
      throw new Error(`it did not come true within ${withinMs / 1000} s: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
