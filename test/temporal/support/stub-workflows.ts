/** A `fileRemittances` that shows a state and ends with it when it is poked: what Temporal knows of a filing. */
import { condition, setHandler, upsertSearchAttributes, defineSignal } from '@temporalio/workflow';

export interface StubEnd {
  end?: string;
  result?: unknown;
}

export async function fileRemittances(_input: unknown): Promise<unknown> {
  let ended: StubEnd | undefined;
  setHandler(defineSignal<[StubEnd?]>('poke'), (how = {}) => void (ended = how));
  await condition(() => ended !== undefined);
  const { end = 'certified', result } = ended ?? {};
  upsertSearchAttributes([{ key: { name: 'EbrcState', type: 'KEYWORD' }, value: end }]);
  return result ?? { state: end };
}
