/**
 * One remote call, as it happens: a request leg, an effect, a reply leg, each of which may go wrong by itself. The
 * effect belongs to the world, not to the caller: a request that has left arrives, whatever becomes of its sender.
 */
import { nextFraction, type RandomSource } from '../../src/topology/random.ts';
import type { CallSite, Fault, Faults } from './faults.ts';
import type { SimulatedProcess } from './machine.ts';
import type { SimulatedTime } from './time.ts';
import type { Trace } from './trace.ts';

/** What every part of the simulated world is made with. */
export interface World {
  readonly time: SimulatedTime;
  /** Of latencies and the like; what goes wrong is decided with a source of its own. */
  readonly random: RandomSource;
  readonly faults: Faults;
  readonly trace: Trace;
  /** Kills a process as `kill -9` does. */
  kill(process: SimulatedProcess): void;
  /** Stops it for so long. */
  stop(process: SimulatedProcess, ms: number): void;
  /** Something happened that must never happen. */
  violated(invariant: string, what: string): void;
}

/** How an answer got lost: the connection broke before or after the effect, nothing came in time, nobody was there. */
export type Loss = 'before' | 'after' | 'silence' | 'away';

export interface RemoteCall<T> {
  readonly site: CallSite;
  readonly process: SimulatedProcess;
  readonly label: () => string;
  /** At the remote end, when the request has arrived. What it throws is the remote end's answer. */
  readonly effect: (fault: Fault | undefined) => T;
  /** What the caller gets when no answer comes: it throws, or gives a value. */
  readonly lost: (how: Loss) => T;
  readonly wallMs: number;
  /** How long after the effect the reply leaves; at once unless given. */
  readonly takesMs?: (fault: Fault | undefined) => number;
  /** Nobody is there to take the request. */
  readonly isAway: () => boolean;
  /** A fault that is this call's own; true when it has seen to everything. */
  readonly special?: (fault: Fault, settle: (make: () => T) => void) => boolean;
}

export function latencyMs(random: RandomSource): number {
  const draw = nextFraction(random);
  return 0.05 + draw * draw * 4;
}

export function remoteCall<T>(world: World, call: RemoteCall<T>): Promise<T> {
  const { time, random, faults, trace } = world;
  const { process, site } = call;
  if (!process.isAlive) return new Promise(() => undefined);
  const fault = faults.at(site);
  trace.note(time.nowMs, process.name, () => `${site} ${call.label()}${inWords(fault)}`);
  return new Promise((resolve, reject) => {
    let isOpen = true;
    const settleNow = (make: () => T): void => {
      if (!isOpen) return;
      isOpen = false;
      wall?.cancel();
      try {
        resolve(make());
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    };
    const settleAfter = (ms: number, make: () => T): void => {
      process.later(ms, () => {
        settleNow(make);
      });
    };
    // Without a fault the answer is always there before; that it is not waited for is a tenth of the speed.
    const wall =
      fault &&
      process.setTimer(call.wallMs, () => {
        settleNow(() => call.lost('silence'));
      });
    const there = latencyMs(random);
    const back = latencyMs(random);
    if (
      fault !== undefined &&
      call.special?.(fault, (make) => {
        settleAfter(there + back, make);
      }) === true
    )
      return;
    switch (fault?.kind) {
      case 'cut-before':
        settleAfter(there + back, () => call.lost('before'));
        return;
      case 'no-answer':
        return;
      case 'kill-before':
        time.quietlyAfter(0, () => {
          world.kill(process);
        });
        return;
      case 'stop-before':
        time.quietlyAfter(0, () => {
          world.stop(process, fault.ms);
        });
        break;
      default:
    }
    const lateMs = fault?.kind === 'late-request' ? fault.ms : 0;
    time.lateAfter(there + lateMs, () => {
      if (call.isAway()) {
        settleAfter(back, () => call.lost('away'));
        return;
      }
      const answer = answerOf(() => call.effect(fault));
      const takesMs = call.takesMs?.(fault) ?? 0;
      switch (fault?.kind) {
        case 'cut-after':
          settleAfter(takesMs + back, () => call.lost('after'));
          return;
        case 'no-answer-after':
          return;
        case 'kill-after':
          world.kill(process);
          return;
        case 'stop-after':
          world.stop(process, fault.ms);
          break;
        default:
      }
      settleAfter(takesMs + back + (fault?.kind === 'late-reply' ? fault.ms : 0), answer);
    });
  });
}

/** What was answered, to be heard later. */
function answerOf<T>(effect: () => T): () => T {
  try {
    const value = effect();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

export function inWords(fault: Fault | undefined): string {
  return fault === undefined ? '' : `  ! ${fault.kind} (${fault.nth}, ${fault.ms} ms)`;
}
