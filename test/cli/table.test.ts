import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ageText, textTable } from '../../src/cli/table.ts';

describe('the age of something', () => {
  const table = [
    [-5_000, '0s'],
    [999, '0s'],
    [119_000, '119s'],
    [120_000, '2m'],
    [7_199_000, '119m'],
    [7_200_000, '2h'],
    [172_799_000, '47h'],
    [172_800_000, '2d'],
    [86_400_000 * 1000, '1000d'],
  ] as const;
  for (const [ms, text] of table) {
    it(`of ${ms} ms is ${text}`, () => {
      assert.equal(ageText(ms), text);
    });
  }
});

describe('a table', () => {
  const rows = [{ a: 'one', b: '1' }, { a: 'a longer one', b: '22' }]; // prettier-ignore
  const columns = [
    { header: 'A', text: ({ a }: (typeof rows)[number]) => a },
    { header: 'B', text: ({ b }: (typeof rows)[number]) => b, align: 'right' },
  ] as const;

  it('aligns', () => {
    assert.equal(
      textTable(rows, columns, undefined),
      'A              B\none            1\na longer one  22\n',
    );
  });

  it('leaves out the last of the columns that may go, then the one before', () => {
    const wide = ['A', 'B', 'C', 'D'].map((header, place) => {
      return { header, text: () => header.repeat(10), ...(place > 1 && { ifRoom: true as const }) };
    });
    const shown = (width: number) => textTable([rows[0]], wide, width).split('\n')[0]?.replaceAll(' ', '');
    assert.deepEqual([46, 45, 34, 33, 10].map(shown), ['ABCD', 'ABC', 'ABC', 'AB', 'AB']);
  });

  it('never becomes narrower than it can be read, and ends', () => {
    assert.equal(textTable(rows, columns, 1), 'A          B\none        1\na longe…  22\n');
  });
});
