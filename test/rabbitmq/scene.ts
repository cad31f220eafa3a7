import { setImmediate as nextTurn } from 'node:timers/promises';

import { BrokerConnection } from '../../src/adapters/rabbitmq/connection.ts';
import { parseAmqpUrls } from '../../src/adapters/rabbitmq/endpoint.ts';
import type { Log } from '../../src/ports/log.ts';
import { seededRandom, type RandomSource } from '../../src/topology/random.ts';
import { systemClock } from '../../src/topology/system-clock.ts';
import { VirtualClock } from '../../src/topology/testing/virtual-clock.ts';
import type { TreeFailure } from '../../src/topology/spout.ts';
import { ScriptedBroker } from './scripted-broker.ts';

export const silentLog: Log = {
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** A scripted broker, virtual time, and one connection to it. */
export function scriptedScene(role: 'consume' | 'publish', urls = 'amqp://one') {
  const clock = new VirtualClock();
  const broker = new ScriptedBroker();
  const random = seededRandom(7);
  const connection = new BrokerConnection({
    role,
    endpoints: parseAmqpUrls(urls),
    clock,
    random,
    log: silentLog,
    dial: (...call) => broker.dial(...call),
  });
  return { clock, broker, random, connection };
}

/** A connection to a real broker in real time. */
export function realConnection(
  role: 'consume' | 'publish',
  url: string,
  random: RandomSource = seededRandom(7),
): BrokerConnection {
  return new BrokerConnection({
    role,
    endpoints: parseAmqpUrls(url),
    clock: systemClock,
    random,
    log: silentLog,
  });
}

/** Lets every promise that can settle do so, together with what the clock deferred; time stands still. */
export async function settled(clock: VirtualClock): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    while (clock.runOne());
    await nextTurn();
  }
}

/** Moves time in small steps, and lets everything settle after each. */
export async function pass(clock: VirtualClock, ms: number): Promise<void> {
  await settled(clock);
  const endMs = clock.nowMs() + ms;
  while (clock.nowMs() < endMs) {
    const nextMs = Math.min(clock.nextTimerMs ?? endMs, endMs);
    clock.move(Math.max(0, nextMs - clock.nowMs()));
    await settled(clock);
  }
}

export function failure(overrides: Partial<TreeFailure> = {}): TreeFailure {
  return {
    reason: 'explicit',
    errorClass: 'database',
    error: new Error('down'),
    retryAfterMs: undefined,
    where: { component: 'authorize', task: 0, phase: 'executing', ageMs: 12 },
    ...overrides,
  };
}
