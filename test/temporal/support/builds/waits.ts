import { condition, defineSignal, setHandler } from '@temporalio/workflow';

/** A build whose run waits to be poked, and then by a timer. */
export async function fileRemittances(): Promise<void> {
  let pokes = 0;
  setHandler(defineSignal('poke'), () => void (pokes += 1));
  for (;;) await condition(() => pokes > 1, '1 day');
}
