import { exitCodes } from './exit-codes.ts';

/** SIGINT or SIGTERM, as a command sees them. The first one asks; the second one ends the process by itself. */
export interface Interruption {
  readonly signal: AbortSignal;
  /** 130 or 143 once `signal` is aborted. */
  exitCode(): number | undefined;
  /** Resolves when it is asked to stop. */
  readonly requested: Promise<void>;
  /** Listens no longer. */
  release(): void;
}

export interface SignalSource {
  once(name: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  off(name: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
}

export function listenForInterruption(source: SignalSource): Interruption {
  const controller = new AbortController();
  let code: number | undefined;
  const stop = (exitCode: number) => () => {
    code = exitCode;
    release();
    controller.abort();
  };
  const onInterrupt = stop(exitCodes.interrupted);
  const onTerminate = stop(exitCodes.terminated);
  const release = (): void => {
    source.off('SIGINT', onInterrupt);
    source.off('SIGTERM', onTerminate);
  };
  source.once('SIGINT', onInterrupt);
  source.once('SIGTERM', onTerminate);
  const requested = new Promise<void>((resolve) => {
    controller.signal.addEventListener('abort', () => {
      resolve();
    });
  });
  return { signal: controller.signal, exitCode: () => code, requested, release };
}
