import { Argument } from 'commander';
import type { AddCommand } from '../context.ts';
import type { CompletableCommand } from '../completion/command-tree.ts';

type Shell = 'bash' | 'zsh' | 'fish';

export const addCompletionCommand: AddCommand = (program, context) => {
  program
    .command('completion')
    .summary('print a completion script for your shell')
    .description('Prints a script that lets the shell complete the commands and options of this version.')
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  source <(cardauth completion bash)            in ~/.bashrc\n' +
        '  source <(cardauth completion zsh)             in ~/.zshrc, after compinit\n' +
        '  cardauth completion fish | source             in ~/.config/fish/config.fish\n',
    )
    .action(async (shell: Shell) => {
      const { completableCommands } = await import('../completion/command-tree.ts');
      const script = await scriptWriter(shell);
      context.terminal.out(script(completableCommands(program)));
    });
};

async function scriptWriter(shell: Shell): Promise<(commands: readonly CompletableCommand[]) => string> {
  switch (shell) {
    case 'bash':
      return (await import('../completion/bash.ts')).bashCompletion;
    case 'zsh':
      return (await import('../completion/zsh.ts')).zshCompletion;
    case 'fish':
      return (await import('../completion/fish.ts')).fishCompletion;
  }
}
