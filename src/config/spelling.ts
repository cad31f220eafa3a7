/** The candidate closest to `word`, when it is close enough to be what was meant. */
export function closest<Word extends string>(word: string, candidates: readonly Word[]): Word | undefined {
  const farthest = Math.max(2, Math.floor(word.length / 5));
  let best: { candidate: Word; distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate);
    if (distance <= farthest && distance < (best?.distance ?? Infinity)) best = { candidate, distance };
  }
  // What is most often forgotten is the unit at the end.
  return best?.candidate ?? candidates.find((candidate) => candidate.startsWith(`${word}_`));
}

/** Levenshtein's: how many letters to insert, delete or replace. */
export function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = at(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(at(row, j) + 1, at(next, j - 1) + 1, replaced));
    }
    row = next;
  }
  return at(row, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
