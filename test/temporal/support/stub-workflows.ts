/** A `fileRemittances` that shows a state and ends with it when it is poked: what Temporal knows of a filing. */
import { condition, setHandler, upsertSearchAttributes, defineSignal } from '@temporalio/workflow';

export async function fileRemittances(input: { end?: string; result?: unknown }): Promise<unknown> {
  let poked = false;
  setHandler(defineSignal('poke'), () => void (poked = true));
  await condition(() => poked);
  const { end = 'certified' } = input;
  upsertSearchAttributes([{ key: { name: 'EbrcState', type: 'KEYWORD' }, value: end }]);
  return input.result ?? { state: end };
}
