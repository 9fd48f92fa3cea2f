/** One task that was requested. */
export interface GatePass {
  state: 'requested' | 'started' | 'through' | 'left';
}

/**
 * Keeps the tasks of one rate class on the server until this process can use them: it polls for the next one only when
 * the last one has its slot, so at most one task waits here and the server orders all others by fairness.
 *
 * Two sides use it. The slot supplier calls `enter` before it polls, and `started` and `left` for each task. The budget
 * reports when a call begins to wait and when it stops waiting. The gate is shut while a call waits, and while a task
 * has been polled for that has not begun to wait. A task that ends without a call opens it again. An activity that
 * makes several calls shuts the gate anew with each of them.
 * @param maxTasks of the class in this process, waiting or running: slow calls overlap up to it
 */
export function createBudgetGate({ maxTasks }: { maxTasks: number }) {
  const passes = new Set<GatePass>();
  /** Admits the polls that wait, in their order. */
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
    // The SDK may give up on a reservation that has been answered but not taken over yet, and then never releases it.
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

    /** The task is over, or none arrived. Calling it twice is harmless. */
    left: leave,

    /** A call of this class begins to wait for its slot. */
    startsWaiting(): void {
      waitingCalls += 1;
      // From here on the waiting call keeps the gate shut, instead of its task.
      for (const pass of passes) if (pass.state === 'started') pass.state = 'through';
    },

    /** The call has its slot, or has failed. */
    stopsWaiting(): void {
      waitingCalls -= 1;
      admitNext();
    },

    /** The process is shutting down: no further task is polled for. */
    shut(): void {
      closed = true;
    },
  };
}

export type BudgetGate = ReturnType<typeof createBudgetGate>;

/** The signal's own reason: the SDK logs an error for any other rejection, and retries a second later. */
function reasonOf(signal: AbortSignal): Error {
  return signal.reason as Error;
}
