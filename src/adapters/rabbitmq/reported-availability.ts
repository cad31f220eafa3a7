import type { Availability } from '../../ports/availability.ts';

/** An Availability whose reason is computed; `review` tells the listeners when it became another one. */
export class ReportedAvailability implements Availability {
  readonly name: string;
  readonly #because: () => string | undefined;
  readonly #listeners = new Set<() => void>();
  #lastReported: string | undefined;

  constructor(name: string, because: () => string | undefined) {
    this.name = name;
    this.#because = because;
    this.#lastReported = because();
  }

  unavailableBecause(): string | undefined {
    return this.#because();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  review(): void {
    const because = this.#because();
    if (because === this.#lastReported) return;
    this.#lastReported = because;
    for (const listener of this.#listeners) listener();
  }
}
