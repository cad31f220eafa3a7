import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { leastPermissions, setPermissionsCommand } from '../../src/adapters/rabbitmq/least-permissions.ts';

const names = { prefix: 'cardauth', ordersQueue: 'orders', exchange: 'orders.processed' };

describe('the least permissions of a worker', () => {
  it('leave objects of others alone unless they are to be declared', () => {
    assert.deepEqual(leastPermissions({ ...names, mode: 'passive' }), {
      configure: '^cardauth\\.',
      write: '^(cardauth\\.|amq\\.default$|orders\\.processed$)',
      read: '^(cardauth\\.|orders$)',
    });
    assert.deepEqual(
      leastPermissions({ ...names, mode: 'none' }),
      leastPermissions({ ...names, mode: 'passive' }),
    );
    assert.equal(
      leastPermissions({ ...names, mode: 'assert' }).configure,
      '^(cardauth\\.|orders$|orders\\.processed$)',
    );
  });

  it('match names literally', () => {
    const ordersQueue = 'a+b(c)[d]{e}|f^g$h*i?.j\\k';
    const { read } = leastPermissions({ ...names, ordersQueue, mode: 'none' });
    assert.match(ordersQueue, new RegExp(read));
    assert.doesNotMatch('a+b(c)[d]{e}|f^g$h*i?xj\\k', new RegExp(read));
    assert.doesNotMatch(`${ordersQueue}2`, new RegExp(read));
  });

  it('are a command that can be pasted', () => {
    const command = setPermissionsCommand({ ...names, mode: 'none' }, { user: 'worker', vhost: 'my vh' });
    assert.equal(
      command,
      "rabbitmqctl set_permissions --vhost 'my vh' worker '^cardauth\\.' " +
        "'^(cardauth\\.|amq\\.default$|orders\\.processed$)' '^(cardauth\\.|orders$)'",
    );
  });
});
