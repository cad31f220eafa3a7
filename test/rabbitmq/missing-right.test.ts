import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  missingRightOf,
  missingRightText,
  namingMissingRight,
} from '../../src/adapters/rabbitmq/missing-right.ts';
import { PermanentProblem } from '../../src/adapters/rabbitmq/keep-open.ts';

/** As amqplib reports them; the texts are RabbitMQ's. */
function refusal(text: string, classId: number, methodId: number, code = 403): Error {
  const message = `Operation failed: X; 403 (ACCESS-REFUSED) with message "${text}"`;
  return Object.assign(new Error(message), { code, classId, methodId });
}

describe('a 403 of the broker', () => {
  for (const [what, text, classId, methodId, permission] of [
    ['declaring a queue', "access to queue 'q' in vhost '/' refused for user 'w'", 50, 10, 'configure'],
    ['a dead-letter exchange', "access to exchange 'q' in vhost '/' refused for user 'w'", 50, 10, 'write'],
    ['binding a queue', "access to queue 'q' in vhost '/' refused for user 'w'", 50, 20, 'write'],
    ['binding to an exchange', "access to exchange 'q' in vhost '/' refused for user 'w'", 50, 20, 'read'],
    [
      'declaring an exchange',
      "access to exchange 'q' in vhost '/' refused for user 'w'",
      40,
      10,
      'configure',
    ],
    ['consuming', "access to queue 'q' in vhost '/' refused for user 'w'", 60, 20, 'read'],
    ['publishing', "access to exchange 'q' in vhost '/' refused for user 'w'", 60, 40, 'write'],
    ['a newer broker', "read access to queue 'q' in vhost '/' refused for user 'w'", 50, 10, 'read'],
    [
      'a topic',
      "write access to topic 'q' in exchange 'e' in vhost '/' refused for user 'w'",
      60,
      40,
      'write',
    ],
  ] as const) {
    it(`when ${what} names the permission ${permission}`, () => {
      const missing = missingRightOf(refusal(`ACCESS_REFUSED - ${text}`, classId, methodId));
      assert.deepEqual(
        [missing?.name, missing?.permission, missing?.user, missing?.vhost],
        ['q', permission, 'w', '/'],
      );
    });
  }

  it('says who, where, what and how, as a command that a shell takes as it is meant', () => {
    const text = "ACCESS_REFUSED - access to queue 'it's' in vhost 'my/v h' refused for user 'ü:@/%'";
    const missing = missingRightOf(refusal(text, 60, 20));
    assert.ok(missing);
    const said = missingRightText(missing);
    assert.match(said, /^user ü:@\/% has no read permission on queue it's in vhost my\/v h: rabbitmqctl/);
    assert.match(said, /--vhost 'my\/v h' 'ü:@\/%' <configure> <write> <read>, with a <read> pattern/);
    assert.match(said, /matches 'it'\\''s'/);
  });

  it('is a problem that lasts until a person acts; anything else stays what it was', () => {
    const named = namingMissingRight(
      refusal("ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'w'", 60, 20),
    );
    assert.ok(named instanceof PermanentProblem);
    for (const other of [
      refusal("ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use", 60, 20),
      refusal("NOT_FOUND - no queue 'q' in vhost '/'", 60, 20, 404),
      new Error("ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'w'"),
      'text',
    ]) {
      assert.equal(namingMissingRight(other), other);
    }
  });
});
