/** Where every random decision of the runtime comes from; seeded from the system in production, by hand in tests. */
export interface RandomSource {
  /** A uniform integer in [0, 2^32). */
  next32(): number;
}

/** A uniform number in [0, 1), with 32 bits of randomness. */
export function nextFraction(random: RandomSource): number {
  return random.next32() / 0x1_0000_0000;
}

/** A uniform integer in [0, bound). */
export function nextBelow(random: RandomSource, bound: number): number {
  return Math.floor(nextFraction(random) * bound);
}

/**
 * Chris Doty-Humphrey's sfc32 (PractRand): 128 bits of state, a few nanoseconds a number. Edge ids have to be
 * independent of each other, not secret.
 */
export class Sfc32 implements RandomSource {
  #a: number;
  #b: number;
  #c: number;
  #counter: number;

  constructor(seed: readonly [number, number, number, number]) {
    [this.#a, this.#b, this.#c, this.#counter] = seed;
    for (let round = 0; round < 15; round++) this.next32();
  }

  next32(): number {
    const result = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + result) | 0;
    return result >>> 0;
  }
}

/** The same seed gives the same numbers, on every machine. */
export function seededRandom(seed: number): RandomSource {
  return new Sfc32([seed >>> 0, Math.floor(seed / 0x1_0000_0000) >>> 0, 0x9e3779b9, 1]);
}
