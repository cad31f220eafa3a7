import { pino, stdTimeFunctions } from 'pino';
import type { Log, LogFields } from '../ports/log.ts';
import { cut, loggable } from './log-fields.ts';
import { logText } from './log-text.ts';
import { createScrubber, type Scrubber } from './scrubber.ts';

/**
 * The log: pino, between two guards. Before it, fields pass an allow-list (log-fields.ts); after it, every finished
 * line passes the scrubber, whatever it is made of. The second guard is there for what the first cannot know: text
 * in messages and ids, and card numbers in fields that were thought harmless.
 */

export interface LogOptions {
  readonly level: Level | 'silent';
  readonly format: 'json' | 'text';
  /** Texts that must never be printed: `secretTexts(config)`. */
  readonly secrets?: readonly string[];
  /** Takes finished lines; stdout without one. */
  readonly destination?: LogDestination;
}

export interface LogDestination {
  write(line: string): unknown;
}

type Level = keyof Log;

const MAX_MESSAGE_LENGTH = 2048;

export function createLog(options: LogOptions): Log {
  const scrub = createScrubber(options.secrets ?? []);
  const destination = options.destination ?? standardOutput();
  const logger = pino(
    {
      level: options.level,
      base: { pid: process.pid },
      // Not milliseconds: thirteen digits, of which one time in ten would look like a card number.
      timestamp: stdTimeFunctions.isoTime,
      // pino's own would put together again what `loggable` took apart.
      serializers: { err: (err: unknown) => err },
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => destination.write(finished(line, options.format, scrub)) },
  );
  const at = (level: Level) => (fields: LogFields, message: string) => {
    if (logger.isLevelEnabled(level)) logger[level](loggable(fields), cut(message, MAX_MESSAGE_LENGTH));
  };
  return { trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function finished(line: string, format: LogOptions['format'], scrub: Scrubber): string {
  const scrubbed = scrub(line);
  return format === 'json' ? scrubbed : logText(scrubbed);
}

const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/**
 * Lines are written in the background, at once and in order: a reader that stops reading (a paused terminal, a full
 * pipe) must not stop the event loop, with its deadlines. Beyond 16 MiB of waiting lines new ones are dropped and
 * counted. On a regular exit, `process.exit` included, pino writes what waits; a SIGKILL loses it. A closed or
 * broken stdout ends the log and not the worker.
 */
function standardOutput(): LogDestination {
  const output = pino.destination({ fd: 1, sync: false, maxLength: MAX_WAITING_BYTES });
  let dropped = 0;
  output.on('drop', () => dropped++);
  output.on('drain', () => {
    if (dropped === 0) return;
    const count = dropped;
    dropped = 0;
    output.write(
      `{"level":"warn","time":"${new Date().toISOString()}","dropped":${count},"msg":"log lines dropped: stdout is read too slowly"}\n`,
    );
  });
  output.on('error', () => {
    // There is nowhere left to say it.
  });
  return output;
}
