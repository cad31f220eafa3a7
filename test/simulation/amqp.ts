/**
 * The simulated broker behind amqplib's interface, as the adapter uses it: what a worker's process sees of it. Like
 * amqplib, a closed channel throws on ack and publish and fails what is unconfirmed and unanswered; a settled or unknown
 * delivery tag closes its channel; a forced close says nothing on `error`.
 */
import { EventEmitter } from 'node:events';

import { IllegalOperationError, type ChannelModel, type ConsumeMessage, type Options } from 'amqplib';

import type { Dial } from '../../src/adapters/rabbitmq/connection.ts';
import type { BrokerMessage, Consumer, SimulatedBroker } from './broker.ts';
import type { CallSite, Fault } from './faults.ts';
import type { SimulatedProcess } from './machine.ts';
import { inWords, latencyMs, type World } from './network.ts';

/** What a monitor wants to know of a process's dealings with the broker. */
export interface AmqpWatch {
  delivered(process: SimulatedProcess, message: BrokerMessage): void;
  /** The process settles a delivery; `isOwn`: on the channel that it came on, and for the first time. */
  settles(
    process: SimulatedProcess,
    message: BrokerMessage | undefined,
    verdict: 'ack' | 'nack',
    isOwn: boolean,
  ): void;
  /** The process has heard that the broker has put a message into a queue. */
  confirmed(process: SimulatedProcess, site: CallSite, properties: Options.Publish, routingKey: string): void;
}

/** How long heartbeats take to notice that a machine is gone. */
const HEARTBEATS_MS = 20_000;

export function dialFor(
  world: World,
  broker: SimulatedBroker,
  process: SimulatedProcess,
  watch: AmqpWatch,
): Dial {
  const { time, random, faults, trace } = world;
  return (_endpoint, role, signal) =>
    new Promise((resolve, reject) => {
      if (!process.isAlive) return;
      const fault = faults.at('broker.dial');
      trace.note(time.nowMs, process.name, () => `broker.dial ${role}${inWords(fault)}`);
      if (fault?.kind === 'no-answer') return;
      if (fault?.kind === 'kill-before') {
        time.quietlyAfter(0, () => {
          world.kill(process);
        });
        return;
      }
      time.after(latencyMs(random), () => {
        process.enter(() => {
          if (signal.aborted || broker.isAway || fault?.kind === 'refused') {
            reject(new Error('connect ECONNREFUSED'));
            return;
          }
          const connection = new SimulatedConnection(world, broker, process, watch, role);
          signal.addEventListener('abort', () => {
            connection.abort();
          });
          resolve(connection as unknown as ChannelModel);
        });
      });
    });
}

class SimulatedConnection extends EventEmitter {
  readonly connection: { readonly serverProperties: { readonly version: string }; blocked: boolean };
  readonly world: World;
  readonly broker: SimulatedBroker;
  readonly process: SimulatedProcess;
  readonly watch: AmqpWatch;
  readonly #role: string;
  /** By which end they are open. */
  readonly #channelsHere = new Set<SimulatedChannel>();
  readonly #channelsThere = new Set<SimulatedChannel>();
  /** Frames that the broker does not read while it blocks publishing. */
  #held: (() => void)[] | undefined;
  /** The two ends learn of the end of the connection at different times. */
  #isOpenHere = true;
  #isOpenThere = true;
  #thereMs = 0;
  #hereMs = 0;
  #losesWrites = false;

  constructor(
    world: World,
    broker: SimulatedBroker,
    process: SimulatedProcess,
    watch: AmqpWatch,
    role: string,
  ) {
    super();
    this.world = world;
    this.broker = broker;
    this.process = process;
    this.watch = watch;
    this.#role = role;
    const isBlocked = role === 'publish' && broker.isBlocked;
    this.connection = { serverProperties: { version: '3.10.8' }, blocked: isBlocked };
    if (isBlocked) this.#held = [];
    broker.connections.add(this);
    process.onKill(() => {
      world.time.quietlyAfter(process.hasVanished ? HEARTBEATS_MS : 1, () => {
        this.#endThere();
      });
    });
  }

  get isOpen(): boolean {
    return this.#isOpenHere;
  }

  /** What is written from now on is lost, like everything behind a lost frame. */
  loseWrites(): void {
    this.#losesWrites = true;
  }

  /** A frame to the broker; it is lost when the connection ends before it arrives. */
  toBroker(lateMs: number, arrived: () => void): void {
    if (this.#losesWrites) return;
    const { time, random } = this.world;
    this.#thereMs = Math.max(this.#thereMs, time.nowMs + latencyMs(random) + lateMs);
    time.quietlyAfter(this.#thereMs - time.nowMs, () => {
      if (!this.#isOpenThere) return;
      if (this.#held === undefined) arrived();
      else this.#held.push(arrived);
    });
  }

  /** A frame to the process; those before it come first. */
  toProcess(lateMs: number, arrived: () => void): void {
    if (!this.#isOpenThere) return;
    const { time, random } = this.world;
    this.#hereMs = Math.max(this.#hereMs, time.nowMs + latencyMs(random) + lateMs);
    this.process.later(this.#hereMs - time.nowMs, () => {
      if (this.#isOpenHere) arrived();
    });
  }

  /** Both ends break: the broker knows at once, the process a little later. */
  cut(because: string): void {
    if (!this.#isOpenThere) return;
    this.#endThere();
    this.process.later(latencyMs(this.world.random), () => {
      this.endHere(new Error(because));
    });
  }

  /** The process destroys its socket. */
  abort(): void {
    if (!this.#isOpenHere) return;
    this.world.time.quietlyAfter(latencyMs(this.world.random), () => {
      this.#endThere();
    });
    this.endHere(new Error('aborted'));
  }

  endHere(error?: Error): void {
    if (!this.#isOpenHere) return;
    this.#isOpenHere = false;
    for (const channel of this.#channelsHere) channel.endHere();
    this.emit('close', error);
  }

  setBlocked(isBlocked: boolean): void {
    if (this.#role !== 'publish') return;
    if (!isBlocked) {
      const held = this.#held ?? [];
      this.#held = undefined;
      for (const arrived of held) arrived();
    } else this.#held ??= [];
    this.process.later(latencyMs(this.world.random), () => {
      if (!this.#isOpenHere) return;
      this.connection.blocked = isBlocked;
      this.emit(isBlocked ? 'blocked' : 'unblocked', 'low on memory');
    });
  }

  createChannel(): Promise<SimulatedChannel> {
    const channel = new SimulatedChannel(this);
    if (!this.#isOpenHere) return Promise.reject(new IllegalOperationError('Connection closed'));
    this.#channelsHere.add(channel);
    this.#channelsThere.add(channel);
    return channel.open();
  }

  createConfirmChannel(): Promise<SimulatedChannel> {
    return this.createChannel();
  }

  close(): Promise<void> {
    if (!this.#isOpenHere) return Promise.reject(new IllegalOperationError('Connection closed'));
    return new Promise((resolve) => {
      this.toBroker(0, () => {
        this.toProcess(0, () => {
          this.endHere();
          resolve();
        });
        this.#endThere();
      });
    });
  }

  endedHere(channel: SimulatedChannel): void {
    this.#channelsHere.delete(channel);
  }

  endedThere(channel: SimulatedChannel): void {
    this.#channelsThere.delete(channel);
  }

  #endThere(): void {
    this.#isOpenThere = false;
    this.broker.connections.delete(this);
    for (const channel of this.#channelsThere) channel.endThere();
  }
}

interface Unconfirmed {
  readonly callback: (error: Error | null) => void;
}

class SimulatedChannel extends EventEmitter {
  readonly #connection: SimulatedConnection;
  readonly #world: World;
  readonly #process: SimulatedProcess;
  readonly #unanswered = new Set<(error: Error) => void>();
  readonly #unconfirmed = new Set<Unconfirmed>();
  /** This side's view: deliveries that were not settled. */
  readonly #delivered = new Map<number, { readonly raw: ConsumeMessage; readonly message: BrokerMessage }>();
  /** The broker's view. */
  readonly #unacked = new Map<number, BrokerMessage>();
  #consumer: Consumer | undefined;
  #prefetch = 0;
  #lastTag = 0;
  #isOpenHere = true;
  #isOpenThere = true;
  /** The process has heard that it is open. */
  #isOpened = false;

  constructor(connection: SimulatedConnection) {
    super();
    this.#connection = connection;
    this.#world = connection.world;
    this.#process = connection.process;
  }

  open(): Promise<this> {
    return this.call(
      'open',
      () => this,
      () => {
        this.#isOpened = true;
      },
    );
  }

  // --- what the adapter calls ------------------------------------------------------------------------------------

  ack(raw: ConsumeMessage): void {
    this.#settle(raw, 'ack');
  }

  nack(raw: ConsumeMessage): void {
    this.#settle(raw, 'nack');
  }

  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    properties: Options.Publish,
    callback: (error: Error | null) => void,
  ): boolean {
    this.#throwIfClosed();
    const { broker, watch } = this.#connection;
    const site = this.#siteOf(exchange, routingKey);
    const fault = this.#ask(
      site,
      () => `${exchange || 'queue'} ${routingKey} ${String(properties.messageId)}`,
    );
    const one: Unconfirmed = { callback };
    this.#unconfirmed.add(one);
    const confirm = (error: Error | null, isRouted: boolean, lateMs = 0): void => {
      this.#toProcess(lateMs, () => {
        if (!this.#unconfirmed.delete(one)) return;
        if (isRouted) watch.confirmed(this.#process, site, properties, routingKey);
        callback(error);
      });
    };
    this.#toBroker(fault, () => {
      if (fault?.kind === 'nacked') {
        confirm(new Error('message nacked'), false);
        return;
      }
      const isRouted =
        fault?.kind !== 'unroutable' && broker.route(exchange, routingKey, content, properties);
      if (!isRouted) {
        this.#toProcess(0, () => {
          this.emit('return', { content, fields: { exchange, routingKey }, properties });
        });
      }
      if (fault?.kind === 'no-confirm') return;
      if (fault?.kind === 'channel-error-after') this.#fail('NOT_FOUND - no exchange');
      else confirm(null, isRouted, fault?.kind === 'late-reply' ? fault.ms : 0);
    });
    return true;
  }

  prefetch(count: number): Promise<object> {
    return this.call('prefetch', () => {
      this.#prefetch = count;
      return {};
    });
  }

  consume(_queue: string, receive: (message: ConsumeMessage | null) => void): Promise<object> {
    return this.call('consume', () => {
      this.#consumeThere(receive);
      return { consumerTag: 'c' };
    });
  }

  cancel(): Promise<object> {
    return this.call('cancel', () => {
      if (this.#consumer !== undefined) this.#connection.broker.stopConsuming(this.#consumer);
      return {};
    });
  }

  async close(): Promise<void> {
    await this.call('close', () => {
      this.endThere();
    });
    this.endHere();
  }

  checkQueue(): Promise<object> {
    return this.call('check', () => ({}));
  }

  checkExchange(): Promise<object> {
    return this.call('check', () => ({}));
  }

  assertQueue(): Promise<object> {
    return this.call('declare', () => ({}));
  }

  assertExchange(): Promise<object> {
    return this.call('declare', () => ({}));
  }

  bindQueue(): Promise<object> {
    return this.call('bind', () => ({}));
  }

  /** A method with a reply. */
  call<T>(what: string, effect: () => T, heard?: () => void): Promise<T> {
    this.#throwIfClosed();
    const fault = this.#ask('broker.call', () => what);
    return new Promise((resolve, reject) => {
      this.#unanswered.add(reject);
      this.#toBroker(fault, () => {
        const answer = effect();
        if (fault?.kind === 'no-answer') return;
        this.#connection.toProcess(fault?.kind === 'late-reply' ? fault.ms : 0, () => {
          if (!this.#unanswered.delete(reject)) return;
          heard?.();
          resolve(answer);
        });
      });
    });
  }

  // --- how it ends -------------------------------------------------------------------------------------------------

  endHere(error?: Error): void {
    if (!this.#isOpenHere) return;
    this.#isOpenHere = false;
    this.#connection.endedHere(this);
    if (error !== undefined) this.emit('error', error);
    const ended = error ?? new IllegalOperationError('Channel ended, no reply will be forthcoming');
    for (const reject of this.#unanswered) reject(ended);
    for (const { callback } of this.#unconfirmed) callback(new Error('channel closed'));
    this.#unanswered.clear();
    this.#unconfirmed.clear();
    this.emit('close');
  }

  /** What it held goes back into the queue, the oldest first. */
  endThere(): void {
    if (!this.#isOpenThere) return;
    this.#isOpenThere = false;
    this.#connection.endedThere(this);
    const { broker } = this.#connection;
    if (this.#consumer === undefined) return;
    broker.stopConsuming(this.#consumer);
    for (const message of [...this.#unacked.values()].reverse()) broker.requeue(message, this.#consumer);
    this.#unacked.clear();
  }

  /** The broker closes the channel. */
  #fail(because: string): void {
    this.endThere();
    this.#connection.toProcess(0, () => {
      this.endHere(new Error(because));
    });
  }

  // --- deliveries --------------------------------------------------------------------------------------------------

  #consumeThere(receive: (message: ConsumeMessage | null) => void): void {
    this.#consumer = {
      prefetch: this.#prefetch,
      inFlight: 0,
      deliver: (message) => {
        this.#deliver(message, receive);
      },
      cancel: () => {
        this.#toProcess(0, () => {
          receive(null);
        });
      },
    };
    this.#connection.broker.consume(this.#consumer);
  }

  #deliver(message: BrokerMessage, receive: (message: ConsumeMessage | null) => void): void {
    const tag = (this.#lastTag += 1);
    this.#unacked.set(tag, message);
    const fault = this.#ask('broker.deliver', () => `${String(message.properties.messageId)} tag ${tag}`);
    if (this.#breaksBefore(fault)) return;
    const raw = {
      content: message.content,
      fields: {
        consumerTag: 'c',
        deliveryTag: tag,
        redelivered: message.deliveries > 1,
        exchange: message.exchange,
        routingKey: message.routingKey,
      },
      properties: message.properties,
    } as unknown as ConsumeMessage;
    this.#toProcess(0, () => {
      this.#delivered.set(tag, { raw, message });
      this.#connection.watch.delivered(this.#process, message);
      receive(raw);
      this.#afterwards(fault);
      if (fault?.kind === 'consumer-cancelled') receive(null);
    });
  }

  #settle(raw: ConsumeMessage, verdict: 'ack' | 'nack'): void {
    this.#throwIfClosed();
    const tag = raw.fields.deliveryTag;
    const delivered = this.#delivered.get(tag);
    const isOwn = delivered?.raw === raw;
    this.#connection.watch.settles(this.#process, delivered?.message, verdict, isOwn);
    this.#delivered.delete(tag);
    const fault = this.#ask('broker.ack', () => `${verdict} tag ${tag}`);
    this.#toBroker(fault, () => {
      const message = this.#unacked.get(tag);
      if (message === undefined || this.#consumer === undefined) {
        this.#fail('PRECONDITION_FAILED - unknown delivery tag');
        return;
      }
      this.#unacked.delete(tag);
      if (verdict === 'ack') this.#connection.broker.settled(this.#consumer);
      else this.#connection.broker.requeue(message, this.#consumer);
    });
  }

  // --- frames and their faults -------------------------------------------------------------------------------------

  #ask(site: CallSite, label: () => string): Fault | undefined {
    const { faults, time, trace } = this.#world;
    const fault = this.#process.isAlive ? faults.at(site) : undefined;
    trace.note(time.nowMs, this.#process.name, () => `${site} ${label()}${inWords(fault)}`);
    return fault;
  }

  #toBroker(fault: Fault | undefined, arrived: () => void): void {
    if (!this.#process.isAlive || this.#breaksBefore(fault)) return;
    this.#connection.toBroker(fault?.kind === 'late-request' ? fault.ms : 0, () => {
      if (!this.#isOpenThere) return;
      arrived();
      this.#afterwards(fault);
    });
  }

  #toProcess(lateMs: number, arrived: () => void): void {
    if (!this.#isOpenThere) return;
    this.#connection.toProcess(lateMs, () => {
      if (this.#isOpenHere) arrived();
    });
  }

  /** Whether the frame is lost before it arrives. */
  #breaksBefore(fault: Fault | undefined): boolean {
    const { time } = this.#world;
    switch (fault?.kind) {
      case 'cut-before':
        this.#connection.loseWrites();
        time.quietlyAfter(0, () => {
          this.#connection.cut('read ECONNRESET');
        });
        return true;
      case 'kill-before':
        this.#connection.loseWrites();
        time.quietlyAfter(0, () => {
          this.#world.kill(this.#process);
        });
        return true;
      case 'channel-error':
        time.quietlyAfter(0, () => {
          // A channel that is not open yet goes with its connection only.
          if (!this.#isOpened) this.#connection.cut('INTERNAL_ERROR');
          else if (this.#isOpenThere) this.#fail('INTERNAL_ERROR');
        });
        return true;
      case 'stop-before':
        time.quietlyAfter(0, () => {
          this.#world.stop(this.#process, fault.ms);
        });
        return false;
      default:
        return false;
    }
  }

  #afterwards(fault: Fault | undefined): void {
    switch (fault?.kind) {
      case 'cut-after':
        this.#connection.cut('read ECONNRESET');
        break;
      case 'kill-after':
        this.#world.time.quietlyAfter(0, () => {
          this.#world.kill(this.#process);
        });
        break;
      case 'stop-after':
        this.#world.time.quietlyAfter(0, () => {
          this.#world.stop(this.#process, fault.ms);
        });
        break;
      default:
    }
  }

  #siteOf(exchange: string, routingKey: string): CallSite {
    const { announcements, parked } = this.#connection.broker.names;
    if (exchange === announcements) return 'broker.announce';
    return routingKey === parked ? 'broker.park' : 'broker.copy';
  }

  #throwIfClosed(): void {
    if (!this.#isOpenHere || !this.#connection.isOpen) throw new IllegalOperationError('Channel closed');
  }
}
