/** The switch of the intake: one row, changed together with its entry in the audit trail. Workers hear of it at once. */
import { operatorCommand, type OperatorCommand } from '../../domain/audit.ts';
import type { IntakeChange, IntakeControl, IntakeState } from '../../ports/intake-control.ts';
import { audited } from './audit-trail.ts';
import type { Database } from './connection.ts';
import { asMs } from './rows.ts';

export const READ_INTAKE = {
  name: 'read intake control',
  text: `select is_paused, actor, reason, ${asMs('changed_at')} from cardauth.intake_control`,
};

export interface IntakeRow {
  readonly is_paused: boolean;
  readonly actor: string | null;
  readonly reason: string | null;
  readonly changed_at_ms: number | null;
}

export function intakeState(row: IntakeRow | undefined): IntakeState {
  if (row === undefined)
    throw new Error('cardauth.intake_control has no row: insert one with its default values');
  const { actor, changed_at_ms: changedAtMs, is_paused: isPaused, reason } = row;
  if (actor === null || reason === null || changedAtMs === null) return { isPaused, last: undefined };
  return { isPaused, last: { actor, reason, atMs: Math.round(changedAtMs) } };
}

export function createIntakeControl(database: Database): IntakeControl {
  return {
    state: () => read(database),
    pause: (command) => change(database, true, command),
    resume: (command) => change(database, false, command),
  };
}

const LOCK = { name: 'lock intake control', text: `${READ_INTAKE.text} for update` };

const CHANGE = {
  name: 'change intake control',
  text: `
    update cardauth.intake_control set is_paused = $1, actor = $2, reason = $3, changed_at = clock_timestamp()
    returning is_paused, actor, reason, ${asMs('changed_at')}`,
};

async function change(
  database: Database,
  isPaused: boolean,
  command: OperatorCommand,
): Promise<IntakeChange> {
  const { actor, reason } = operatorCommand(command);
  const subject = 'intake';
  const done = await audited<IntakeChange>(database, { ...command, subject }, async (query) => {
    const before = intakeState((await query<IntakeRow>(LOCK, []))[0]);
    if (before.isPaused === isPaused)
      return { value: { outcome: 'unchanged', state: before }, changed: undefined };
    const state = intakeState((await query<IntakeRow>(CHANGE, [isPaused, actor, reason]))[0]);
    const changed = { before: { isPaused: before.isPaused }, after: { isPaused } };
    return { value: { outcome: 'changed', state }, changed };
  });
  return done.kind === 'done' ? done.value : { outcome: 'repeated', state: await read(database) };
}

async function read(database: Database): Promise<IntakeState> {
  return intakeState((await database.query<IntakeRow>(READ_INTAKE, []))[0]);
}
