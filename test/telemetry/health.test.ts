import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import type { Availability } from '../../src/ports/availability.ts';
import { startHealthServer } from '../../src/telemetry/health.ts';
import { readinessOf, type Readiness } from '../../src/telemetry/readiness.ts';

function dependency(name: string, why?: string): Availability {
  return { name, unavailableBecause: () => why, onChange: () => () => undefined };
}

async function started(t: TestContext, readiness: () => Readiness) {
  const server = await startHealthServer({ host: '127.0.0.1', port: 0, readiness });
  t.after(() => server.close());
  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, init);
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? '' : (JSON.parse(text) as unknown),
    };
  };
  return { server, get };
}

const ready: Readiness = { ready: true, state: 'running', reasons: [] };

describe('readinessOf', () => {
  it('is ready when running, with everything available and nobody holding', () => {
    assert.deepEqual(readinessOf({ state: 'running', dependencies: [dependency('database')] }), ready);
  });

  it('gives every reason', () => {
    const dependencies = [
      dependency('database', 'refused'),
      dependency('gateway'),
      dependency('broker', 'no queue'),
    ];
    assert.deepEqual(readinessOf({ state: 'draining', dependencies, holds: ['operator'] }), {
      ready: false,
      state: 'draining',
      reasons: [
        'the worker is draining',
        'database: refused',
        'broker: no queue',
        'the intake is held by: operator',
      ],
    });
  });
});

describe('the health server', () => {
  it('answers /livez whatever the dependencies do', async (t) => {
    const { get } = await started(t, () => ({ ready: false, state: 'starting', reasons: ['x'] }));
    const { status, body, headers } = await get('/livez');
    assert.deepEqual([status, body], [200, { alive: true }]);
    assert.equal(headers.get('cache-control'), 'no-store');
  });

  it('answers /readyz with 200 or 503 and the reasons, at the moment of asking', async (t) => {
    let now = ready;
    const { get } = await started(t, () => now);
    assert.deepEqual((await get('/readyz?verbose')).status, 200);
    now = { ready: false, state: 'running', reasons: ['database: refused for card 4242424242424242'] };
    const { status, body } = await get('/readyz');
    assert.equal(status, 503);
    assert.deepEqual(body, { ...now, reasons: ['database: refused for card 424242******4242'] });
  });

  it('knows nothing else, and no other method', async (t) => {
    const { get } = await started(t, () => ready);
    assert.equal((await get('/metrics')).status, 404);
    assert.equal((await get('/')).status, 404);
    const posted = await get('/livez', { method: 'POST', body: 'x' });
    assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD']);
    const head = await get('/livez', { method: 'HEAD' });
    assert.deepEqual([head.status, head.body], [200, '']);
  });

  it('closes at once, with connections kept open or half a request sent', { timeout: 10_000 }, async (t) => {
    const { server, get } = await started(t, () => ready);
    await get('/livez');
    const socket = connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET /livez HTTP/1.1\r\n');
    socket.on('error', () => undefined);
    const cut = new Promise((resolve) => socket.once('close', resolve));
    const startedAt = performance.now();
    await server.close();
    await cut;
    // Left to itself, Node.js keeps an idle connection for five seconds, and half a request for longer.
    assert.ok(performance.now() - startedAt < 4_500);
  });

  it('says which variables to change when its port is taken', async (t) => {
    const { server } = await started(t, () => ready);
    await assert.rejects(
      startHealthServer({ host: '127.0.0.1', port: server.port, readiness: () => ready }),
      /cannot listen on 127\.0\.0\.1:\d+ \(CARDAUTH_HTTP_HOST, CARDAUTH_HTTP_PORT.*EADDRINUSE/,
    );
  });
});
