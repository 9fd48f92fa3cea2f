/** A poll for one task, and the task. */
export interface GatePass {
  state: 'requested' | 'started' | 'through' | 'left';
}

/**
 * Leaves the tasks of one rate class on the server until this process can use them. It polls for the next task only
 * when the last one got its slot, so at most one task waits here and the server orders all others by fairness.
 *
 * The slot supplier calls `enter` before it polls, and `started` and `left` for each task. The budget reports when a
 * call starts and stops waiting. The gate is shut while a call waits, and from a poll until its task's call waits or
 * the task ends. Each call of an activity shuts it again.
 * @param maxTasks the most tasks of the class in this process, waiting or running
 */
export function createBudgetGate({ maxTasks }: { maxTasks: number }) {
  const passes = new Set<GatePass>();
  /** Waiting polls, in their order; each function admits one. */
  const queue: (() => void)[] = [];
  let waitingCalls = 0;
  let closed = false;

  function isOpen(): boolean {
    if (closed || waitingCalls > 0 || passes.size >= maxTasks) return false;
    return [...passes].every((pass) => pass.state === 'through');
  }

  function admitNext(): void {
    if (queue.length > 0 && isOpen()) queue.shift()?.();
  }

  function leave(pass: GatePass): void {
    pass.state = 'left';
    if (passes.delete(pass)) admitNext();
  }

  function newPass(signal: AbortSignal): GatePass {
    const pass: GatePass = { state: 'requested' };
    passes.add(pass);
    // The SDK may abort a reservation after it was granted but before it was used, and then never releases it.
    signal.addEventListener('abort', () => pass.state === 'requested' && leave(pass), { once: true });
    return pass;
  }

  return {
    /** Resolves with a pass when the next task may be polled for; rejects with the signal's reason. */
    enter(signal: AbortSignal): Promise<GatePass> {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(reasonOf(signal));
        if (queue.length === 0 && isOpen()) return resolve(newPass(signal));
        const giveUp = () => {
          queue.splice(queue.indexOf(admit), 1);
          reject(reasonOf(signal));
        };
        const admit = () => {
          signal.removeEventListener('abort', giveUp);
          resolve(newPass(signal));
        };
        signal.addEventListener('abort', giveUp, { once: true });
        queue.push(admit);
      });
    },

    /** A task arrived for this pass. */
    started(pass: GatePass): void {
      if (pass.state === 'requested') pass.state = 'started';
    },

    /** The task ended, or none arrived. Idempotent. */
    left: leave,

    /** A call of this class starts to wait for its slot. */
    startsWaiting(): void {
      waitingCalls += 1;
      // From now on the waiting call keeps the gate shut instead of its task.
      for (const pass of passes) if (pass.state === 'started') pass.state = 'through';
    },

    /** The call got its slot, or failed. */
    stopsWaiting(): void {
      waitingCalls -= 1;
      admitNext();
    },

    /** Stops polling for further tasks, for shutdown. */
    shut(): void {
      closed = true;
    },
  };
}

export type BudgetGate = ReturnType<typeof createBudgetGate>;

/** The signal's own reason, because the SDK logs any other rejection as an error and retries a second later. */
function reasonOf(signal: AbortSignal): Error {
  return signal.reason as Error;
}
