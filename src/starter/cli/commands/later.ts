import type { Command } from 'commander';
import { UsageError } from '../../errors';
import type { Bind } from '../bind';

/** Commands whose names are fixed and whose work this version does not do; they say so instead of doing nothing. */
const LATER: readonly { name: string; about: string; instead: string }[] = [
  {
    name: 'draft',
    about: 'Draft a filing from documents.',
    instead: 'Fill in the workbook that `ebrc template` makes.',
  },
];

export function addLaterCommands(program: Command, bind: Bind): void {
  for (const { name, about, instead } of LATER) {
    program
      .command(name)
      .description(`${about} Not available in this version.`)
      .argument('[arguments...]')
      .allowUnknownOption()
      .action(
        bind(() =>
          Promise.reject(
            new UsageError(`\`ebrc ${name}\` is not available in this version. ${instead}`, 'not_available'),
          ),
        ),
      );
  }
}
