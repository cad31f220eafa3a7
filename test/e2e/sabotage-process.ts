/**
 * Loaded into a worker before it starts (`node --import`), so that nothing of this lives in the worker itself: at SIGUSR2
 * it does what the variable SABOTAGE names.
 *
 *     block <ms>   the event loop stands still for so long
 *     throw        a listener throws
 *     exhaust      memory is taken until there is none
 */
const [what, amount] = (process.env['SABOTAGE'] ?? '').split(' ');

process.on('SIGUSR2', () => {
  if (what === 'block') block(Number(amount));
  if (what === 'throw') throw new Error('sabotage: a listener throws');
  if (what === 'exhaust') exhaust();
});

function block(forMs: number): void {
  const untilMs = performance.now() + forMs;
  while (performance.now() < untilMs);
}

function exhaust(): never {
  const taken: string[][] = [];
  for (;;) taken.push(Array.from({ length: 100_000 }, (_, index) => `${index} of ${taken.length}`));
}
