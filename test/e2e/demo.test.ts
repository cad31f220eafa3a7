import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testServices } from '../support/services.ts';
import { cardauth, startProcess } from '../support/worker-process.ts';

describe('cardauth demo', () => {
  it('2,000 orders, a worker killed in the middle: the books balance', { timeout: 180_000 }, async (t) => {
    const { amqpUrl, databaseUrl } = testServices();
    const demo = startProcess({
      owner: t,
      args: [cardauth, 'demo', '--orders', '2000', '--json'],
      env: { AMQP_URL: amqpUrl, DATABASE_URL: databaseUrl },
    });
    const exit = await demo.exited;
    const printed = demo.lines.map(({ text }) => text).join('\n');
    assert.equal(exit.code, 0, printed);

    const line = demo.lines.find(({ from, text }) => from === 'stdout' && text.startsWith('{'));
    const books = JSON.parse(line?.text ?? '{}') as Record<string, unknown>;
    assert.equal(books['messages'], 2000);
    assert.deepEqual([books['chargedTwice'], books['lost'], books['balanced']], [0, 0, true]);
    assert.equal(books['authorizations'], books['readyToShip']);
    assert.equal(books['notified'], Number(books['readyToShip']) + Number(books['denied']));
    assert.match(printed, /worker killed/);
  });
});
