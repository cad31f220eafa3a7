import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const cardauth = fileURLToPath(new URL('../../../bin/cardauth.mjs', import.meta.url));

/** One of our own commands as a process of its own; its output goes to a file. */
export interface DemoProcess {
  /** Resolves to the first match of `pattern` in its output; rejects when it ends before. */
  says(pattern: RegExp): Promise<RegExpMatchArray>;
  /** Resolves when it is gone, with its exit code (null after a signal). */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

export function startProcess(
  command: readonly string[],
  options: { readonly env: NodeJS.ProcessEnv; readonly outputFile: string },
): DemoProcess {
  const { env, outputFile } = options;
  const child = spawn(process.execPath, [cardauth, ...command], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = createWriteStream(outputFile, { flags: 'a' });
  const listeners = new Set<(line: string) => void>();
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      output.write(`${line}\n`);
      for (const listener of listeners) listener(line);
    });
  }
  const exited = once(child, 'close').then(() => {
    output.end();
    return child.exitCode;
  });
  return {
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (line: string): void => {
          const match = pattern.exec(line);
          if (match === null) return;
          listeners.delete(look);
          resolve(match);
        };
        listeners.add(look);
        void exited.then((code) => {
          const how = code === null ? 'was killed' : `ended with ${code}`;
          reject(new Error(`cardauth ${command.join(' ')} ${how} too early; its output is in ${outputFile}`));
        });
      }),
    end(signal) {
      child.kill(signal);
      return exited;
    },
  };
}
