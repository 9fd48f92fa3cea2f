/** A possible flow from a supplier to a consumer, up to what both have; each unit is worth `worth`. */
export interface Link {
  from: number;
  to: number;
  /** A whole number, above 0. */
  worth: number;
}

export interface Flow {
  from: number;
  to: number;
  amount: number;
}

/**
 * Distributes `supply` over `demand` along `links` so that the sum of amount × worth is as large as possible: the
 * transportation problem, solved by successive shortest paths with all paths of one length at a time (primal-dual).
 * Worths are small whole numbers, so there are at most as many rounds as the largest worth. Amounts are whole numbers
 * (minor units).
 */
export function bestFlow(supply: readonly number[], demand: readonly number[], links: readonly Link[]): Flow[] {
  const network = new Network(supply.length, demand.length);
  supply.forEach((amount, from) => network.add(0, network.supplier(from), amount, 0));
  const first = network.size;
  for (const { from, to, worth } of links)
    network.add(
      network.supplier(from),
      network.consumer(to),
      Math.min(supply[from] ?? 0, demand[to] ?? 0),
      -Math.max(1, Math.round(worth)),
    );
  demand.forEach((amount, to) => network.add(network.consumer(to), network.sink, amount, 0));
  network.run();
  return links
    .map(({ from, to }, index) => ({ from, to, amount: network.carried(first + 2 * index) }))
    .filter(({ amount }) => amount > 0);
}

/** Edges are stored in pairs: an even one and, after it, its reverse. */
class Network {
  readonly sink: number;
  private readonly heads: number[][];
  private readonly target: number[] = [];
  private readonly room: number[] = [];
  private readonly cost: number[] = [];
  private readonly potential: Float64Array;

  constructor(
    private readonly suppliers: number,
    consumers: number,
  ) {
    this.sink = suppliers + consumers + 1;
    this.heads = Array.from({ length: this.sink + 1 }, () => []);
    this.potential = new Float64Array(this.sink + 1);
  }

  get size(): number {
    return this.target.length;
  }

  supplier = (index: number): number => 1 + index;
  consumer = (index: number): number => 1 + this.suppliers + index;
  carried = (edge: number): number => this.room[edge + 1] ?? 0;

  add(from: number, to: number, room: number, cost: number): void {
    this.heads[from]?.push(this.size);
    this.target.push(to);
    this.room.push(room);
    this.cost.push(cost);
    this.heads[to]?.push(this.size);
    this.target.push(from);
    this.room.push(0);
    this.cost.push(-cost);
  }

  run(): void {
    this.startPotentials();
    // A path increases the total worth only while its cost is negative.
    while (this.shortestPaths() && this.at(this.sink) < this.at(0)) {
      for (let pushed = true; pushed;) {
        const seen = new Uint8Array(this.sink + 1);
        pushed = this.push(0, Infinity, seen) > 0;
      }
    }
  }

  private at(node: number): number {
    return this.potential[node] ?? 0;
  }

  /** The graph has three layers at first, so one pass over the edges in order finds all distances. */
  private startPotentials(): void {
    for (let node = 0; node <= this.sink; node += 1) {
      for (const edge of this.heads[node] ?? []) {
        const to = this.target[edge] ?? 0;
        if ((this.room[edge] ?? 0) > 0)
          this.potential[to] = Math.min(this.at(to), this.at(node) + (this.cost[edge] ?? 0));
      }
    }
  }

  /** Dijkstra over the reduced costs, with a bucket for each distance. False where the sink cannot be reached. */
  private shortestPaths(): boolean {
    const distance = new Float64Array(this.sink + 1).fill(Infinity);
    const buckets: number[][] = [[0]];
    distance[0] = 0;
    for (let far = 0; far < buckets.length; far += 1) {
      const bucket = buckets[far] ?? [];
      for (let node = bucket.pop(); node !== undefined; node = bucket.pop()) {
        if (distance[node] !== far) continue;
        for (const edge of this.heads[node] ?? []) {
          if ((this.room[edge] ?? 0) <= 0) continue;
          const to = this.target[edge] ?? 0;
          const next = far + (this.cost[edge] ?? 0) + this.at(node) - this.at(to);
          if (next >= (distance[to] ?? 0)) continue;
          distance[to] = next;
          while (buckets.length <= next) buckets.push([]);
          buckets[next]?.push(to);
        }
      }
    }
    const reach = distance[this.sink] ?? Infinity;
    if (reach === Infinity) return false;
    // Distances beyond the sink are not needed; cut off there, all reduced costs stay at 0 or above.
    for (let node = 0; node <= this.sink; node += 1)
      this.potential[node] = this.at(node) + Math.min(distance[node] ?? Infinity, reach);
    return true;
  }

  /** Pushes along edges of the shortest length alone. */
  private push(node: number, most: number, seen: Uint8Array): number {
    if (node === this.sink) return most;
    seen[node] = 1;
    let pushed = 0;
    for (const edge of this.heads[node] ?? []) {
      const to = this.target[edge] ?? 0;
      const room = this.room[edge] ?? 0;
      if (room <= 0 || seen[to] === 1 || (this.cost[edge] ?? 0) + this.at(node) - this.at(to) !== 0) continue;
      const went = this.push(to, Math.min(most - pushed, room), seen);
      if (went === 0) continue;
      this.room[edge] = room - went;
      this.room[edge ^ 1] = (this.room[edge ^ 1] ?? 0) + went;
      pushed += went;
      if (pushed === most) break;
    }
    // Flow may return from elsewhere in this round and use the remaining capacity behind it.
    if (pushed > 0 && node !== 0) seen[node] = 0;
    return pushed;
  }
}
