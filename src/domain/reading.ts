import type { InputParkReason } from './order.ts';

/** What one field of a message came to: its value, or why the order must be parked. */
export type Reading<T> = { readonly kind: 'read'; readonly value: T } | Unreadable;

export interface Unreadable {
  readonly kind: 'unreadable';
  readonly reason: InputParkReason;
  /** Which field is wrong, how, and what to do; never its value. */
  readonly detail: string;
}

export function read<T>(value: T): Reading<T> {
  return { kind: 'read', value };
}

export function unreadable(reason: InputParkReason, detail: string): Unreadable {
  return { kind: 'unreadable', reason, detail };
}
