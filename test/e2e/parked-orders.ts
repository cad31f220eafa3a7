import { compactDecrypt, importJWK, type JWK } from 'jose';
import type pg from 'pg';
import type { BrokerClient, Received } from '../support/broker-client.ts';
import { waitFor } from '../support/wait-for.ts';

/** A row of cardauth.parked_orders. */
export interface ParkedRow {
  readonly parked_id: string;
  readonly park_id: string;
  readonly order_id: string | null;
  readonly customer_id: string | null;
  readonly reason: string;
  readonly class: string;
  readonly error: string;
  readonly cause: string;
  readonly attempts: number;
  readonly message_id: string | null;
  readonly origin_queue: string;
  readonly origin_exchange: string;
  readonly origin_routing_key: string;
  readonly worker_version: string | null;
  readonly content_type: string | null;
  readonly properties: { readonly headers: Readonly<Record<string, unknown>> };
  readonly card_last4: string | null;
  readonly body: Buffer;
  readonly body_form: 'sealed' | 'redacted';
  readonly body_bytes: number;
  readonly replayable: boolean;
  readonly replay_from: 'row' | 'unsealed-queue' | null;
  readonly not_replayable_because: string | null;
  readonly state: string;
  readonly first_seen_at: Date;
  readonly parked_at: Date;
}

/** A parked order as people find it: its row, and the body that a replay would publish, or what is left of it. */
export interface ParkedOrder {
  readonly row: ParkedRow;
  readonly body: Buffer;
  /** The message on the queue of unsealed ones, taken off it, where it is there. */
  readonly message: Received | undefined;
}

/** Looks at the parked orders of one stage, each once, in the order in which they were recorded. */
export class ParkedOrders {
  readonly #database: pg.Pool;
  readonly #client: BrokerClient;
  readonly #unsealedQueue: string;
  readonly #taken = new Map<unknown, Received>();
  /** Not the last row's place: what was numbered earlier may be committed later. */
  readonly #seen: string[] = [];

  constructor(database: pg.Pool, client: BrokerClient, prefix: string) {
    this.#database = database;
    this.#client = client;
    this.#unsealedQueue = `${prefix}.parked.unsealed`;
  }

  /** The next one; waits for it. `cardKey` opens what is sealed. */
  async next(cardKey?: JWK, { timeoutMs = 20_000 } = {}): Promise<ParkedOrder> {
    const row = await waitFor('a parked order', async () => (await this.#newRows(1))[0], { timeoutMs });
    if (row.replay_from === 'unsealed-queue') {
      const message = await this.#takeUnsealed(row.park_id);
      return { row, body: message.body, message };
    }
    return { row, body: await readable(row, cardKey), message: undefined };
  }

  /** The body of a sealed row, as text. */
  async open(row: ParkedRow | undefined, cardKey: JWK): Promise<string> {
    if (row?.body_form !== 'sealed') throw new Error('there is no sealed body');
    return (await readable(row, cardKey)).toString();
  }

  /** All rows that nobody has looked at yet. */
  async rest(): Promise<ParkedRow[]> {
    return this.#newRows(100_000);
  }

  async #newRows(most: number): Promise<ParkedRow[]> {
    const { rows } = await this.#database.query<ParkedRow>(
      'select * from cardauth.parked_orders where park_id <> all($1) order by parked_id limit $2',
      [this.#seen, most],
    );
    this.#seen.push(...rows.map((row) => row.park_id));
    return rows;
  }

  #takeUnsealed(parkId: string): Promise<Received> {
    return waitFor(`the unsealed message ${parkId}`, async () => {
      for (;;) {
        const found = this.#taken.get(parkId);
        if (found !== undefined) return found;
        const message = await this.#client.take(this.#unsealedQueue);
        if (message === undefined) return undefined;
        this.#taken.set(message.headers['cardauth-park-id'], message);
      }
    });
  }
}

async function readable({ body, body_form: form }: ParkedRow, cardKey: JWK | undefined): Promise<Buffer> {
  if (form === 'redacted') return body;
  if (cardKey === undefined) throw new Error('the body is sealed: say with which key');
  const algorithm = cardKey.kty === 'oct' ? 'dir' : 'RSA-OAEP-256';
  const { plaintext } = await compactDecrypt(body.toString(), await importJWK(cardKey, algorithm));
  return Buffer.from(plaintext);
}
