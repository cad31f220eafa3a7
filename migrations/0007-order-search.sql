-- What operators search orders by. Every page is a range of one of these, in the order of its last two columns, so a
-- page costs the same on a hundred orders and on ten million. Columns that change while an order is worked on are kept
-- out of them where possible: an update that changes no indexed column costs no index anything.

create index orders_by_age on cardauth.orders (created_at, order_id);

-- Without a decision, or decided and not announced: what operators look at, and small, however large the table is.
create index orders_unannounced_by_age on cardauth.orders (created_at, order_id) where notified_at is null;

create index orders_by_customer on cardauth.orders (customer_id, created_at, order_id);

create index orders_by_card on cardauth.orders (card_last4, created_at, order_id) where card_last4 is not null;

-- Approved orders have no reason.
create index orders_by_reason on cardauth.orders (status_reason, created_at, order_id) where status_reason is not null;

-- A hold that was given back is what a cardholder asks about.
create index attempts_void_reference on cardauth.attempts (void_reference) where void_reference is not null;
