import { Argument, type Command } from 'commander';
import type { Bind } from '../../context';

const HELP = `
The script completes commands, options and their fixed values.

Examples:
  $ ebrc completion bash > ~/.local/share/bash-completion/completions/ebrc
  $ ebrc completion zsh > "\${fpath[1]}/_ebrc"
  $ ebrc completion fish > ~/.config/fish/completions/ebrc.fish`;

const SHELLS = ['bash', 'zsh', 'fish'] as const;
export function addCompletionCommand(program: Command, bind: Bind): void {
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .description('Print a script with which a shell completes commands and options.')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', HELP)
    .action(
      bind((cli, [shell]) => {
        const script = scriptFor(shell as (typeof SHELLS)[number], program);
        cli.terminal.result({ shell, script }, () => script);
        return Promise.resolve();
      }),
    );
}

function scriptFor(shell: (typeof SHELLS)[number], program: Command): string {
  if (shell === 'fish') return fishScript(program);
  const script = bashScript(program);
  return shell === 'bash' ? script : `#compdef ebrc\nautoload -U +X bashcompinit && bashcompinit\n${script}`;
}

function bashScript(program: Command): string {
  const cases = program.commands.map((command) => `    ${command.name()}) words="${wordsOf(command).join(' ')}" ;;`);
  return [
    '_ebrc() {',
    '  local cur="${COMP_WORDS[COMP_CWORD]}" words',
    '  case "${COMP_WORDS[1]}" in',
    ...cases,
    '  esac',
    `  [ "$COMP_CWORD" -eq 1 ] && words="${program.commands.map((command) => command.name()).join(' ')} --help --version"`,
    '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    '}',
    'complete -o default -F _ebrc ebrc',
  ].join('\n');
}

function wordsOf(command: Command): string[] {
  const options = optionsOf(command);
  const values = [...command.registeredArguments, ...options].flatMap(({ argChoices = [] }) => argChoices);
  const names = options.map(({ long, short }) => long ?? short ?? '');
  return [
    ...new Set([...command.commands.map((subcommand) => subcommand.name()), ...names, ...values, '--json', '--help']),
  ];
}

/** The options of a command and of its subcommands. */
const optionsOf = ({ options, commands }: Command) => [
  ...options,
  ...commands.flatMap((subcommand) => subcommand.options),
];

function fishScript(program: Command): string {
  const quoted = (text: string) => `'${text.replaceAll(/['\\]/gu, '\\$&')}'`;
  const lines = program.commands.flatMap((command) => {
    const inside = `-n ${quoted(`__fish_seen_subcommand_from ${command.name()}`)}`;
    const subcommands = command.commands.map(
      (subcommand) => `${inside} -f -a ${subcommand.name()} -d ${quoted(subcommand.summary())}`,
    );
    const options = optionsOf(command).map((option) => {
      const values = option.argChoices ? ` -xa ${quoted(option.argChoices.join(' '))}` : option.required ? ' -r' : '';
      return `${inside} -l ${option.long?.slice(2) ?? ''} -d ${quoted(option.description)}${values}`;
    });
    const values = command.registeredArguments.flatMap(({ argChoices }) =>
      argChoices ? [`${inside} -f -a ${quoted(argChoices.join(' '))}`] : [],
    );
    return [
      `-n __fish_use_subcommand -a ${command.name()} -d ${quoted(command.summary())}`,
      ...subcommands,
      ...options,
      ...values,
    ];
  });
  return lines.map((line) => `complete -c ebrc ${line}`).join('\n');
}
