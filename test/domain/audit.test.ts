import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { auditEntry, operatorCommand, type OperatorCommand } from '../../src/domain/audit.ts';

const card = '4242 4242 4242 4242';
const command: OperatorCommand = {
  commandId: 'c-1',
  actor: 'anna@ops-1',
  action: 'pause',
  reason: 'maintenance',
};

describe('an operator command', () => {
  it('keeps what it is given, on one line', () => {
    assert.deepEqual(operatorCommand({ ...command, reason: ' the gateway\nasked us to ' }), {
      ...command,
      reason: 'the gateway asked us to',
    });
  });

  for (const [what, change, message] of [
    ['no reason', { reason: ' \n ' }, /the reason is 1-500 characters/],
    ['a reason that is too long', { reason: 'x'.repeat(501) }, /the reason is 1-500/],
    ['no actor', { actor: '' }, /the actor is 1-200/],
    ['an action that is none', { action: 'Pause!' }, /an action is/],
    ['a command id with spaces', { commandId: 'a b' }, /a command id is/],
  ] as const) {
    it(`refuses ${what}`, () => {
      assert.throws(() => operatorCommand({ ...command, ...change }), message);
    });
  }
});

describe('an audit entry', () => {
  it('shows no card number, wherever it was written', () => {
    const entry = auditEntry({
      ...command,
      subject: 'order:1234',
      reason: `the customer said ${card}`,
      actor: `anna ${card}`,
      before: { text: card, deep: [{ number: 4242424242424242, [card]: true }] },
      after: { amountMinor: '4223', count: 3, ok: true, none: null },
    });
    assert.doesNotMatch(JSON.stringify(entry).replace(/[ -]/g, ''), /4242424242424242/);
    assert.match(entry.reason, /^the customer said 42[*\d ]+4242$/);
    assert.deepEqual(entry.after, { amountMinor: '4223', count: 3, ok: true, none: null });
  });

  it('keeps the id of an order as it is stored, even one that looks like a card number', () => {
    assert.equal(
      auditEntry({ ...command, subject: 'order:4242424242424242' }).subject,
      'order:4242424242424242',
    );
  });

  it('refuses a state without end', () => {
    const after = { members: Array.from({ length: 10_000 }, (_, n) => `order-${n}`) };
    assert.throws(() => auditEntry({ ...command, subject: 'batch:1', after }), /over 65536 bytes/);
  });

  it('can be stored whatever was in it', () => {
    const { after } = auditEntry({ ...command, subject: 's', after: { text: 'a\0b\ud800', not: NaN } });
    assert.deepEqual(after, { text: 'a b ', not: 'NaN' });
  });
});
