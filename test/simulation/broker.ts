/**
 * RabbitMQ, as far as orders pass through it: queues that give back what a lost channel held, level queues with a time
 * to live, exchanges, mandatory publishing with confirms. Frames travel in order on their connection and are lost with
 * it. amqp.ts is its client's side.
 */
import type { Options } from 'amqplib';

import { latencyMs, type World } from './network.ts';

export interface BrokerMessage {
  readonly id: number;
  readonly content: Buffer;
  readonly exchange: string;
  readonly routingKey: string;
  readonly properties: Options.Publish;
  deliveries: number;
}

/** What a consumer of the broker's side is to a queue. */
export interface Consumer {
  readonly prefetch: number;
  inFlight: number;
  deliver(message: BrokerMessage): void;
  /** The broker takes the consumer away. */
  cancel(): void;
}

interface Queue {
  readonly ready: BrokerMessage[];
  readonly consumers: Consumer[];
  unacked: number;
}

export interface BrokerNames {
  readonly orders: string;
  readonly parked: string;
  readonly announcements: string;
  /** Level queues, by name: their time to live. */
  readonly levels: ReadonlyMap<string, number>;
}

/** More deliveries than this, and the broker itself takes the message out (`x-delivery-limit`). */
const DELIVERY_LIMIT = 50;
const DELIVERED_AGAIN_AFTER_MS = 0.2;

export class SimulatedBroker {
  readonly names: BrokerNames;
  /** What downstream has received: everything that was routed there. */
  readonly receipts: BrokerMessage[] = [];
  readonly parked: BrokerMessage[] = [];
  /** Copies that wait in level queues. */
  waiting = 0;
  /** Nothing is bound to the announcements' exchange until then. */
  unboundUntilMs = 0;
  awayUntilMs = 0;
  blockedUntilMs = 0;
  /** The broker's side of every open connection, to be cut. */
  readonly connections = new Set<{ cut(because: string): void; setBlocked(isBlocked: boolean): void }>();
  /** Told of every message that is put into a queue, with the queue's name. */
  onRouted: (message: BrokerMessage, queue: string) => void = () => undefined;
  onDelivered: (message: BrokerMessage) => void = () => undefined;
  readonly #world: World;
  readonly #orders: Queue = { ready: [], consumers: [], unacked: 0 };
  #lastId = 0;
  #nextConsumer = 0;

  constructor(world: World, names: BrokerNames) {
    this.#world = world;
    this.names = names;
  }

  get isAway(): boolean {
    return this.#world.time.nowMs < this.awayUntilMs;
  }

  get isBlocked(): boolean {
    return this.#world.time.nowMs < this.blockedUntilMs;
  }

  /** Orders that are neither acked nor in a level queue: ready, and delivered. */
  get depth(): { readonly ready: number; readonly unacked: number } {
    return { ready: this.#orders.ready.length, unacked: this.#orders.unacked };
  }

  /** False when nothing takes it. */
  route(exchange: string, routingKey: string, content: Buffer, properties: Options.Publish): boolean {
    this.#lastId += 1;
    const message = { id: this.#lastId, content, exchange, routingKey, properties, deliveries: 0 };
    const { announcements, levels, orders, parked } = this.names;
    if (exchange === announcements) {
      if (this.#world.time.nowMs < this.unboundUntilMs) return false;
      this.receipts.push(message);
    } else if (routingKey === parked) this.parked.push(message);
    else if (routingKey === orders) this.#enqueue(message);
    else {
      const ttlMs = levels.get(routingKey);
      if (ttlMs === undefined) return false;
      this.waiting += 1;
      this.#world.time.quietlyAfter(ttlMs, () => {
        this.waiting -= 1;
        this.#enqueue({ ...message, deliveries: 0, routingKey: orders });
      });
    }
    this.onRouted(message, exchange === announcements ? announcements : routingKey);
    return true;
  }

  consume(consumer: Consumer): void {
    this.#orders.consumers.push(consumer);
    this.#deliverSoon();
  }

  stopConsuming(consumer: Consumer): void {
    const at = this.#orders.consumers.indexOf(consumer);
    if (at !== -1) this.#orders.consumers.splice(at, 1);
  }

  /** The queue moves to another node, or is deleted and restored: its consumers are told so. */
  moveQueue(): void {
    for (const consumer of this.#orders.consumers.splice(0)) consumer.cancel();
  }

  settled(consumer: Consumer): void {
    consumer.inFlight -= 1;
    this.#orders.unacked -= 1;
    this.#deliverSoon();
  }

  /** Back to the head of the queue, as after a nack or the end of its channel. */
  requeue(message: BrokerMessage, consumer: Consumer): void {
    consumer.inFlight -= 1;
    this.#orders.unacked -= 1;
    if (message.deliveries > DELIVERY_LIMIT) {
      this.parked.push(message);
      this.onRouted(message, this.names.parked);
    } else this.#orders.ready.unshift(message);
    this.#deliverSoon();
  }

  block(ms: number): void {
    this.blockedUntilMs = Math.max(this.blockedUntilMs, this.#world.time.nowMs + ms);
    for (const connection of this.connections) connection.setBlocked(true);
    this.unblockLater();
  }

  unblockLater(): void {
    const { time } = this.#world;
    time.after(this.blockedUntilMs - time.nowMs, () => {
      if (this.isBlocked) return;
      for (const connection of this.connections) connection.setBlocked(false);
    });
  }

  restart(awayMs: number): void {
    this.awayUntilMs = Math.max(this.awayUntilMs, this.#world.time.nowMs + awayMs);
    for (const connection of [...this.connections])
      connection.cut('CONNECTION_FORCED - broker forced connection closure');
  }

  #enqueue(message: BrokerMessage): void {
    this.#orders.ready.push(message);
    this.#deliverSoon();
  }

  #deliverSoon(): void {
    if (this.#orders.ready.length === 0) return;
    this.#world.time.quietlyAfter(DELIVERED_AGAIN_AFTER_MS + latencyMs(this.#world.random) / 8, () => {
      this.#deliver();
    });
  }

  /** Round robin over the consumers that have room. */
  #deliver(): void {
    const { consumers, ready } = this.#orders;
    for (let full = 0; ready.length > 0 && full < consumers.length;) {
      const consumer = consumers[(this.#nextConsumer += 1) % consumers.length];
      if (consumer === undefined || consumer.inFlight >= consumer.prefetch) {
        full += 1;
        continue;
      }
      full = 0;
      const message = ready.shift() as BrokerMessage;
      message.deliveries += 1;
      consumer.inFlight += 1;
      this.#orders.unacked += 1;
      this.onDelivered(message);
      consumer.deliver(message);
    }
  }
}
