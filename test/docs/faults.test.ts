/** docs/faults.md: each fault has a test, and each test that is named is there. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { SHOWN_ELSEWHERE } from '../chaos/shown-elsewhere.ts';

const root = new URL('../../../', import.meta.url);
const page = readFileSync(new URL('docs/faults.md', root), 'utf8');

/** `[name](../file): *a test*, *another*` */
const REFERENCE = /\[[\w-]+\]\(\.\.\/([\w./-]+)\)(?::((?:,?\s+\*[^*]+\*)+))?/g;

interface Reference {
  readonly file: string;
  readonly tests: readonly string[];
}

function referencesIn(text: string): Reference[] {
  return [...text.matchAll(REFERENCE)].map(([, file = '', tests = '']) => ({
    file,
    tests: [...tests.matchAll(/\*([^*]+)\*/g)].map(([, name = '']) => name.replace(/\s+/g, ' ')),
  }));
}

describe('the page of faults', () => {
  const rows = page.split('\n').filter((line) => /^\| (?!fault|race)/.test(line));

  it('has a test for every fault', () => {
    assert.ok(rows.length > 60, `${rows.length} faults`);
    const bare = rows.filter((row) => referencesIn(row).length === 0);
    assert.deepEqual(bare, []);
  });

  it('names tests, not only files', () => {
    assert.deepEqual(referencesIn(page).filter(({ tests }) => tests.length === 0), []); // prettier-ignore
    assert.equal(page.match(/\]\(\.\.\//g)?.length, referencesIn(page).length, 'a reference of another form');
  });

  it('names only what is there, as does the table that chaos prints', () => {
    const elsewhere = Object.values(SHOWN_ELSEWHERE).map(([file, name]) => ({ file, tests: [name] }));
    const missing = [...referencesIn(page), ...elsewhere].flatMap(({ file, tests }) => {
      const source = existsSync(new URL(file, root)) ? readFileSync(new URL(file, root), 'utf8') : '';
      return tests.filter((name) => !isQuotedIn(source, name)).map((name) => `${file}: ${name}`);
    });
    assert.deepEqual(missing, []);
  });
});

/** In a text in quotes: the title of a test, or of a row of a table of them. */
function isQuotedIn(source: string, name: string): boolean {
  return source.split('\n').some((line) => {
    const at = line.indexOf(name);
    return at > 0 && /['"`][^'"`]*$/.test(line.slice(0, at));
  });
}
