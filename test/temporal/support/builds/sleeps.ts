import { defineSignal, setHandler, upsertSearchAttributes, sleep } from '@temporalio/workflow';

/** Another build: it takes a step before it waits, so that it cannot replay what `waits` recorded. */
export async function fileRemittances(): Promise<void> {
  setHandler(defineSignal('poke'), () => undefined);
  upsertSearchAttributes([{ key: { name: 'EbrcState', type: 'KEYWORD' }, value: 'processing' }]);
  for (;;) await sleep('1 day');
}
