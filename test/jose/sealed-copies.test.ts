import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCardCipher } from '../../src/adapters/jose/card-cipher.ts';
import { cardKeys } from '../../src/config/card-keys.ts';
import { sealedCopies } from '../../src/sealed-copies.ts';
import { bytes, orderText, WITHOUT_CARD } from '../domain/order-text.ts';
import { ecKey, sharedKey } from './keys.ts';

const WHOLE = '{"creditCardNumber":1111222233334444,"creditCardExpiration":"012014","creditCardCode":123}';
const STRIPPED = '{"creditCardNumber":1111222233334444,"creditCardExpiration":"012014","cvvRemoved":true}';

describe('sealed copies', () => {
  const cipher = createCardCipher(cardKeys.parse(JSON.stringify(ecKey('P-256'))));
  const copyBody = sealedCopies(cipher);

  for (const [isDecided, content] of [
    [false, WHOLE],
    [true, STRIPPED],
  ] as const) {
    it(`carry the card sealed ${isDecided ? 'and without its CVV' : 'as a whole'}`, async () => {
      const copy = await copyBody(bytes(orderText()), { isDecided });
      const { card, ...others } = JSON.parse(Buffer.from(copy).toString()) as { card: string };
      assert.deepEqual(others, { id: 1234, customerId: 5678, chargeAmount: 42.23 });
      assert.equal(await opened(card), content);
    });
  }

  it('leave a sealed card as it is, and take the CVV out of it once there is a verdict', async () => {
    const card = await cipher.seal(bytes(WHOLE));
    const body = bytes(orderText({ ...WITHOUT_CARD, card: `"${card}"` }));
    assert.equal(await copyBody(body, { isDecided: false }), body);
    const copy = await copyBody(body, { isDecided: true });
    assert.equal(await opened((JSON.parse(Buffer.from(copy).toString()) as { card: string }).card), STRIPPED);
    const again = await copyBody(copy, { isDecided: true });
    assert.equal(
      await opened((JSON.parse(Buffer.from(again).toString()) as { card: string }).card),
      STRIPPED,
    );
  });

  it('leave alone what holds no card, or none that we can open', async () => {
    const stranger = createCardCipher(cardKeys.parse(JSON.stringify(sharedKey())));
    for (const body of [
      orderText({ ...WITHOUT_CARD, paymentMethod: '"pm_1"' }),
      orderText({ ...WITHOUT_CARD, card: `"${await stranger.seal(bytes(WHOLE))}"` }),
      'no order',
    ]) {
      const before = bytes(body);
      assert.equal(await copyBody(before, { isDecided: true }), before);
    }
  });

  async function opened(card: string): Promise<string> {
    return Buffer.from((await cipher.open(card)) ?? []).toString();
  }
});
