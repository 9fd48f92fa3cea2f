/** Groups items by a key, in order of first appearance; items without a key are left out. */
export function groupBy<T>(items: Iterable<T>, keyOf: (item: T) => string | undefined): Map<string, [T, ...T[]]> {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** The message about an input for the other mode. @param what its start, e.g. `The report is for` */
export function otherModeText(what: string, asked: string, own: string): string {
  return `${what} ${asked} mode, but this worker's key works in ${own} mode.`;
}

/** Whether a value is an object and not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Runs the work at the first call; every caller gets the same promise. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => (running ??= work());
}

/** Processes a list in order, at most `atOnce` items in parallel; after a failure no other is started. @throws it */
export async function forEachLimited<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const lane = async () => {
    try {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    } finally {
      queue.length = 0;
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
}

/** Makes one call at a time for each key. Calls during one share the next, so that none gets an older state. */
export function inTurn<T>(look: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const turns = new Map<string, { now: Promise<unknown>; next?: Promise<T> }>();

  function begin(key: string): Promise<T> {
    const now = look(key);
    const turn: { now: Promise<unknown>; next?: Promise<T> } = { now };
    turns.set(key, turn);
    const over = () => void (turn.next ?? turns.delete(key));
    now.then(over, over);
    return now;
  }

  return (key) => {
    const turn = turns.get(key);
    if (!turn) return begin(key);
    const again = () => begin(key);
    return (turn.next ??= turn.now.then(again, again));
  };
}
