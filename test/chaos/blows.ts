/** What can befall a run: see nemesis.ts for how, plan.ts for how often. */
export type Blow =
  | { readonly kind: 'worker killed'; readonly worker: number }
  | { readonly kind: 'worker ended'; readonly worker: number }
  | { readonly kind: 'worker frozen'; readonly worker: number; readonly forMs: number }
  | { readonly kind: 'zombie'; readonly worker: number; readonly forMs: number }
  | { readonly kind: 'broker cut'; readonly worker: number }
  | { readonly kind: 'database cut'; readonly worker: number }
  | { readonly kind: 'database crashed'; readonly downMs: number }
  | { readonly kind: 'leader killed'; readonly downMs: number }
  | { readonly kind: 'node killed'; readonly node: number; readonly downMs: number }
  | { readonly kind: 'node isolated'; readonly node: number; readonly forMs: number }
  | { readonly kind: 'memory alarm'; readonly node: number; readonly forMs: number }
  | { readonly kind: 'disk alarm'; readonly node: number; readonly forMs: number }
  | OperatorsAct;

/** What operators do in the middle of it all: see operators.ts. */
export type OperatorsAct =
  | { readonly kind: 'replay killed' }
  | { readonly kind: 'lot replayed' }
  | { readonly kind: 'lot replayed by two' }
  | { readonly kind: 'unknowns resolved' }
  | { readonly kind: 'announcements resent' }
  | { readonly kind: 'intake paused'; readonly forMs: number };

export type BlowKind = Blow['kind'];

export const OPERATORS_ACTS: readonly OperatorsAct['kind'][] = [
  'replay killed',
  'lot replayed',
  'lot replayed by two',
  'unknowns resolved',
  'announcements resent',
  'intake paused',
];
