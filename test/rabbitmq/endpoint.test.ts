import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { describe, it } from 'node:test';

import {
  connectOptions,
  labelOf,
  parseAmqpUrls,
  type Endpoint,
} from '../../src/adapters/rabbitmq/endpoint.ts';

describe('AMQP endpoints', () => {
  it('takes several URLs and fills in what they leave out', () => {
    const [first, second] = parseAmqpUrls(
      'amqp://rabbit-1, amqps://worker:pw@rabbit-2:5999/orders?heartbeat=5',
    );
    assert.deepEqual(summary(first), ['rabbit-1', 5672, 'guest', 'guest', '/', 10, undefined]);
    assert.deepEqual(summary(second).slice(0, 6), ['rabbit-2', 5999, 'worker', 'pw', 'orders', 5]);
    assert.deepEqual(second?.tls, { ca: undefined, cert: undefined, key: undefined });
  });

  for (const [path, vhost] of [
    ['', '/'],
    ['/', '/'],
    ['/%2F', '/'],
    ['/my%2Fvh', 'my/vh'],
    ['/my/vh', 'my/vh'],
    ['/50%25', '50%'],
  ] as const) {
    it(`reads the path "${path}" as the vhost ${vhost}, and amqplib gets it so that it unescapes to that`, () => {
      const [endpoint] = parseAmqpUrls(`amqp://h${path}`);
      assert.equal(endpoint?.vhost, vhost);
      assert.equal(decodeURIComponent(connectOptions(endpoint).options.vhost ?? ''), vhost);
    });
  }

  it('keeps non-ASCII passwords, and passwords with commas, colons and at signs', () => {
    const [endpoint] = parseAmqpUrls('amqp://u:p%C3%A4ss%2C%3A%40@[::1]:5673');
    assert.equal(endpoint?.password.reveal(), 'päss,:@');
    assert.equal(labelOf(endpoint), '[::1]:5673');
    const response = connectOptions(endpoint).socket.credentials?.response().toString();
    assert.equal(response, '\0u\0päss,:@');
  });

  it('takes TLS files from the URL, and otherwise those that it is given', () => {
    const given = { ca: 'ca.pem', cert: 'cert.pem', key: 'key.pem' };
    const tlsOf = (url: string) => parseAmqpUrls(url, given)[0]?.tls;
    assert.deepEqual(tlsOf('amqps://h'), given);
    assert.deepEqual(tlsOf('amqps://h?cacertfile=own.pem'), { ...given, ca: 'own.pem' });
    assert.deepEqual(tlsOf('amqps://h?certfile=c&keyfile=k'), { ca: 'ca.pem', cert: 'c', key: 'k' });
    assert.deepEqual(tlsOf('amqps://h?certfile=c'), { ca: 'ca.pem', cert: 'c', key: undefined });
    assert.equal(tlsOf('amqp://h'), undefined);
  });

  it('shows no password when it is printed', () => {
    const [endpoint] = parseAmqpUrls('amqp://u:hunter2@h');
    assert.doesNotMatch(inspect(endpoint, { depth: 9 }) + JSON.stringify(endpoint), /hunter2/);
  });

  for (const [text, complaint] of [
    ['http://u:hunter2@h', /AMQP URL number 1: must begin with/],
    ['amqp://ok,u:hunter2@h', /number 2/],
    ['amqp://u:hunter2%zz@h', /the password has a %/],
    ['amqp://u:hunter2@h:99999', /not a URL/],
    ['amqp://u:hunter2@h?heartbeat=0', /heartbeat/],
    ['', /number 1: not a URL/],
  ] as const) {
    it(`refuses ${JSON.stringify(text.replace('hunter2', '...'))} without quoting it`, () => {
      assert.throws(
        () => parseAmqpUrls(text),
        (error: Error) => complaint.test(error.message) && !inspect(error).includes('hunter2'),
      );
    });
  }
});

function summary(endpoint: Endpoint | undefined): unknown[] {
  assert.ok(endpoint);
  const { host, port, username, password, vhost, heartbeatSeconds, tls } = endpoint;
  return [host, port, username, password.reveal(), vhost, heartbeatSeconds, tls];
}
