import type { OperatorCommand } from '../domain/audit.ts';

/** The switch by which operators stop the intake of all workers; what is in flight completes, replays wait. */
export interface IntakeControl {
  state(): Promise<IntakeState>;
  /** Both are kept in the audit trail, and both reject with a RetriableError when the database cannot be used. */
  pause(command: OperatorCommand): Promise<IntakeChange>;
  resume(command: OperatorCommand): Promise<IntakeChange>;
}

export interface IntakeState {
  readonly isPaused: boolean;
  /** Who paused or resumed it last, when and why; undefined: nobody ever did. */
  readonly last: { readonly actor: string; readonly reason: string; readonly atMs: number } | undefined;
}

export interface IntakeChange {
  /** `unchanged`: it was so already, by another command; `repeated`: by this very command. */
  readonly outcome: 'changed' | 'unchanged' | 'repeated';
  /** As it is now. */
  readonly state: IntakeState;
}
