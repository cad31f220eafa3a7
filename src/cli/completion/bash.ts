import type { CompletableCommand } from './command-tree.ts';
import { quoted } from './shell-words.ts';

/**
 * The words before the cursor are walked to find the command; then that command's options, the values of the option
 * before, its subcommands, or files are offered.
 */
export function bashCompletion(commands: readonly CompletableCommand[]): string {
  return `# bash completion for cardauth; written by \`cardauth completion bash\`.
# Load it with: source <(cardauth completion bash)

_cardauth_subcommands() {
  case "$1" in
${cases(commands, ({ subcommands }) => subcommands.map(({ name }) => name).join(' '))}  esac
}

_cardauth_options() {
  case "$1" in
${cases(commands, ({ options }) => options.flatMap(({ names }) => names).join(' '))}  esac
}

# Says what the value of an option may be: words, or @file, or @other; nothing for an option without one.
_cardauth_values() {
  case "$1 $2" in
${valueCases(commands)}  esac
}

_cardauth_takes_file() {
  case "$1" in
${cases(commands, ({ takesFile }) => (takesFile ? 'yes' : ''))}  esac
}

_cardauth() {
  local current=\${COMP_WORDS[COMP_CWORD]} path='' word values='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $values ]]; then
      values=''
    elif [[ $word == -* ]]; then
      values=$(_cardauth_values "$path" "$word")
    elif [[ " $(_cardauth_subcommands "$path") " == *" $word "* ]]; then
      path=\${path:+$path }$word
    fi
  done
  if [[ $values == @file ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
  elif [[ $values == @other ]]; then
    return
  elif [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$(_cardauth_options "$path")" -- "$current"))
  elif [[ -n $(_cardauth_subcommands "$path") ]]; then
    COMPREPLY=($(compgen -W "$(_cardauth_subcommands "$path")" -- "$current"))
  elif [[ -n $(_cardauth_takes_file "$path") ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}

complete -o filenames -F _cardauth cardauth
`;
}

function cases(
  commands: readonly CompletableCommand[],
  words: (command: CompletableCommand) => string,
): string {
  return commands
    .map((command) => [command.path, words(command)] as const)
    .filter(([, text]) => text !== '')
    .map(([path, text]) => `    ${quoted(path)}) echo ${quoted(text)} ;;\n`)
    .join('');
}

function valueCases(commands: readonly CompletableCommand[]): string {
  return commands
    .flatMap(({ path, options }) =>
      options.flatMap(({ names, value }) => {
        if (value === 'none') return [];
        const words = typeof value === 'string' ? `@${value}` : value.join(' ');
        return [
          `    ${names.map((name) => quoted(`${path} ${name}`)).join('|')}) echo ${quoted(words)} ;;\n`,
        ];
      }),
    )
    .join('');
}
