/** What the database itself refuses, whoever writes; each rule by its name. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';

import { newTerms } from '../conformance/order-book.ts';
import type { TestDatabase } from '../support/services.ts';
import { migratedDatabase } from './test-book.ts';

const decided = { decided_at: 'now', version: 2 };
const approvedColumns = { status: 'ready-to-ship', gateway_reference: 'ref', attempts: 1, ...decided };

describe('the schema', () => {
  let database: TestDatabase;
  let client: pg.Client;

  before(async () => {
    database = await migratedDatabase();
    client = new pg.Client(database.url);
    await client.connect();
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  describe('of orders refuses', () => {
    for (const [what, columns, constraint] of [
      ['a status that is not in the contract', { status: 'shipped' }, 'orders_status_known'],
      ['a negative amount', { amount_minor: -1 }, 'orders_amount_not_negative'],
      ['a currency that is none', { currency: 'usd' }, 'orders_currency_form'],
      ['more than four digits of a card', { card_last4: '4242424242424242' }, 'orders_card_last4_form'],
      ['an empty id', { order_id: '' }, 'orders_order_id_length'],
      ['a denial without a time', { status: 'denied' }, 'orders_decision_has_time'],
      [
        'an approval without a reference',
        { ...approvedColumns, gateway_reference: null },
        'orders_approval_has_reference',
      ],
      ['an approval without an attempt', approvedColumns, 'orders_ready_by_an_approved_attempt'],
      [
        'a decided order that waits for a try',
        { status: 'denied', ...decided, retry_at: 'now', retry_until: 'now' },
        'orders_retry_waits_as_received',
      ],
      [
        'a try after the end of all tries',
        { retry_at: 'tomorrow', retry_until: 'now' },
        'orders_retry_has_end',
      ],
      ['a try without an end of all tries', { retry_at: 'now' }, 'orders_retry_has_end'],
      ['a notification of no decision', { notified_at: 'now' }, 'orders_only_decisions_are_notified'],
    ] as const) {
      it(what, async () => {
        await refuses(insertOrder(columns), constraint);
      });
    }

    it('to ship on the authorization of another order', async () => {
      const [taken, id] = [await insertApproved(), await insertOrder({ attempts: 1 })];
      const onTaken = { gateway_reference: taken };
      await refuses(insertAttempt(id, { state: 'approved', ...onTaken }), 'attempts_gateway_reference_key');
      await insertAttempt(id, { state: 'approved', gateway_reference: id });
      await refuses(update(id, { ...approvedColumns, ...onTaken }), 'orders_ready_by_an_approved_attempt');
    });

    it('a write that skips or repeats a version', async () => {
      const id = await insertOrder({});
      for (const version of [0, 1, 3]) await refuses(update(id, { version }), 'orders_version_rises_by_one');
      await update(id, { version: 2 });
    });

    it('another amount, currency, customer or fingerprint', async () => {
      const id = await insertOrder({});
      for (const change of [
        { amount_minor: 1 },
        { currency: 'EUR' },
        { customer_id: 'x' },
        { fingerprint: 'x' },
      ]) {
        await refuses(update(id, { ...change, version: 2 }), 'orders_terms_never_change');
      }
    });

    it('a generation that falls', async () => {
      const id = await insertOrder({ generation: 2 });
      await refuses(update(id, { generation: 1, version: 2 }), 'orders_generation_never_falls');
    });

    it('to become ready to ship by an attempt that is not its own, or not approved under that reference', async () => {
      const id = await insertOrder({});
      await refuses(update(id, approvedColumns), 'orders_ready_by_an_approved_attempt');
      await insertAttempt(id, { state: 'approved', gateway_reference: `other-${id}` });
      await refuses(update(id, approvedColumns), 'orders_ready_by_an_approved_attempt');
    });

    it('any way back from an approval', async () => {
      const id = await insertApproved();
      for (const change of [
        { status: 'denied' },
        { status: 'review' },
        { status: 'received', generation: 2 },
        { generation: 2 },
        { gateway_reference: 'another' },
        { decided_at: 'tomorrow' },
      ]) {
        await refuses(update(id, { ...change, version: 3 }), 'orders_approval_is_final');
      }
    });

    it('any way back from a denial but a new generation', async () => {
      const id = await insertOrder({ status: 'denied', decided_at: 'now' });
      for (const change of [{ status: 'received' }, { status_reason: 'other' }, { decided_at: 'tomorrow' }]) {
        await refuses(update(id, { ...change, version: 2 }), 'orders_denial_is_final');
      }
      await update(id, { status: 'received', generation: 2, decided_at: null, version: 2 });
    });

    it('a notification mark to change', async () => {
      const id = await insertOrder({ status: 'denied', decided_at: 'now', notified_at: 'now' });
      for (const notified_at of [null, 'tomorrow']) {
        await refuses(update(id, { notified_at, version: 2 }), 'orders_notified_once');
      }
    });
  });

  describe('lists unfinished orders, whoever writes:', () => {
    for (const [what, write, isUnfinished] of [
      ['a new order', () => insertOrder({}), true],
      ['one that came with its end', () => insertOrder({ ...denied, notified_at: 'now' }), false],
      ['one decided and not announced', () => insertApproved(), true],
      ['one in review', async () => changed(await insertOrder({}), { status: 'review' }), true],
      ['one announced', async () => changed(await insertOrder(denied), { notified_at: 'now' }), false],
      [
        'one announced and opened again',
        async () =>
          changed(await insertOrder({ ...denied, notified_at: 'now' }), {
            ...{ status: 'received', generation: 2, decided_at: null, notified_at: null },
          }),
        true,
      ],
      ['one seen at another time', async () => changed(await insertOrder({}), yesterday), true],
      [
        'one announced, and seen at another time',
        async () => changed(await insertOrder(denied), { ...yesterday, notified_at: 'now' }),
        false,
      ],
    ] as const) {
      it(what, async () => {
        assert.deepEqual(await listed(await write()), isUnfinished ? 1 : 0);
      });
    }

    it('and nobody else may, by a trigger on a table of his own', async () => {
      const { rows } = await client.query<{ name: string; is_open: boolean }>(
        `select p.proname::text as name, has_function_privilege('public', p.oid, 'execute') as is_open
         from pg_proc p where p.pronamespace = 'cardauth'::regnamespace and p.prosecdef order by 1`,
      );
      const names = ['list_anew', 'list_unfinished', 'unlist_finished'];
      assert.deepEqual(
        rows,
        names.map((name) => ({ name, is_open: false })),
      );
    });

    it('many in one statement', async () => {
      const ids = [await insertOrder(denied), await insertOrder(denied), await insertOrder({})];
      await client.query(
        `update cardauth.orders set version = 2, notified_at = case when status = 'denied' then now() end
         where order_id = any ($1)`,
        [ids],
      );
      assert.deepEqual(await Promise.all(ids.map(listed)), [0, 0, 1]);
    });

    const denied = { status: 'denied', decided_at: 'now' };
    const yesterday = { created_at: 'yesterday' };

    async function changed(id: string, change: Columns): Promise<string> {
      await update(id, { ...change, version: 2 });
      return id;
    }

    async function listed(id: string): Promise<number> {
      const { rows } = await client.query<{ is_right: boolean }>(
        `select u.created_at = o.created_at as is_right
         from cardauth.unfinished_orders u left join cardauth.orders o on o.order_id = u.order_id
         where u.order_id = $1`,
        [id],
      );
      assert.ok(rows.every((row) => row.is_right));
      return rows.length;
    }
  });

  it('indexes no column of orders that changes while an order is worked on', async () => {
    // Else each of an order's two updates costs every index of the table an entry. Approved orders have no reason.
    const { rows } = await client.query<{ name: string }>(
      `select distinct a.attname::text as name
       from pg_index i
       join pg_depend d on d.objid = i.indexrelid and d.refobjid = i.indrelid and d.refobjsubid > 0
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = d.refobjsubid
       where i.indrelid = 'cardauth.orders'::regclass
       union
       select distinct a.attname::text from pg_index i
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
       where i.indrelid = 'cardauth.orders'::regclass`,
    );
    const names = rows.map(({ name }) => name).toSorted();
    assert.deepEqual(names, ['card_last4', 'created_at', 'customer_id', 'order_id', 'status_reason']);
  });

  describe('of attempts refuses', () => {
    for (const [what, columns, constraint] of [
      ['a key of another form', { idempotency_key: 'order-1' }, 'attempts_idempotency_key_form'],
      ['a state that is not known', { state: 'maybe' }, 'attempts_state_known'],
      [
        'a lease on a verdict',
        { state: 'declined', lease_until: 'now' },
        'attempts_only_open_ones_are_leased',
      ],
      ['an approval without a reference', { state: 'approved' }, 'attempts_approval_has_reference'],
      ['a decline class that is not known', { decline_class: 'firm' }, 'attempts_decline_class_known'],
      ['a claim of nobody', { owner: 0 }, 'attempts_owner_positive'],
    ] as const) {
      it(what, async () => {
        await refuses(insertAttempt(await insertOrder({}), columns), constraint);
      });
    }

    it('an order that is not stored', async () => {
      await refuses(insertAttempt('nowhere', {}), 'attempts_order_id_fkey');
    });

    it('a second one that is open or approved', async () => {
      for (const first of [{ state: 'open' }, { state: 'approved', gateway_reference: 'first' }]) {
        const id = await insertOrder({});
        await insertAttempt(id, first);
        await refuses(insertAttempt(id, { generation: 2 }), 'attempts_one_open_or_approved');
      }
      const declined = await insertOrder({});
      await insertAttempt(declined, { state: 'declined' });
      await insertAttempt(declined, { generation: 2 });
    });

    it('the reference of another attempt', async () => {
      await insertAttempt(await insertOrder({}), { gateway_reference: 'used' });
      const other = await insertOrder({});
      await refuses(insertAttempt(other, { gateway_reference: 'used' }), 'attempts_gateway_reference_key');
    });

    it('a claim number that falls, a key that changes, a forgotten request, another verdict', async () => {
      const id = await insertOrder({});
      await insertAttempt(id, { claim: 2, maybe_sent: true });
      await refuses(updateAttempt(id, { claim: 1 }), 'attempts_claim_never_falls');
      await refuses(updateAttempt(id, { generation: 2 }), 'attempts_key_never_changes');
      await refuses(updateAttempt(id, { maybe_sent: false }), 'attempts_sent_is_not_forgotten');
      await updateAttempt(id, { state: 'declined' });
      await refuses(updateAttempt(id, { state: 'open' }), 'attempts_verdict_is_final');
    });
  });

  it('lets history and audit log only grow', async () => {
    await insert('order_events', { order_id: '1', fact: 'claim' });
    const audited = { command_id: 'c', actor: 'me', action: 'reopen', reason: 'asked', subject: '1' };
    await insert('audit_log', audited);
    for (const table of ['order_events', 'audit_log']) {
      const constraint = `${table}_append_only`;
      for (const sql of [
        `update cardauth.${table} set happened_at = now()`,
        `delete from cardauth.${table}`,
        `truncate cardauth.${table}`,
      ]) {
        await refuses(client.query(sql), constraint);
      }
    }
    await refuses(insert('audit_log', { ...audited, subject: '2', reason: '' }), 'audit_log_reason_given');
    await refuses(insert('audit_log', audited), 'audit_log_command_once');
  });

  it('has no column for a card number or a CVV', async () => {
    const { rows } = await client.query<{ column_name: string }>(
      `select column_name::text from information_schema.columns where table_schema = 'cardauth'`,
    );
    const suspicious = rows
      .map(({ column_name: name }) => name)
      .filter((name) => /pan|cvv|cvc|card_(number|code)|expir|body/.test(name));
    // The hold's, not the card's; and a parked body, sealed as a whole or redacted (its own tests see to that).
    assert.deepEqual(suspicious.toSorted(), ['authorization_expires_at', 'body', 'body_bytes', 'body_form']);
    assert.ok(rows.length > 50);
  });

  async function insertOrder(columns: Columns): Promise<string> {
    const { orderId: order_id } = newTerms();
    const order = {
      customer_id: '1',
      status: 'received',
      amount_minor: 1234,
      currency: 'USD',
      fingerprint: 'f',
    };
    const row = { order_id, ...order, version: 1, ...columns };
    await insert('orders', row);
    return order_id;
  }

  async function insertAttempt(order_id: string, columns: Columns): Promise<void> {
    const generation = columns['generation'] ?? 1;
    const idempotency_key = `order-${order_id}-${generation}`;
    const attempt = { generation, idempotency_key, claim: 1, owner: 1, maybe_sent: false, state: 'open' };
    await insert('attempts', { order_id, ...attempt, ...columns });
  }

  async function insertApproved(): Promise<string> {
    const id = await insertOrder({ attempts: 1 });
    await insertAttempt(id, { state: 'approved', gateway_reference: id });
    await update(id, { ...approvedColumns, gateway_reference: id });
    return id;
  }

  function insert(table: string, row: Columns): Promise<unknown> {
    const names = Object.keys(row);
    const places = names.map((_, index) => `$${index + 1}`);
    return client.query(
      `insert into cardauth.${table} (${names.join()}) values (${places.join()})`,
      Object.values(row),
    );
  }

  function update(orderId: string, change: Columns): Promise<unknown> {
    return updateTable('orders', orderId, change);
  }

  function updateAttempt(orderId: string, change: Columns): Promise<unknown> {
    return updateTable('attempts', orderId, change);
  }

  function updateTable(table: string, orderId: string, change: Columns): Promise<unknown> {
    const sets = Object.keys(change).map((name, index) => `${name} = $${index + 2}`);
    const sql = `update cardauth.${table} set ${sets.join()} where order_id = $1`;
    return client.query(sql, [orderId, ...Object.values(change)]);
  }
});

type Columns = Readonly<Record<string, string | number | boolean | null>>;

async function refuses(write: Promise<unknown>, constraint: string): Promise<void> {
  await assert.rejects(write, (error: unknown) => {
    assert.ok(error instanceof pg.DatabaseError, String(error));
    assert.equal(error.constraint, constraint, error.message);
    return true;
  });
}
