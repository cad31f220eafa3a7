/** All waiting of one simulator, so that closing it leaves no timer behind. */
export class Timers {
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  after(ms: number, act: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act().catch(this.#onError);
    }, ms);
    this.#timers.add(timer);
  }

  /** Never resolves once the timers were cleared: who waits is cut off with the simulator. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, () => {
        resolve();
        return Promise.resolve();
      });
    });
  }

  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
