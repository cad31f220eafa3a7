import type { CompletableCommand, CompletableOption } from './command-tree.ts';
import { quoted } from './shell-words.ts';

/** As the bash one, with a description beside each word. */
export function zshCompletion(commands: readonly CompletableCommand[]): string {
  return `#compdef cardauth
# zsh completion for cardauth; written by \`cardauth completion zsh\`.
# Load it with: source <(cardauth completion zsh), or keep it as _cardauth in a folder of $fpath.

_cardauth_subcommands() {
  case "$1" in
${cases(commands, ({ subcommands }) => subcommands.map(({ name, summary }) => described([name], summary)))}  esac
}

_cardauth_options() {
  case "$1" in
${cases(commands, ({ options }) => options.map(({ names, summary }) => described(names.slice(-1), summary)))}  esac
}

_cardauth_values() {
  case "$1 $2" in
${valueCases(commands)}  esac
}

_cardauth_takes_file() {
  case "$1" in
${filePaths(commands)}    *) return 1 ;;
  esac
}

_cardauth() {
  local command_path='' word pending='' i
  local -a reply offered
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ -n $pending ]]; then
      pending=''
    elif [[ $word == -* ]]; then
      reply=()
      _cardauth_values "$command_path" "$word"
      pending=$reply
    else
      reply=()
      _cardauth_subcommands "$command_path"
      if [[ -n \${reply[(r)\${word}:*]} ]]; then command_path=\${command_path:+$command_path }$word; fi
    fi
  done
  if [[ $pending == @file ]]; then
    _files
  elif [[ $pending == @other ]]; then
    return 1
  elif [[ -n $pending ]]; then
    compadd -- \${=pending}
  elif [[ $words[CURRENT] == -* ]]; then
    reply=()
    _cardauth_options "$command_path"
    offered=("\${reply[@]}")
    _describe option offered
  else
    reply=()
    _cardauth_subcommands "$command_path"
    offered=("\${reply[@]}")
    if (( \${#offered} )); then
      _describe command offered
    elif _cardauth_takes_file "$command_path"; then
      _files
    fi
  fi
}

if [[ \${funcstack[1]} == _cardauth ]]; then _cardauth "$@"; else compdef _cardauth cardauth; fi
`;
}

/** The part of _describe before the colon is the word. */
function described(names: readonly string[], summary: string): string {
  return names.map((name) => quoted(`${name}:${summary}`)).join(' ');
}

function cases(
  commands: readonly CompletableCommand[],
  words: (command: CompletableCommand) => readonly string[],
): string {
  return commands
    .map((command) => [command.path, words(command)] as const)
    .filter(([, texts]) => texts.length > 0)
    .map(([path, texts]) => `    ${quoted(path)}) reply=(${texts.join(' ')}) ;;\n`)
    .join('');
}

function filePaths(commands: readonly CompletableCommand[]): string {
  return commands
    .filter(({ takesFile }) => takesFile)
    .map(({ path }) => `    ${quoted(path)}) return 0 ;;\n`)
    .join('');
}

function valueCases(commands: readonly CompletableCommand[]): string {
  return commands.flatMap(({ path, options }) => options.map((option) => valueCase(path, option))).join('');
}

function valueCase(path: string, { names, value }: CompletableOption): string {
  if (value === 'none') return '';
  const words = typeof value === 'string' ? `@${value}` : value.join(' ');
  return `    ${names.map((name) => quoted(`${path} ${name}`)).join('|')}) reply=(${quoted(words)}) ;;\n`;
}
