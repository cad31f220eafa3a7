/** What no evidence of a storm can show, or not in every storm, and the tests that do: file and name. */
export const SHOWN_ELSEWHERE: Readonly<Record<string, readonly [file: string, name: string]>> = {
  I7: ['test/domain/order-states.properties.test.ts', 'no key is sent again after its window'],
  I15: ['test/topology/tuple-trees.test.ts', 'end exactly once, acked exactly when every tuple was'],
  I16: ['test/topology/deadline-wheel.test.ts', 'expires each entry at an age within [T, T + T/30]'],
};

/** I1-I20 of the reliability design. */
export const ALL_INVARIANTS: readonly string[] = Array.from({ length: 20 }, (_, index) => `I${index + 1}`);
