import type { Argument, Command, Option } from 'commander';

/** What a shell can complete, command by command; the program itself has the empty path. */
export interface CompletableCommand {
  /** `orders list` */
  readonly path: string;
  readonly subcommands: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly CompletableOption[];
  /** Its first argument is a file. */
  readonly takesFile: boolean;
}

export interface CompletableOption {
  /** `-V`, `--version` */
  readonly names: readonly string[];
  readonly summary: string;
  readonly value: 'none' | 'file' | 'other' | readonly string[];
}

/** Read from the commands themselves, so it knows every one of them. */
export function completableCommands(command: Command, path: readonly string[] = []): CompletableCommand[] {
  const below = command.commands.flatMap((child) => completableCommands(child, [...path, child.name()]));
  const help: CompletableOption = { names: ['-h', '--help'], summary: 'show how it is used', value: 'none' };
  return [
    {
      path: path.join(' '),
      subcommands: command.commands.map((child) => ({ name: child.name(), summary: summaryOf(child) })),
      options: [...command.options.filter(({ hidden }) => !hidden).map(completableOption), help],
      takesFile: command.registeredArguments.some(isFile),
    },
    ...below,
  ];
}

function summaryOf(command: Command): string {
  const summary = command.summary();
  return summary === '' ? firstSentence(command.description()) : summary;
}

function completableOption(option: Option): CompletableOption {
  const names = [option.short, option.long].filter((name) => name !== undefined);
  return { names, summary: firstSentence(option.description), value: valueOf(option) };
}

function valueOf({ required, optional, argChoices, flags }: Option): CompletableOption['value'] {
  if (!required && !optional) return 'none';
  if (argChoices !== undefined) return argChoices;
  return /<[^>]*file/.test(flags) ? 'file' : 'other';
}

function isFile(argument: Argument): boolean {
  return argument.name().includes('file');
}

/** Up to where a menu of a shell has room for it. */
function firstSentence(text: string): string {
  const [first = text] = text.replaceAll(/ \([^)]*\)/g, '').split(/[;:] |, e\.g\.|\.(?: [A-Z]|$)/);
  return first;
}
