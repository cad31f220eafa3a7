import type { Command } from 'commander';
import type { Interruption } from './interruption.ts';
import type { Parts } from './parts.ts';
import type { Terminal } from './terminal.ts';

/** Everything a command touches outside itself. */
export interface CommandContext {
  readonly parts: Parts;
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Text of a file; throws as node:fs does. */
  readonly readFile: (path: string) => string;
  /** Bytes of a file, or of stdin for `-`; ends early when `signal` is aborted. */
  readonly openInput: (path: string, signal: AbortSignal) => AsyncIterable<Uint8Array>;
  readonly newMessageId: () => string;
  /** Wall clock, milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** Who runs the command, as the system knows it: `anna@ops-1`. */
  readonly userAtHost: () => string;
  readonly interruption: () => Interruption;
  /** Sets what the process exits with when the command is done. */
  readonly exitWith: (exitCode: number) => void;
}

/** Adds one command (with its subcommands) to the program. */
export type AddCommand = (program: Command, context: CommandContext) => void;
