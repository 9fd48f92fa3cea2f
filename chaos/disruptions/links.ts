/** TCP proxies between the workers and the servers, and the network faults that they make. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startTcpProxy, type TcpProxy } from '../../test/support/tcp-proxy';
import { between, pick, type Random } from '../random';

/** One proxy for each server; only the workers connect through them. */
export interface Links {
  postgres: TcpProxy;
  temporal: TcpProxy;
  service: TcpProxy;
}

export type LinkName = keyof Links;
export const LINK_NAMES: readonly LinkName[] = ['postgres', 'temporal', 'service'];

/** @param addresses URLs of the servers; of Temporal's `tcp://host:port` */
export async function openLinks(addresses: Record<LinkName, string>): Promise<Links> {
  const [postgres, temporal, service] = await Promise.all([
    startTcpProxy(addresses.postgres),
    startTcpProxy(addresses.temporal),
    startTcpProxy(addresses.service),
  ]);
  return { postgres, temporal, service };
}

export async function closeLinks(links: Links): Promise<void> {
  await Promise.all(LINK_NAMES.map((name) => links[name].close()));
}

const DELAY_MS = [50, 800] as const;
const DELAYED_MS = [3_000, 8_000] as const;
const HALTED_MS = [2_000, 12_000] as const;

/** @returns what was done to the link */
export async function disturbLink(link: TcpProxy, random: Random): Promise<string> {
  const act = pick(random, ['delayed', 'halted', 'halted one way', 'cut'] as const);
  switch (act) {
    case 'delayed':
      link.delay(between(random, ...DELAY_MS));
      await sleep(between(random, ...DELAYED_MS));
      link.delay(0);
      break;
    case 'halted':
    case 'halted one way': {
      const direction = act === 'halted' ? undefined : pick(random, ['there', 'back'] as const);
      link.swallow(true, direction);
      await sleep(between(random, ...HALTED_MS));
      link.swallow(false, direction);
      break;
    }
    case 'cut':
      link.reset();
      break;
  }
  return `links ${act}`;
}
