import type { ServerResponse } from 'node:http';

/** Requests that wait for `POST /__release`. */
export class Holds {
  readonly #held = new Set<(end: 'released' | 'gone') => void>();

  /** Resolves with `gone` when the client of that response hangs up first; without one, only a release ends it. */
  hold(response?: ServerResponse): Promise<'released' | 'gone'> {
    if (response?.destroyed === true) return Promise.resolve('gone');
    return new Promise((resolve) => {
      const finish = (end: 'released' | 'gone'): void => {
        this.#held.delete(finish);
        response?.off('close', gone);
        resolve(end);
      };
      const gone = (): void => {
        finish('gone');
      };
      this.#held.add(finish);
      response?.once('close', gone);
    });
  }

  /** Returns how many were let go. */
  release(): number {
    const held = [...this.#held];
    for (const finish of held) finish('released');
    return held.length;
  }
}
