import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { Decimal } from 'decimal.js';
import type { PortalIrm, World } from './world';

/**
 * Keeps the state of a sandbox in a file. Written whole and synchronously: it is small, and the last state before the
 * process ends is the one that counts.
 */
export function saveWorld(world: World, file: string): void {
  writeFileSync(`${file}.new`, serialize(withBalances(world, ({ available }) => available.toFixed())), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Puts the state of the file, if there is one, into a world. @throws Error if it is not the state of a sandbox */
export function loadWorld(world: World, file: string): void {
  if (!existsSync(file)) return;
  const stored = deserialize(readFileSync(file)) as World;
  Object.assign(
    world,
    withBalances(stored, ({ available }) => new Decimal(available)),
  );
}

/** A copy in which each balance is what `balance` makes of it; filings and rows remain the same objects throughout. */
function withBalances<T>(world: World, balance: (irm: PortalIrm) => T) {
  const converted = (irm: PortalIrm) => ({ ...irm, available: balance(irm) });
  return {
    ...world,
    accounts: world.accounts.map((account) => ({ ...account, irms: account.irms.map(converted) })),
    customers: new Map(
      [...world.customers].map(([id, customer]) => [
        id,
        { ...customer, irms: customer.irms.map((saved) => ({ ...saved, record: converted(saved.record) })) },
      ]),
    ),
  };
}
