import type { Availability } from '../../src/ports/availability.ts';
import type { AuditTable } from './audit-table.ts';

/** The operators' switch for the intake of all workers. They hear of it at once: how is not simulated. */
export class IntakeSwitch {
  #isPaused = false;
  #pausedSinceMs: number | undefined;
  readonly #audit: AuditTable;
  readonly #nowMs: () => number;
  readonly #listeners = new Set<() => void>();

  constructor(audit: AuditTable, nowMs: () => number) {
    this.#audit = audit;
    this.#nowMs = nowMs;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Milliseconds; 0 while it is not. */
  get pausedForMs(): number {
    return this.#pausedSinceMs === undefined ? 0 : this.#nowMs() - this.#pausedSinceMs;
  }

  pause(commandId: string): void {
    this.#turn(true, { commandId, action: 'pause' });
  }

  resume(commandId: string): void {
    this.#turn(false, { commandId, action: 'resume' });
  }

  /** As a worker has it; `hears`: runs in its process. */
  linkFor(hears: (listener: () => void) => void): Availability & { start(): void; close(): Promise<void> } {
    return {
      name: 'operator',
      unavailableBecause: () => (this.#isPaused ? 'paused by an operator' : undefined),
      onChange: (listener) => {
        const told = (): void => {
          hears(listener);
        };
        this.#listeners.add(told);
        return () => {
          this.#listeners.delete(told);
        };
      },
      start: () => undefined,
      close: () => Promise.resolve(),
    };
  }

  #turn(
    isPaused: boolean,
    { action, commandId }: { readonly action: string; readonly commandId: string },
  ): void {
    if (this.#isPaused === isPaused) return;
    const states = { before: { isPaused: this.#isPaused }, after: { isPaused } };
    const command = { commandId, actor: 'operator', action, reason: 'simulated' };
    this.#audit.add({ ...command, subject: 'intake', ...states }, this.#nowMs());
    this.#isPaused = isPaused;
    this.#pausedSinceMs = isPaused ? this.#nowMs() : undefined;
    for (const listener of this.#listeners) listener();
  }
}
