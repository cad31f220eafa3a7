/** The checker is shown evidence in which one thing is wrong: it has to say so, and of nothing else. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { check } from './checker.ts';
import { discard, idealEvidence, wireEvent, type Draft } from './ideal-evidence.ts';
import { ALL_INVARIANTS, SHOWN_ELSEWHERE } from './shown-elsewhere.ts';

/** An approved order, a denied one, one that is upstream's mistake, of those in the evidence. */
const READY = '20';
const DENIED = '1';
const MISTAKE = 'demo-13';

interface Wrong {
  readonly what: string;
  readonly ids: readonly string[];
  readonly make: (draft: Draft) => void;
}

const WRONGS: readonly Wrong[] = [
  {
    what: 'two approvals of one order',
    ids: ['I1'],
    make: ({ approvals }) => void approvals.push({ ...of(approvals, READY) }),
  },
  {
    what: 'another amount at the gateway',
    ids: ['I2'],
    make: ({ approvals }) => void (of(approvals, READY).amountMinor += 1),
  },
  {
    what: 'an approval of a denied order',
    ids: ['I3'],
    make: ({ approvals }) =>
      void approvals.push({ ...of(approvals, READY), orderId: DENIED, authorizationId: 'pi_other' }),
  },
  {
    what: 'another key on the second request',
    ids: ['I4', 'I6'],
    make: ({ requests }) => void requests.push({ ...of(requests, READY), idempotencyKey: 'order-20-1-x' }),
  },
  {
    what: 'a status that goes back',
    ids: ['I5'],
    make: ({ events, orders }) => {
      const last = events.findLast(({ order_id }) => order_id === READY);
      if (last !== undefined) last.status_after = 'denied';
      row(orders, READY).status = 'ready-to-ship';
    },
  },
  {
    what: 'a lost history row',
    ids: ['I5'],
    make: (draft) => {
      draft.events = draft.events.filter((event) => !(event.order_id === READY && event.version === 2));
    },
  },
  {
    what: 'a request before its claim',
    ids: ['I6'],
    make: ({ requests }) => void (of(requests, READY).at = '2025-12-31T00:00:00.000Z'),
  },
  {
    what: 'an approval that nobody stored',
    ids: ['I3', 'I8'],
    make: ({ approvals }) =>
      void approvals.push({ ...of(approvals, READY), orderId: '999', authorizationId: 'pi_999' }),
  },
  {
    what: 'an order that is nowhere',
    ids: ['I9', 'I9', 'I11', 'I3', 'I8', 'I10'],
    make: (draft) => {
      draft.orders = draft.orders.filter(({ order_id }) => order_id !== READY);
    },
  },
  {
    what: 'a message without an id that is nowhere',
    ids: ['I9'],
    make: (draft) => {
      draft.parked = draft.parked.filter(({ messageId }) => messageId !== MISTAKE);
    },
  },
  {
    what: 'a good order that was denied',
    ids: ['I9'],
    make: (draft) => {
      const { approvals, events, orders, receipts } = draft;
      draft.approvals = approvals.filter(({ orderId }) => orderId !== READY);
      Object.assign(row(orders, READY), { status: 'denied', gateway_reference: null });
      for (const event of events.filter(({ order_id }) => order_id === READY)) {
        if (event.status_before === 'ready-to-ship') event.status_before = 'denied';
        if (event.status_after === 'ready-to-ship') event.status_after = 'denied';
      }
      for (const receipt of receipts.filter(({ body }) => body.orderId === READY)) {
        receipt.eventId = `order-${READY}-denied-1`;
        receipt.routingKey = 'order.denied';
        receipt.body = { ...receipt.body, status: 'denied', authorizationId: null };
      }
    },
  },
  {
    what: 'an ack before the mark',
    ids: ['I10'],
    make: ({ wire }) => void (acked(wire, 'demo-20').atMs -= 80),
  },
  {
    what: 'an ack before the parked copy was confirmed',
    ids: ['I10'],
    make: ({ wire }) => void (acked(wire, MISTAKE).atMs -= 80),
  },
  {
    what: 'a message that left the parking lot unrecorded',
    ids: ['I10'],
    make: ({ wire }) => void wire.push(wireEvent(1e15, 'acked', MISTAKE, 'cardauth.parked')),
  },
  {
    what: 'a tag that is not of its channel',
    ids: ['I10'],
    make: ({ wire }) => void wire.push(wireEvent(0, 'settled twice', undefined)),
  },
  {
    what: 'no announcement',
    ids: ['I11'],
    make: (draft) => {
      draft.receipts = draft.receipts.filter(({ body }) => body.orderId !== DENIED);
    },
  },
  {
    what: 'announcements under two ids',
    ids: ['I11'],
    make: ({ receipts }) => {
      const first = receipts.find(({ body }) => body.orderId === READY);
      if (first !== undefined) receipts.push({ ...first, eventId: 'order-20-ready-to-ship-2' });
    },
  },
  {
    what: 'an announcement of what is undecided',
    ids: ['I11'],
    make: ({ receipts }) => {
      const [first] = receipts;
      if (first !== undefined) receipts.push({ ...first, body: { ...first.body, orderId: '999' } });
    },
  },
  {
    what: 'a message that is left over',
    ids: ['I12'],
    make: ({ queues }) => void queues.push({ name: 'cardauth.retry.300', messages: 1 }),
  },
  {
    what: 'a worker that could not end well',
    ids: ['I12'],
    make: ({ exits }) => void exits.push({ atMs: 0, worker: 0, code: 143, signal: null, sent: 'SIGTERM' }),
  },
  {
    what: 'a hot loop',
    ids: ['I13'],
    make: ({ wire }) => {
      for (let n = 0; n < 20; n += 1) wire.push(wireEvent(n, 'delivered', 'demo-20'));
    },
  },
  {
    what: 'a publish that upstream gave up',
    ids: ['I14'],
    make: ({ journal }) =>
      void journal.push({ atMs: 0, messageId: 'demo-20', orderId: READY, outcome: 'nacked' }),
  },
  {
    what: 'a refusal that a worker forgot',
    ids: ['I14'],
    make: ({ wire }) => void wire.push(wireEvent(1e15, 'refused', 'demo-20', 'cardauth.retry.300')),
  },
  {
    what: 'a tree that timed out too early',
    ids: ['I16'],
    make: ({ logs }) =>
      void logs.push({
        worker: 0,
        msg: 'tuple tree failed',
        reason: 'timeout',
        ageMs: 5_000,
        text: 'a line',
      }),
  },
  {
    what: 'a tree that timed out too late, though another worker was frozen',
    ids: ['I16'],
    make: ({ blows, logs }) => {
      blows.push({ atMs: 0, kind: 'zombie', worker: 1, tookMs: 40_000, forMs: 40_000 });
      logs.push({
        worker: 0,
        time: 40_000,
        msg: 'tuple tree failed',
        reason: 'timeout',
        ageMs: 40_000,
        text: '',
      });
    },
  },
  {
    what: 'a second reconciliation that finds something to settle',
    ids: ['I8', 'I8'],
    make: ({ operators }) => {
      const last = operators.at(-1);
      const difference = { kind: 'unrecorded_approval', orderId: READY, isCertain: true, settled: null };
      if (last !== undefined) last.printed = [{ differences: [difference] }];
    },
  },
  {
    what: 'an order that a second reconciliation changes',
    ids: ['I5', 'I8'],
    make: ({ events, operators }) => {
      const happened_at = new Date((operators.at(-1)?.atMs ?? 0) + 50).toISOString();
      const [before, after] = ['authorizing', 'ready-to-ship'];
      events.push({
        ...row(events, READY),
        version: 9,
        happened_at,
        status_before: before,
        status_after: after,
      });
    },
  },
  {
    what: 'a replay command that began two replays',
    ids: ['I17'],
    make: ({ batches }) => void batches.push({ batch_id: 'b-2', command_id: 'replay-1', state: 'done' }),
  },
  {
    what: 'a killed replay that nobody took up',
    ids: ['I17'],
    make: ({ batches }) => void batches.push({ batch_id: 'b-2', command_id: 'replay-2', state: 'open' }),
  },
  {
    what: 'a parked order that was replayed twice',
    ids: ['I17'],
    make: ({ members }) => {
      const [member] = members;
      if (member !== undefined) members.push({ ...member, batch_id: 'b-2' });
    },
  },
  {
    what: 'a decided order that was sent again after its replay',
    ids: ['I6', 'I17'],
    make: ({ members, requests }) => {
      const at = new Date(Date.parse(members[0]?.settled_at ?? '') + 500).toISOString();
      requests.push({ ...of(requests, READY), at });
    },
  },
  {
    what: 'an operator without a reason',
    ids: ['I18'],
    make: ({ audit }) => {
      const [entry] = audit;
      if (entry !== undefined) entry.reason = '';
    },
  },
  {
    what: 'an action that does not say what was before',
    ids: ['I18'],
    make: ({ audit }) => {
      const last = audit.at(-1);
      if (last !== undefined) last.before = null;
    },
  },
  {
    what: 'a replay and a pause without a trace',
    ids: ['I18', 'I18'],
    make: (draft) => void (draft.audit = []),
  },
  {
    what: 'an audit log that can be changed',
    ids: ['I18'],
    make: ({ probes }) => void probes.push({ about: 'audit log', what: 'delete', answer: 'allowed' }),
  },
  {
    what: 'a broken configuration that starts',
    ids: ['I20'],
    make: ({ probes }) =>
      void probes.push({ about: 'configuration', what: 'a long lease', answer: 'allowed' }),
  },
  {
    what: 'a card number in a log',
    ids: ['I19'],
    make: ({ folder }) => {
      writeFileSync(join(folder, 'worker-1.log'), 'card 4242 4242 4242 4242 was charged');
    },
  },
  {
    what: 'a secret in the database',
    ids: ['I19'],
    make: ({ folder }) => {
      writeFileSync(join(folder, 'database.ndjson'), '"sk_test_of_the_ideal_run"');
    },
  },
  {
    what: 'a worker that ended by itself',
    ids: ['conduct'],
    make: ({ exits }) => void exits.unshift({ atMs: 0, worker: 0, code: 70, signal: null, sent: undefined }),
  },
  {
    what: 'a bug in a log',
    ids: ['conduct'],
    make: ({ logs }) =>
      void logs.push({ worker: 0, msg: 'a bug: the worker ends', text: '{"msg":"a bug: the worker ends"}' }),
  },
  {
    what: 'a blow that did not fall',
    ids: ['storm', 'storm'],
    make: (draft) => {
      draft.plan = { ...draft.plan, blows: [{ atMs: 0, blow: { kind: 'worker killed', worker: 0 } }] };
    },
  },
];

describe('the checker', () => {
  it('lets a tree time out late whose worker was frozen', () => {
    const draft = idealEvidence();
    draft.blows.push({ atMs: 1_000, kind: 'zombie', worker: 1, tookMs: 40_000, forMs: 40_000 });
    const late = { msg: 'tuple tree failed', reason: 'timeout', ageMs: 40_100, text: '' };
    draft.logs.push({ ...late, worker: 1, time: 41_000 });
    const findings = check(draft);
    discard(draft);
    assert.deepEqual(violated(findings), []);
    assert.equal(findings.find(({ id }) => id === 'I16')?.cases, 1);
  });

  it('finds nothing wrong where nothing is, and looks at something for each invariant', () => {
    const draft = idealEvidence();
    const findings = check(draft);
    discard(draft);
    assert.deepEqual(violated(findings), []);
    for (const id of ALL_INVARIANTS.filter((each) => SHOWN_ELSEWHERE[each] === undefined))
      assert.ok(
        findings.some((finding) => finding.id === id && finding.cases > 0),
        id,
      );
  });

  for (const { what, ids, make } of WRONGS) {
    it(`finds ${what}`, () => {
      const draft = idealEvidence();
      make(draft);
      const findings = check(draft);
      discard(draft);
      assert.deepEqual(violated(findings).sort(), [...ids].sort());
    });
  }
});

function violated(findings: ReturnType<typeof check>): string[] {
  return findings.filter(({ violations }) => violations.length > 0).map(({ id }) => id);
}

function of<T extends { orderId: string | null }>(items: readonly T[], orderId: string): T {
  return found(items.find((item) => item.orderId === orderId));
}

function row<T extends { order_id: string }>(items: readonly T[], orderId: string): T {
  return found(items.find((item) => item.order_id === orderId));
}

function acked(wire: Draft['wire'], messageId: string): Draft['wire'][number] {
  return found(wire.find((event) => event.what === 'acked' && event.messageId === messageId));
}

function found<T>(item: T | undefined): T {
  if (item === undefined) throw new Error('the ideal evidence has no such item');
  return item;
}
