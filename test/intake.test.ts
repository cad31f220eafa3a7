import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { holdIntakeWhileUnavailable } from '../src/intake.ts';
import type { Availability } from '../src/ports/availability.ts';
import { silent } from './support/silent-log.ts';

describe('the hold on the intake', () => {
  it('stops it for what is away, also for what is away from the start, and takes the limit away after that', () => {
    const limits: string[] = [];
    const [database, gateway] = [new Switch('database', 'not connected yet'), new Switch('gateway')];
    hold(limits, database, gateway);
    gateway.turn('down');
    database.turn(undefined);
    gateway.turn(undefined);
    assert.deepEqual(limits, [
      'database 0',
      'gateway Infinity',
      'gateway 0',
      'database Infinity',
      'gateway Infinity',
    ]);
  });

  it('lets in as many as may be at work, also while it is away, and also after that', () => {
    const limits: string[] = [];
    const gateway = new Switch('gateway');
    hold(limits, gateway);
    gateway.turn('down', 0);
    gateway.turn('down', 1);
    gateway.turn(undefined, 2);
    assert.deepEqual(limits, ['gateway Infinity', 'gateway 0', 'gateway 1', 'gateway 2']);
  });

  it('stops watching', () => {
    const limits: string[] = [];
    const gateway = new Switch('gateway');
    hold(limits, gateway)();
    gateway.turn('down');
    assert.deepEqual(limits, ['gateway Infinity']);
  });
});

function hold(limits: string[], ...dependencies: Switch[]): () => void {
  const intake = { limit: (reason: string, most: number) => limits.push(`${reason} ${most}`) };
  return holdIntakeWhileUnavailable(intake, dependencies, silent);
}

class Switch implements Availability {
  readonly name: string;
  #why: string | undefined;
  mostInWork?: () => number;
  readonly #listeners = new Set<() => void>();

  constructor(name: string, why?: string) {
    this.name = name;
    this.#why = why;
  }

  unavailableBecause(): string | undefined {
    return this.#why;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  turn(why: string | undefined, most?: number): void {
    this.#why = why;
    if (most !== undefined) this.mostInWork = () => most;
    for (const listener of this.#listeners) listener();
  }
}
