/**
 * What an operator did: the words in which it is kept. An entry is checked and cleaned where it is made, so that
 * nothing that could be a card number reaches the table, whoever writes it.
 */
import { maskCardNumbers } from './card-numbers.ts';

/** A command of an operator. The id makes it repeatable: the same command does its work once for each subject. */
export interface OperatorCommand {
  /** 1-100 visible ASCII characters. */
  readonly commandId: string;
  /** Who: 1-200 characters, e.g. `anna@ops-1`. */
  readonly actor: string;
  /** What, as the command line has it: `pause`, `parked discard`. */
  readonly action: string;
  /** Why, in the operator's words: 1-500 characters. */
  readonly reason: string;
}

export interface AuditEntry extends OperatorCommand {
  /** What it was done to: `order:1234`, `intake`, `parked:17`. 1-200 visible ASCII characters. */
  readonly subject: string;
  /** What the subject was before and after, as far as the command is about it. Never card data. */
  readonly before?: AuditedState | undefined;
  readonly after?: AuditedState | undefined;
}

/** Plain JSON. Amounts are minor units as text, times ISO 8601. */
export type AuditedState = { readonly [name: string]: AuditedValue };
export type AuditedValue =
  string | number | boolean | null | readonly AuditedValue[] | { readonly [name: string]: AuditedValue };

const LONGEST_REASON = 500;
const LONGEST_ACTOR = 200;
const LONGEST_TEXT = 2_000;
const LARGEST_STATE_BYTES = 65_536;

/** The command, with card numbers masked. Throws a RangeError that says which part is wrong and how it should be. */
export function operatorCommand(command: OperatorCommand): OperatorCommand {
  const { commandId, action } = command;
  if (!/^[!-~]{1,100}$/.test(commandId))
    throw new RangeError('a command id is 1-100 visible ASCII characters');
  if (!/^[a-z][a-z ]{0,99}$/.test(action))
    throw new RangeError('an action is 1-100 lower-case letters and spaces');
  return {
    commandId: maskCardNumbers(commandId),
    action,
    actor: oneLine('the actor', command.actor, LONGEST_ACTOR),
    reason: oneLine('the reason', command.reason, LONGEST_REASON),
  };
}

/** The entry, with card numbers masked everywhere but in the subject, which is an id as it is stored elsewhere. */
export function auditEntry(entry: AuditEntry): AuditEntry {
  const { before, after, subject } = entry;
  if (!/^[!-~]{1,200}$/.test(subject)) {
    throw new RangeError('the subject of an operator action is 1-200 visible ASCII characters');
  }
  return { ...operatorCommand(entry), subject, before: stateFor(before), after: stateFor(after) };
}

function oneLine(what: string, text: string, longest: number): string {
  const clean = maskCardNumbers(text.replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ').trim());
  if (clean === '' || clean.length > longest) throw new RangeError(`${what} is 1-${longest} characters`);
  return clean;
}

function stateFor(state: AuditedState | undefined): AuditedState | undefined {
  if (state === undefined) return undefined;
  const clean = cleanRecord(state);
  if (Buffer.byteLength(JSON.stringify(clean)) > LARGEST_STATE_BYTES) {
    throw new RangeError(
      `what an operator action keeps of before or after is over ${LARGEST_STATE_BYTES} bytes`,
    );
  }
  return clean;
}

function cleanRecord(record: { readonly [name: string]: AuditedValue }): { [name: string]: AuditedValue } {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [cleanText(name), cleanValue(value)]),
  );
}

function cleanValue(value: AuditedValue): AuditedValue {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value === 'number') return cleanNumber(value);
  if (Array.isArray(value)) return value.map((item: AuditedValue) => cleanValue(item));
  return typeof value === 'object' && value !== null ? cleanRecord(value as AuditedState) : value;
}

/** PostgreSQL refuses NUL and lone surrogates in JSON. */
function cleanText(text: string): string {
  return maskCardNumbers(text.slice(0, LONGEST_TEXT).replace(/[\p{Cc}\p{Cs}]/gu, ' '));
}

/** Masked digits would break a number: it becomes text. */
function cleanNumber(value: number): AuditedValue {
  const text = String(value);
  const masked = maskCardNumbers(text);
  if (!Number.isFinite(value)) return text;
  return masked === text ? value : masked;
}
