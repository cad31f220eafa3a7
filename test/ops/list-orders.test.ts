import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StoredOrder } from '../../src/domain/order-states.ts';
import type { OrderFilter, OrderPage } from '../../src/ports/order-search.ts';
import { cli, type CliWorld } from '../cli/fake-context.ts';
import { claimBy, orderAfter, outcomeOf, OUTCOMES, PEER, SELF, START_MS } from '../domain/order-histories.ts';

const approved = orderAfter([claimBy(), 0, SELF], [outcomeOf(OUTCOMES.approved, 1), 0, SELF]);
const inFlight: StoredOrder = { ...orderAfter([claimBy(), 0, PEER]), orderId: 'x"y', cardLast4: '4242' };

function pageOf(orders: readonly StoredOrder[], rest: Partial<OrderPage> = {}): OrderPage {
  const times = { seenAtMs: START_MS, updatedAtMs: START_MS + 1, earlierAttempts: [] };
  const found = orders.map((order) => ({ order, ...times }));
  return { orders: found, end: undefined, readAtMs: START_MS, livingWorkers: new Set([PEER]), ...rest };
}

/** Runs `orders list` against a search that answers with `page`, and tells what it was asked for. */
async function list(args: readonly string[], page = pageOf([]), world: CliWorld = {}) {
  const asked: OrderFilter[] = [];
  const search = {
    find: (filter: OrderFilter) => Promise.resolve((asked.push(filter), page)),
    close: () => Promise.resolve(),
  };
  const parts = { orderSearch: () => Promise.resolve(() => Promise.resolve(search)) };
  return { ...(await cli(['orders', 'list', ...args], { ...world, parts })), asked };
}

const NO_FILTER: OrderFilter = {
  statuses: [],
  reason: undefined,
  seenBeforeMs: undefined,
  seenSinceMs: undefined,
  reference: undefined,
  cardLast4: undefined,
  customerId: undefined,
  isUnannounced: false,
  newestFirst: false,
  limit: 50,
  after: undefined,
};

describe('cardauth orders list', () => {
  it('asks for what the flags say', async () => {
    assert.deepEqual((await list([])).asked, [NO_FILTER]);
    const flags =
      '--status review,denied --status received --reason x --older-than 2023-01-01T00:00:00Z --newer-than 2022-01-01 ' +
      '--reference pi_1 --last4 0042 --customer 5678 --unannounced --newest --limit 7';
    const { asked, exitCode } = await list(flags.split(' '));
    assert.equal(exitCode, 0);
    assert.deepEqual(asked, [
      {
        statuses: ['review', 'denied', 'received'],
        reason: 'x',
        seenBeforeMs: Date.UTC(2023, 0, 1),
        seenSinceMs: Date.UTC(2022, 0, 1),
        reference: 'pi_1',
        cardLast4: '0042',
        customerId: '5678',
        isUnannounced: true,
        newestFirst: true,
        limit: 7,
        after: undefined,
      },
    ]);
  });

  it('goes on with the cursor that it printed, whatever the id', async () => {
    const end = { seenAtUs: '1767225600000001', orderId: 'x"y $HOME'.replace(' ', '|') };
    const first = await list(['--json'], pageOf([approved], { end }));
    const { next } = JSON.parse(first.stdout) as { next: string };
    assert.match(next, /^[\w-]+$/);
    assert.deepEqual((await list(['--after', next])).asked[0]?.after, end);
    const text = await list([], pageOf([approved], { end }));
    assert.equal(text.stderr, `there are more: --after ${next}\n`);
    assert.equal((JSON.parse((await list(['--json'])).stdout) as { next: null }).next, null);
  });

  it('prints a table with the verdict, nothing cut in a pipe', async () => {
    const { stdout, stderr } = await list([], pageOf([approved, inFlight]));
    const [header, one, other] = stdout.split('\n');
    assert.equal(stderr, '');
    assert.match(header ?? '', /^ORDER +AGE +STATUS +AMOUNT +MONEY +NEXT +REFERENCE +CARD +CUSTOMER$/);
    assert.match(one ?? '', /^1234 +\d+d +ready-to-ship +42\.23 USD +approved-unannounced +announce +pi_1 +- +5678$/); // prettier-ignore
    assert.match(other ?? '', /^x"y +\d+d +authorizing +42\.23 USD +in-flight +wait +- +\.\.\.4242 +5678$/); // prettier-ignore
  });

  it('fits the terminal: columns that matter less go first, then the widest is cut', async () => {
    const long = { ...approved, orderId: 'o'.repeat(60), customerId: 'c'.repeat(40) };
    for (const width of [220, 120, 100, 80]) {
      const { stdout } = await list([], pageOf([long, approved]), { width });
      const lines = stdout.trimEnd().split('\n');
      assert.ok(
        lines.every((line) => line.length <= width),
        `${width}:\n${stdout}`,
      );
      assert.match(stdout, /\d+d +ready-to-ship +42\.23 USD +approved-unannounced +announce/);
      assert.equal(stdout.includes('CUSTOMER'), width === 220);
    }
    assert.match((await list([], pageOf([long]), { width: 80 })).stdout, /^o+… /m);
  });

  it('shows nothing that could move the cursor of a terminal', async () => {
    const { stdout } = await list([], pageOf([{ ...approved, statusReason: '\x1b[2Jgone\r\n' }]));
    assert.ok(!stdout.includes('\x1b') && !stdout.includes('\r'));
    assert.equal(stdout.trimEnd().split('\n').length, 2);
  });

  it('says on stderr that nothing fits', async () => {
    const { exitCode, stdout, stderr } = await list([]);
    assert.deepEqual([exitCode, stdout, stderr], [0, '', 'no orders fit\n']);
    assert.equal((await list(['--json'])).stdout, '{"orders":[],"next":null}\n');
  });

  for (const flags of [
    '--status gone',
    '--older-than yesterday',
    '--newer-than 5',
    '--last4 42',
    '--limit 0',
    '--limit 1001',
    '--after nonsense',
    '--nonsense',
    'extra',
  ]) {
    it(`exits 2 on ${flags}`, async () => {
      const { exitCode, stdout, stderr, asked } = await list(flags.split(' '));
      assert.deepEqual([exitCode, stdout, asked], [2, '', []]);
      assert.notEqual(stderr, '');
    });
  }
});
