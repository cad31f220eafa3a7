/**
 * The orders of the demo: mostly good ones, with declines, hopeless cards, upstream's mistakes and copies among them.
 * Which order is what depends on its number only, so that every run of the same size has the same orders.
 */
export interface DemoOrder {
  /** Of the AMQP message; another one for each copy. */
  readonly messageId: string;
  /** undefined where the message carries no usable id. */
  readonly orderId: string | undefined;
  readonly kind: DemoOrderKind;
  /** What must become of it when no fault is in the way. */
  readonly expected: 'ready-to-ship' | 'denied' | 'parked';
  /** Minor units of USD; undefined where the message has no usable amount. */
  readonly amountMinor: bigint | undefined;
  readonly body: string;
}

export type DemoOrderKind = 'good' | 'declined' | 'hopeless card' | 'bad input' | 'copy';

const GOOD_CARDS = ['4242424242424242', '5555555555554444', '378282246310005', '6205500000000000004'];
const DECLINED_CARDS = [
  '4000000000000002',
  '4000000000009995',
  '4000000000009987',
  '4000000000009979',
  '4000000000000069',
  '4000000000000127',
  '4000000000000119',
  '4000002500003155',
];

/** `count` messages, the same for the same count. */
export function demoOrders(count: number): DemoOrder[] {
  const orders: DemoOrder[] = [];
  for (let n = 1; n <= count; n += 1) orders.push({ ...demoOrder(n, orders), messageId: `demo-${n}` });
  return orders;
}

type UnnamedOrder = Omit<DemoOrder, 'messageId'>;

function demoOrder(n: number, earlier: readonly DemoOrder[]): UnnamedOrder {
  const place = n % 100;
  if (place < 10) return cardOrder(n, 'declined', pick(DECLINED_CARDS, Math.floor(n / 100) + place));
  if (place < 13) return hopelessOrder(n);
  if (place < 16) return badInput(n, place - 13);
  if (place < 19) return copyOf(earlier[n - 8], n);
  return cardOrder(n, 'good', pick(GOOD_CARDS, n));
}

function cardOrder(n: number, kind: 'good' | 'declined', card: string): UnnamedOrder {
  const amountMinor = BigInt(100 + ((n * 7919) % 90_000));
  const expected = kind === 'good' ? 'ready-to-ship' : 'denied';
  return { orderId: String(n), kind, expected, amountMinor, body: bodyOf(n, card, amountMinor) };
}

function hopelessOrder(n: number): UnnamedOrder {
  const body = bodyOf(n, '4242424242424241', 1_000n);
  return { orderId: String(n), kind: 'hopeless card', expected: 'denied', amountMinor: 1_000n, body };
}

function badInput(n: number, which: number): UnnamedOrder {
  const bodies = [
    `{"id":${n},"customerId":1,"this is not JSON`,
    bodyOf(n, '4242424242424242', 1_000n).replace('10.00', '10.005'),
    bodyOf(n, '4242424242424242', 1_000n).replace('"chargeAmount"', '"currency":"XXX","chargeAmount"'),
  ];
  return {
    orderId: which === 0 ? undefined : String(n),
    kind: 'bad input',
    expected: 'parked',
    amountMinor: undefined,
    body: pick(bodies, which),
  };
}

function copyOf(order: DemoOrder | undefined, n: number): UnnamedOrder {
  if (order === undefined) return cardOrder(n, 'good', pick(GOOD_CARDS, n));
  return order.kind === 'bad input' ? order : { ...order, kind: 'copy' };
}

function bodyOf(n: number, card: string, amountMinor: bigint): string {
  const amount = `${amountMinor / 100n}.${String(amountMinor % 100n).padStart(2, '0')}`;
  return (
    `{"id":${n},"customerId":${5000 + (n % 700)},"creditCardNumber":${card},` +
    `"creditCardExpiration":"122034","creditCardCode":${card.startsWith('3') ? '1234' : '123'},"chargeAmount":${amount}}`
  );
}

function pick<T>(from: readonly T[], index: number): T {
  const picked = from[index % from.length];
  if (picked === undefined) throw new RangeError('nothing to pick from');
  return picked;
}
