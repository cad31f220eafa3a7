import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { createBrokerUser } from '../support/broker-user.ts';
import { canAdministerBroker, rabbitmqctl } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';
import { realConnection } from './scene.ts';

describe('names and passwords of any characters, on a real broker', { skip: !canAdministerBroker }, () => {
  for (const [name, password, vhost] of [
    ['t-ü:@/%', 'pä:ss@wo/rd%2F,?#&=+ "\\', '/'],
    ['t-plain', '密码-пароль', 'my/vh'],
    ['t-per%40cent', '%41%', 'ü %2F?#vh'],
  ] as const) {
    it(`user ${name} in vhost ${vhost}`, async (t) => {
      if (vhost !== '/') {
        await rabbitmqctl('add_vhost', vhost);
        t.after(() => rabbitmqctl('delete_vhost', vhost));
      }
      const user = await createBrokerUser({ name, password, vhost });
      t.after(() => user.drop());
      await user.allow('.*', '.*', '.*');
      const connection = realConnection('consume', user.url);
      t.after(() => connection.close());
      connection.start();
      const link = await waitFor('a link', () => connection.link);
      const { channel } = await link.openChannel();
      const { queue } = await channel.assertQueue('', { exclusive: true });
      assert.match(queue, /^amq\.gen/);
      assert.match(await rabbitmqctl('list_queues', '--vhost', vhost, 'name'), new RegExp(queue));
    });
  }
});
