import type { VariableName } from './variables.ts';

/** One thing that is wrong with the configuration. No text of it quotes a value that was given. */
export interface Problem {
  /** The variables that take part in it; the first one is what to change. Empty when an unknown name was given. */
  readonly variables: readonly VariableName[];
  /** Name as given, and what is wrong: `CARDAUTH_LEASE_MS is not a whole number`. */
  readonly what: string;
  readonly rule: string;
  /** A line that would be accepted. */
  readonly example: string;
}

export function problemsText(problems: readonly Problem[]): string {
  return problems
    .map(({ what, rule, example }) => `${what}\n    rule:    ${rule}\n    example: ${example}\n`)
    .join('');
}
