/** Runs a bench and ends its process, whatever the servers that it embedded have left open. */
export function runBench(main: () => Promise<void>): void {
  void main().then(
    () => process.exit(),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
}
