/**
 * A broker that does what a test says, one frame's worth at a time, behind amqplib's promise interface: delivery
 * tags count from 1 on every channel, confirms can be negative, late or never come, messages come back, consumers
 * are cancelled and channels and connections die at any moment. Like amqplib, a channel that is closed throws on
 * ack and publish, and fails its unconfirmed messages.
 */
import { EventEmitter } from 'node:events';

import { IllegalOperationError, type ChannelModel, type ConsumeMessage, type Options } from 'amqplib';

import type { Dial } from '../../src/adapters/rabbitmq/connection.ts';

type ConfirmCallback = (error: Error | null) => void;

export interface PublishedMessage {
  readonly exchange: string;
  readonly routingKey: string;
  readonly content: Buffer;
  readonly options: Options.Publish;
  confirm(error?: Error): void;
  /** `basic.return`, which the broker sends before the confirm. */
  giveBack(): void;
}

export class ScriptedChannel extends EventEmitter {
  readonly acked: number[] = [];
  readonly givenBack: number[] = [];
  readonly published: PublishedMessage[] = [];
  prefetched: number | undefined;
  /** What happens to a message at once; `wait` leaves it to the test. */
  onPublish: 'confirm' | 'return' | 'nack' | 'wait' | 'throw' = 'confirm';
  hasRoom = true;
  /** Set: the named calls are never answered; a consumer is begun all the same. */
  silentOn = new Set<'consume' | 'cancel' | 'close' | 'prefetch'>();
  isClosed = false;
  /** Closed by `close`, which flushes, and not by the end of its connection. */
  isFlushed = false;
  consumer: ((message: ConsumeMessage | null) => void) | undefined;
  readonly #unconfirmed = new Set<ConfirmCallback>();
  #lastTag = 0;

  /** Hands a message to the consumer and returns its tag. */
  deliver(
    body: string,
    headers: Record<string, unknown> = {},
    properties: Record<string, unknown> = {},
  ): number {
    this.#lastTag += 1;
    const message = {
      content: Buffer.from(body),
      fields: {
        consumerTag: 'c',
        deliveryTag: this.#lastTag,
        redelivered: false,
        exchange: '',
        routingKey: 'orders',
      },
      properties: { headers, ...properties },
    };
    if (this.consumer === undefined) throw new Error('nobody consumes on this channel');
    this.consumer(message as unknown as ConsumeMessage);
    return this.#lastTag;
  }

  /** The broker closes the channel. */
  die(text: string): void {
    if (this.isClosed) return;
    this.emit('error', new Error(text));
    this.end();
  }

  end(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const callback of this.#unconfirmed) callback(new Error('channel closed'));
    this.#unconfirmed.clear();
    this.emit('close');
  }

  ack(message: ConsumeMessage): void {
    this.#throwIfClosed();
    this.acked.push(message.fields.deliveryTag);
  }

  nack(message: ConsumeMessage): void {
    this.#throwIfClosed();
    this.givenBack.push(message.fields.deliveryTag);
  }

  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    options: Options.Publish,
    callback: ConfirmCallback,
  ): boolean {
    this.#throwIfClosed();
    if (this.onPublish === 'throw') throw new RangeError('Encoded field table exceeds the buffer');
    this.#unconfirmed.add(callback);
    const message: PublishedMessage = {
      exchange,
      routingKey,
      content,
      options,
      confirm: (error) => {
        if (this.#unconfirmed.delete(callback)) callback(error ?? null);
      },
      giveBack: () => {
        this.emit('return', { content, fields: { exchange, routingKey }, properties: options });
      },
    };
    this.published.push(message);
    const { onPublish } = this;
    if (onPublish !== 'wait') {
      queueMicrotask(() => {
        if (onPublish === 'return') message.giveBack();
        message.confirm(onPublish === 'nack' ? new Error('message nacked') : undefined);
      });
    }
    return this.hasRoom;
  }

  prefetch(count: number): Promise<object> {
    this.prefetched = count;
    return this.#answer('prefetch', {});
  }

  consume(_queue: string, consumer: (message: ConsumeMessage | null) => void): Promise<object> {
    this.consumer = consumer;
    return this.#answer('consume', { consumerTag: 'c' });
  }

  async cancel(): Promise<object> {
    const answer = await this.#answer('cancel', {});
    this.consumer = undefined;
    return answer;
  }

  async close(): Promise<void> {
    this.#throwIfClosed();
    await this.#answer('close', {});
    this.isFlushed = true;
    this.end();
  }

  #answer<T>(call: 'consume' | 'cancel' | 'close' | 'prefetch', answer: T): Promise<T> {
    return this.silentOn.has(call) ? new Promise(() => undefined) : Promise.resolve(answer);
  }

  #throwIfClosed(): void {
    if (this.isClosed) throw new IllegalOperationError('Channel closed');
  }
}

export class ScriptedConnection extends EventEmitter {
  readonly connection = { serverProperties: { product: 'RabbitMQ', version: '3.10.8' } };
  readonly channels: ScriptedChannel[] = [];
  /** Prepares every channel before anybody gets it. */
  readonly #prepare: (channel: ScriptedChannel) => void;
  #isClosed = false;

  constructor(prepare: (channel: ScriptedChannel) => void) {
    super();
    this.#prepare = prepare;
  }

  createChannel(): Promise<ScriptedChannel> {
    if (this.#isClosed) return Promise.reject(new Error('Connection closed'));
    const channel = new ScriptedChannel();
    this.#prepare(channel);
    this.channels.push(channel);
    return Promise.resolve(channel);
  }

  createConfirmChannel(): Promise<ScriptedChannel> {
    return this.createChannel();
  }

  close(): Promise<void> {
    this.die();
    return Promise.resolve();
  }

  /** A forced close says nothing on `error`. */
  die(error?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const channel of this.channels) channel.end();
    this.emit('close', error);
  }
}

export class ScriptedBroker {
  readonly connections: ScriptedConnection[] = [];
  readonly dialled: string[] = [];
  /** What every new channel is told before it is used. */
  prepareChannel: (channel: ScriptedChannel) => void = () => undefined;
  /** Hosts that refuse. */
  readonly down = new Set<string>();

  dial: Dial = (endpoint, _role, signal) => {
    this.dialled.push(endpoint.host);
    if (this.down.has(endpoint.host)) return Promise.reject(new Error('connect ECONNREFUSED'));
    const connection = new ScriptedConnection((channel) => {
      this.prepareChannel(channel);
    });
    signal.addEventListener('abort', () => {
      connection.die(new Error('aborted'));
    });
    this.connections.push(connection);
    return Promise.resolve(connection as unknown as ChannelModel);
  };

  get connection(): ScriptedConnection {
    return lastOf(this.connections, 'connection');
  }

  get channel(): ScriptedChannel {
    return lastOf(this.connection.channels, 'channel');
  }
}

function lastOf<T>(items: readonly T[], what: string): T {
  const last = items.at(-1);
  if (last === undefined) throw new Error(`no ${what} was opened`);
  return last;
}
