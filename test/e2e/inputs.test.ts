/** Every row of the message table (payments design, section 1), through one running worker. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, describe, it } from 'node:test';
import type { ApprovalEntry } from '../../src/simulator/ledger.ts';
import { orderText, WITHOUT_CARD } from '../domain/order-text.ts';
import { waitFor } from '../support/wait-for.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import type { ParkedRow } from './parked-orders.ts';
import { openStage, suiteOwner, type OrderRow, type Stage } from './stage.ts';

const VISA = '4242424242424242';
const AMEX = '378282246310005';
const UNIONPAY = '6205500000000000004';

/** Fields of the canonical order with other JSON text; undefined leaves one out. */
type Fields = Readonly<Record<string, string | undefined>>;

/** What the gateway must have been asked to hold, and on which card. */
interface Charged {
  readonly amountMinor?: number;
  readonly currency?: string;
  readonly card?: string;
  readonly cvv?: string;
  readonly expiry?: readonly [month: number, year: number];
}

const charged: readonly (readonly [Fields, Charged])[] = [
  [{ chargeAmount: '42.23' }, { amountMinor: 4223, card: '1111222233334444', cvv: '123', expiry: [1, 2014] }],
  [{ chargeAmount: '"42.23"' }, { amountMinor: 4223 }],
  [{ chargeAmount: '42.230' }, { amountMinor: 4223 }],
  [{ chargeAmount: '42' }, { amountMinor: 4200 }],
  [{ chargeAmount: '4.223E1' }, { amountMinor: 4223 }],
  [{ chargeAmount: '1e-2' }, { amountMinor: 1 }],
  [
    { currency: '"JPY"', chargeAmount: '500' },
    { amountMinor: 500, currency: 'JPY' },
  ],
  [
    { currency: '"KWD"', chargeAmount: '1.230' },
    { amountMinor: 1230, currency: 'KWD' },
  ],
  [{ creditCardNumber: '"4242 4242 4242 4242"' }, { card: VISA }],
  [{ creditCardNumber: '"4242-4242-4242-4242"' }, { card: VISA }],
  [{ creditCardNumber: UNIONPAY }, { card: UNIONPAY }],
  [{ creditCardNumber: VISA, creditCardCode: '12' }, { cvv: '012' }],
  [{ creditCardNumber: VISA, creditCardCode: '0' }, { cvv: '000' }],
  [
    { creditCardNumber: AMEX, creditCardCode: '123' },
    { card: AMEX, cvv: '0123' },
  ],
  [{ creditCardExpiration: '12014' }, { expiry: [1, 2014] }],
  [{ creditCardExpiration: '"122034"' }, { expiry: [12, 2034] }],
  [{ note: '{"id":9,"chargeAmount":1}' }, { amountMinor: 4223 }],
  [{ ['__proto__']: '{"currency":"JPY"}' }, { amountMinor: 4223, currency: 'USD' }],
  [
    { ...WITHOUT_CARD, paymentMethod: '"pm_card_visa"' },
    { amountMinor: 4223, card: VISA },
  ],
];

const denied: readonly Fields[] = [
  { creditCardNumber: '4242424242424241' },
  { creditCardNumber: '"0000000000000000"' },
  { creditCardNumber: '"42424242424"' },
  { creditCardNumber: '"42424242424242424242"' },
  { creditCardNumber: '"4242x42424242424"' },
  { creditCardNumber: '"４２４２４２４２４２４２４２４２"' },
  { creditCardNumber: VISA, creditCardCode: '"12"' },
  { creditCardNumber: VISA, creditCardCode: '1234' },
  { creditCardExpiration: '"132014"' },
  { creditCardExpiration: '"0114"' },
  { creditCardExpiration: '"01/2014"' },
  { creditCardExpiration: '"201401"' },
];

const parked: readonly (readonly [reason: string, ...Fields[]])[] = [
  ['amount_precision', ...amounts('1.005', '42.235', '30.299999999999997')],
  ['amount_precision', { currency: '"JPY"', chargeAmount: '500.5' }],
  ['amount_zero', ...amounts('0')],
  ['amount_negative', ...amounts('-1')],
  ['amount_range', ...amounts('1000000')],
  ['amount_format', ...amounts('"42,23"', '" 42.23"', '"007"', '"NaN"')],
  ['amount_type', ...amounts('null', 'true', undefined)],
  ['currency_unknown', { currency: '"ABC"' }, { currency: '"usd"' }],
  ['card_format', { creditCardNumber: '4.2E15' }, { creditCardNumber: '4242424242424242.0' }],
  ['card_format', { creditCardNumber: 'null' }, { creditCardNumber: '{}' }, WITHOUT_CARD],
  ['card_format', { creditCardCode: '12.0' }, { creditCardCode: '-1' }, { creditCardCode: '1e2' }],
  ['card_format', { paymentMethod: '"pm_card_visa"' }, { card: '"4242424242424242"' }],
];

/** Bodies with no usable id, whole. */
const unusable: readonly (readonly [reason: string, ...string[]])[] = [
  ['id_format', ...ids('1234.0', '-5', '0', '" 1234"', '""', `"${'x'.repeat(129)}"`)],
  [
    'unparseable',
    ...ids('null', undefined, '{}'),
    '',
    'no JSON',
    '[]',
    '42',
    `${orderText()} x`,
    `\uFEFF${orderText()}`,
  ],
  ['unparseable', orderText().replace('{', '{"id":1234,'), '['.repeat(20_000)],
  ['too_large', orderText({ note: `"${'x'.repeat(70_000)}"` })],
];

function amounts(...texts: (string | undefined)[]): Fields[] {
  return texts.map((chargeAmount) => ({ chargeAmount }));
}

function ids(...texts: (string | undefined)[]): string[] {
  return texts.map((id) => orderText({ id }));
}

describe('inputs', { concurrency: false }, () => {
  const owner = suiteOwner();
  let stage: Stage;
  let worker: WorkerProcess;
  /** By message id, which each published body has for a name. */
  const lot = new Map<string, ParkedRow>();
  const rows = new Map<string, OrderRow>();
  let ledger: readonly ApprovalEntry[] = [];

  before(async () => {
    stage = await openStage(owner);
    worker = await stage.startWorker();
    const bodies = [
      ...charged.map(([fields], index) => orderOf('charged', index, fields)),
      ...denied.map((fields, index) => orderOf('denied', index, fields)),
      ...parkedCases().map(({ fields }, index) => orderOf('parked', index, fields)),
      ...unusableCases().map(({ body }, index) => ({
        name: nameOf('unusable', index),
        body: Buffer.from(body),
      })),
      {
        name: 'not UTF-8',
        body: Buffer.concat([Buffer.from('{"id":"'), Buffer.of(0xff), Buffer.from('"}')]),
      },
    ];
    for (const { name: messageId, body } of bodies) {
      await stage.client.publish({ routingKey: stage.broker.ordersQueue, body, properties: { messageId } });
    }
    const expectedInLot = parkedCases().length + unusableCases().length + 1;
    await waitFor(`${expectedInLot} parked messages`, async () => {
      for (const row of await stage.parked.rest()) lot.set(String(row.message_id), row);
      return lot.size === expectedInLot;
    });
    await waitFor('all others to be announced', async () => {
      const { rows: all } = await stage.database.query<OrderRow>('select * from cardauth.orders');
      for (const row of all) rows.set(row.order_id, row);
      return all.length === charged.length + denied.length && all.every((row) => row.notified_at !== null);
    });
    ledger = await stage.gateway.approvals();
  });

  for (const [index, [fields, expected]] of charged.entries()) {
    it(`ok: ${shown(fields)}`, () => {
      const id = nameOf('charged', index);
      const row = rows.get(id);
      assert.equal(row?.status, 'ready-to-ship');
      if (expected.amountMinor !== undefined) assert.equal(Number(row.amount_minor), expected.amountMinor);
      if (expected.currency !== undefined) assert.equal(row.currency, expected.currency);
      const approvals = ledger.filter(({ orderId }) => orderId === id);
      assert.equal(approvals.length, 1);
      const [approval] = approvals;
      if (expected.amountMinor !== undefined) assert.equal(approval?.amountMinor, expected.amountMinor);
      if (expected.card !== undefined) assert.equal(approval?.cardDigest, digest(expected.card));
      if (expected.cvv !== undefined) assert.equal(approval?.cvcDigest, digest(expected.cvv));
      if (expected.expiry !== undefined) {
        assert.deepEqual([approval?.expMonth, approval?.expYear], expected.expiry);
      }
    });
  }

  for (const [index, fields] of denied.entries()) {
    it(`deny: ${shown(fields)}`, async () => {
      const id = nameOf('denied', index);
      assert.deepEqual([rows.get(id)?.status, rows.get(id)?.status_reason], ['denied', 'invalid_card_data']);
      assert.equal((await stage.gateway.requests(id)).length, 0);
      assert.deepEqual(
        stage.receiptsOf(id).map(({ routingKey }) => routingKey),
        ['order.denied'],
      );
    });
  }

  for (const [index, { reason, fields }] of parkedCases().entries()) {
    it(`park ${reason}: ${shown(fields)}`, async () => {
      const id = nameOf('parked', index);
      const row = lot.get(id);
      assert.equal(row?.reason, reason);
      assert.equal(row.class, 'input');
      assert.equal(row.order_id, id);
      assert.equal(row.body_form, 'redacted');
      assert.equal(row.replayable, false);
      assert.ok(row.body.length > 0);
      assert.doesNotMatch(row.body.toString(), /\d/, 'what could not be read is redacted');
      assert.equal(rows.get(id), undefined);
      assert.equal((await stage.gateway.requests(id)).length, 0);
    });
  }

  for (const [index, { reason, body }] of unusableCases().entries()) {
    it(`park ${reason}: ${JSON.stringify(body.slice(0, 60))}`, () => {
      const row = lot.get(nameOf('unusable', index));
      assert.equal(row?.reason, reason);
      assert.equal(row.order_id, null);
      assert.equal(row.body.length, Math.min(Buffer.byteLength(body), 65_536));
      assert.doesNotMatch(row.body.toString(), /\d/);
    });
  }

  it('park unparseable: bytes that are not UTF-8', () => {
    assert.equal(lot.get('not UTF-8')?.reason, 'unparseable');
  });

  it('takes 1234 and "1234" for one order', async () => {
    await stage.publish(orderText());
    await stage.announced('1234');
    await stage.publish(orderText({ id: '"1234"', customerId: '"5678"', chargeAmount: '"42.230"' }));
    await waitFor('the second announcement', () => stage.receiptsOf('1234').length === 2);
    assert.equal((await stage.gateway.requests('1234')).length, 1);
  });

  const others: readonly Fields[] = [
    { id: '"1234"', chargeAmount: '42.24' },
    { currency: '"EUR"' },
    { customerId: '5679' },
    { creditCardNumber: VISA },
    { creditCardNumber: '4242424242424241' },
    { creditCardExpiration: '"022014"' },
    { ...WITHOUT_CARD, paymentMethod: '"pm_card_visa"' },
  ];
  for (const fields of others) {
    it(`parks the same id with other content and changes nothing: ${shown(fields)}`, async () => {
      const before = await stage.order('1234');
      await stage.publish(orderText(fields));
      const { row } = await stage.parked.next();
      assert.equal(row.reason, 'order_conflict');
      assert.equal(row.order_id, '1234');
      const { amount_minor, currency, customer_id, status, gateway_reference } =
        (await stage.order('1234')) ?? {};
      assert.deepEqual(
        [amount_minor, currency, customer_id, status, gateway_reference],
        [
          before?.amount_minor,
          before?.currency,
          before?.customer_id,
          before?.status,
          before?.gateway_reference,
        ],
      );
      assert.equal((await stage.gateway.requests('1234')).length, 1);
    });
  }

  it('takes the same order with another CVV for the same order: no trace of a CVV is kept', async () => {
    const receipts = stage.receiptsOf('1234').length;
    await stage.publish(orderText({ creditCardCode: '124' }));
    await waitFor('one more announcement', () => stage.receiptsOf('1234').length === receipts + 1);
    assert.equal((await stage.gateway.requests('1234')).length, 1);
  });

  it('ends with an empty queue', async () => {
    await stage.endAndExpectEmptyQueue(worker);
  });
});

/** Letters only, so that a redacted body has no digit left. */
function nameOf(kind: string, index: number): string {
  return `${kind}-${String.fromCharCode(97 + Math.floor(index / 26), 97 + (index % 26))}`;
}

function orderOf(kind: string, index: number, fields: Fields) {
  const name = nameOf(kind, index);
  // Of an expired card only the canonical order's is approved.
  const unexpired = fields['creditCardNumber'] === undefined ? {} : { creditCardExpiration: '"122034"' };
  return { name, body: Buffer.from(orderText({ id: `"${name}"`, ...unexpired, ...fields })) };
}

function parkedCases(): readonly { readonly reason: string; readonly fields: Fields }[] {
  return parked.flatMap(([reason, ...cases]) => cases.map((fields) => ({ reason, fields })));
}

function unusableCases(): readonly { readonly reason: string; readonly body: string }[] {
  return unusable.flatMap(([reason, ...bodies]) => bodies.map((body) => ({ reason, body })));
}

function shown(fields: Fields): string {
  return Object.entries(fields)
    .map(([name, text]) => `${name} ${text ?? 'missing'}`)
    .join(', ')
    .slice(0, 120);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
