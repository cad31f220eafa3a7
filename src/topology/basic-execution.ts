import type { BasicBolt, Tick } from './bolt.ts';
import { TopologyUsageError } from './errors.ts';
import { deliverAll, type Anchor } from './outlet.ts';
import { asPromise, type Execution } from './execution.ts';
import type { RoutedTuple } from './routed-tuple.ts';
import type { Settlement } from './settlement.ts';
import type { Values } from './tuple.ts';

interface BufferedEmit {
  readonly stream: string;
  readonly values: Values;
}

/**
 * Runs a BasicBolt: collects what it emits; when `execute` resolves, makes the tuples, acks the input together
 * with them, and only then delivers them; when it rejects, drops them.
 */
export function basicExecution(bolt: BasicBolt, settlement: Settlement): Execution {
  return {
    execute(tuple) {
      const emits = new EmitBuffer(settlement);
      let result: Promise<void> | undefined;
      try {
        result = asPromise(bolt.execute(tuple, emits.emit));
      } catch (error) {
        return dropAndReject(tuple, emits, settlement, error);
      }
      if (result === undefined) return ackWithEmits(tuple, emits, settlement);
      return result.then(
        () => ackWithEmits(tuple, emits, settlement),
        (error: unknown) => dropAndReject(tuple, emits, settlement, error),
      );
    },
    async tick(tick: Tick) {
      const emits = new EmitBuffer(settlement);
      await bolt.tick?.(tick, emits.emit);
      await deliverAll(emits.address([]));
    },
  };
}

function ackWithEmits(
  tuple: RoutedTuple,
  emits: EmitBuffer,
  settlement: Settlement,
): Promise<unknown> | undefined {
  settlement.countExecuted(tuple);
  let tuples: readonly RoutedTuple[];
  try {
    tuples = emits.address([tuple]);
  } catch (error) {
    return settlement.reject(tuple, error);
  }
  settlement.ack(tuple);
  return deliverAll(tuples);
}

function dropAndReject(
  tuple: RoutedTuple,
  emits: EmitBuffer,
  settlement: Settlement,
  error: unknown,
): Promise<unknown> | undefined {
  settlement.countExecuted(tuple);
  emits.drop();
  return settlement.reject(tuple, error);
}

const NOTHING: readonly RoutedTuple[] = [];

class EmitBuffer {
  readonly #settlement: Settlement;
  #buffered: BufferedEmit[] | undefined;
  #closed = false;

  constructor(settlement: Settlement) {
    this.#settlement = settlement;
  }

  readonly emit = (stream: string, values: Values): void => {
    if (this.#closed) {
      throw new TopologyUsageError(
        `a bolt emitted on "${stream}" after its execute had settled: await its work`,
      );
    }
    this.#settlement.outlet(stream);
    (this.#buffered ??= []).push({ stream, values });
  };

  address(anchors: readonly Anchor[]): readonly RoutedTuple[] {
    this.#closed = true;
    if (this.#buffered === undefined) return NOTHING;
    const tuples: RoutedTuple[] = [];
    for (const { stream, values } of this.#buffered) {
      tuples.push(...this.#settlement.outlet(stream).address(values, anchors));
    }
    return tuples;
  }

  drop(): void {
    this.#closed = true;
    this.#buffered = undefined;
  }
}
