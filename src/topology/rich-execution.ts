import type { BoltCollector, RichBolt, Tick } from './bolt.ts';
import { TopologyUsageError } from './errors.ts';
import { asPromise, type Execution } from './execution.ts';
import { deliverAll } from './outlet.ts';
import { RoutedTuple } from './routed-tuple.ts';
import type { Settlement } from './settlement.ts';
import type { TupleTrees } from './tuple-trees.ts';
import type { Tuple } from './tuple.ts';

/** Runs a RichBolt, which settles its tuples itself; one it forgets is failed as a bug. */
export function richExecution(bolt: RichBolt, settlement: Settlement): Execution {
  return {
    execute(tuple) {
      let result: Promise<void> | undefined;
      try {
        result = asPromise(bolt.execute(tuple));
      } catch (error) {
        return rejected(tuple, settlement, error);
      }
      if (result === undefined) {
        checkSettled(tuple, settlement);
        return undefined;
      }
      return result.then(
        () => {
          checkSettled(tuple, settlement);
        },
        (error: unknown) => rejected(tuple, settlement, error),
      );
    },
    async tick(tick: Tick) {
      await bolt.tick?.(tick);
    },
  };
}

function rejected(tuple: RoutedTuple, settlement: Settlement, error: unknown): Promise<unknown> | undefined {
  settlement.countExecuted(tuple);
  return settlement.reject(tuple, error);
}

function checkSettled(tuple: RoutedTuple, settlement: Settlement): void {
  settlement.countExecuted(tuple);
  if (tuple.settled || tuple.held) return;
  const { component } = tuple.target;
  settlement.fail(
    tuple,
    new TopologyUsageError(
      `bolt "${component}" neither acked, failed nor held a tuple: settle it in execute`,
    ),
  );
}

export function richCollector(settlement: Settlement, trees: TupleTrees): BoltCollector {
  return {
    async emit(stream, anchors, values) {
      const tuples = anchors.map(routed);
      const settled = tuples.find((anchor) => anchor.settled);
      if (settled !== undefined) {
        throw new TopologyUsageError(
          `bolt "${settled.target.component}" anchored an emit on "${stream}" to a settled tuple: emit before the ack`,
        );
      }
      const addressed = settlement.outlet(stream).address(values, tuples);
      for (const anchor of tuples) anchor.see('emitting');
      await deliverAll(addressed);
    },
    ack: (tuple) => settlement.ack(routed(tuple)),
    fail: (tuple, error) => settlement.fail(routed(tuple), error),
    hold: (tuple) => {
      const held = routed(tuple);
      held.held = true;
      if (!held.settled) held.see('held');
    },
    extend: (tuple) => {
      let everyTreeLives = true;
      for (const { tree } of routed(tuple).edges) everyTreeLives = trees.extend(tree) && everyTreeLives;
      return everyTreeLives;
    },
  };
}

function routed(tuple: Tuple): RoutedTuple {
  if (tuple instanceof RoutedTuple) return tuple;
  throw new TopologyUsageError('the collector takes only tuples that the bolt was given');
}
