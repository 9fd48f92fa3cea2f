const open: (() => unknown)[] = [];

/** Closes something after the tests of a file, what was opened last first: a worker before the servers that it uses. */
export function closeAfterAll(close: () => unknown): void {
  if (open.length === 0)
    afterAll(async () => {
      for (const each of open.splice(0).reverse()) await each();
    });
  open.push(close);
}
