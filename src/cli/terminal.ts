import { maskCardNumbers } from '../domain/card-numbers.ts';

/** Where a command prints: data on stdout, everything for people on stderr. */
export interface Terminal {
  out(text: string): void;
  /** Card numbers are masked: messages may quote what was typed. */
  err(text: string): void;
  /** Shows the text in place of the one drawn before; one after the other where stdout is no terminal. */
  redraw(text: string): void;
  /** Whether `redraw` takes the text before away. */
  readonly isScreen: boolean;
  /** Shows a line that the next one replaces; nothing when stderr is no terminal. */
  progress(text: string): void;
  /** Takes the progress line away. */
  clearProgress(): void;
  /** Columns that stdout has room for; undefined when it is no terminal. */
  readonly width: number | undefined;
}

export interface TerminalStreams {
  readonly stdout: { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
}

const DEFAULT_WIDTH = 80;
const START_OF_EMPTIED_LINE = '\r\x1b[K';
const EMPTIED_SCREEN = '\x1b[H\x1b[2J\x1b[3J';

export function createTerminal({ stdout, stderr, env }: TerminalStreams): Terminal {
  const mayAnimate = env['TERM'] !== 'dumb' && (env['NO_COLOR'] ?? '') === '';
  const isAnimated = stderr.isTTY === true && mayAnimate;
  const isScreen = stdout.isTTY === true && mayAnimate;
  let hasProgress = false;
  const clearProgress = (): void => {
    if (hasProgress) stderr.write(START_OF_EMPTIED_LINE);
    hasProgress = false;
  };
  return {
    out: (text) => stdout.write(text),
    err: (text) => {
      clearProgress();
      stderr.write(maskCardNumbers(text));
    },
    isScreen,
    redraw: (text) => stdout.write(isScreen ? EMPTIED_SCREEN + text : text),
    progress: (text) => {
      if (!isAnimated) return;
      stderr.write(START_OF_EMPTIED_LINE + text);
      hasProgress = true;
    },
    clearProgress,
    width: stdout.isTTY === true ? (stdout.columns ?? DEFAULT_WIDTH) : undefined,
  };
}
