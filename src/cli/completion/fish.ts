import type { CompletableCommand, CompletableOption } from './command-tree.ts';

/** One `complete` line a word, each on the condition that its command is the one on the command line. */
export function fishCompletion(commands: readonly CompletableCommand[]): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== '');
  return `# fish completion for cardauth; written by \`cardauth completion fish\`.
# Load it with: cardauth completion fish | source

# Whether the words before the cursor name exactly this command. Options are passed over; the value of one that is no
# command's name does no harm.
function __cardauth_is_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    set -l longer (string trim -- "$at $word")
    contains -- $longer ${paths.map(quoted).join(' ')}; and set at $longer
  end
  test "$at" = "$argv[1]"
end

complete -c cardauth -f
${commands.map(linesOf).join('')}`;
}

function linesOf({ path, subcommands, options, takesFile }: CompletableCommand): string {
  const at = `complete -c cardauth -n ${quoted(`__cardauth_is_at ${quoted(path)}`)}`;
  return [
    ...subcommands.map(({ name, summary }) => `${at} -a ${quoted(name)} -d ${quoted(summary)}\n`),
    ...options.map((option) => `${at} ${optionWords(option)}\n`),
    ...(takesFile ? [`${at} -F\n`] : []),
  ].join('');
}

function optionWords({ names, summary, value }: CompletableOption): string {
  const named = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  return [...named, ...valueWords(value), `-d ${quoted(summary)}`].join(' ');
}

function valueWords(value: CompletableOption['value']): readonly string[] {
  if (value === 'none') return [];
  if (value === 'file') return ['-r', '-F'];
  if (value === 'other') return ['-x'];
  return ['-x', `-a ${quoted(value.join(' '))}`];
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
