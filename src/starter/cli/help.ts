import { Help, type Command, type Option } from 'commander';
import { printableLines } from '../../domain/text';

/** Longer lines are hard to read, on whatever terminal. */
const WIDEST = 100;

/** What all commands' help looks like. */
export const HELP_STYLE = {
  showGlobalOptions: true,
  helpWidth: WIDEST,
  optionDescription(option: Option): string {
    const text = Help.prototype.optionDescription.call(this, option);
    return option.mandatory ? `${text} (required)` : text;
  },
};

/** A help text without too wide paragraphs; lists and examples, which are indented, stay as they are. */
export function wrappedHelp(text: string): string {
  return printableLines(text).replace(/(?:^\S.*(?:\n|$))+/gmu, (paragraph) => {
    const lines = paragraph.trimEnd().split('\n');
    if (lines.every((line) => line.length <= WIDEST)) return paragraph;
    return `${new Help().boxWrap(lines.join(' '), WIDEST)}${paragraph.endsWith('\n') ? '\n' : ''}`;
  });
}

/** The command that a command line means, as far as it names one, such as `ebrc findings acknowledge`. */
export function meantCommand(program: Command, argv: readonly string[]): string {
  let command = program;
  const names = [program.name()];
  for (const word of argv) {
    const next = command.commands.find((each) => each.name() === word);
    if (!next) continue;
    command = next;
    names.push(word);
  }
  return names.join(' ');
}
