import { seededRandom as numbersOf } from '../sandbox/faults/faults';

/**
 * A reproducible source of numbers from 0 (inclusive) to 1: the same seed gives the same plan and the same order of
 * disruptions. Sources of different names are independent of each other.
 */
export type Random = () => number;

export function seededRandom(seed: number, name = ''): Random {
  return numbersOf([...name].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 0x01000193), seed));
}

/** A whole number from `from` to `to`, both included. */
export function between(random: Random, from: number, to: number): number {
  return from + Math.floor(random() * (to - from + 1));
}

export function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('There is nothing to pick from.');
  return item;
}
