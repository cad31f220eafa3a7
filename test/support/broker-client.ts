import { setTimeout as sleep } from 'node:timers/promises';
import amqp, { type ConfirmChannel, type ConsumeMessage, type Message, type Options } from 'amqplib';

/** A message as a test looks at it. */
export interface Received {
  readonly routingKey: string;
  readonly exchange: string;
  readonly redelivered: boolean;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly properties: Message['properties'];
}

export interface QueueCounts {
  readonly ready: number;
  readonly consumers: number;
}

export interface Publication {
  /** The default exchange, which routes by queue name, when left out. */
  readonly exchange?: string;
  readonly routingKey: string;
  /** Anything that is no Buffer is sent as JSON. */
  readonly body: unknown;
  readonly properties?: Options.Publish;
}

export interface BrokerClient {
  declareQueue(name: string, queueArguments?: Readonly<Record<string, unknown>>): Promise<void>;
  declareExchange(name: string, type?: 'topic' | 'fanout' | 'direct'): Promise<void>;
  bind(queue: string, exchange: string, pattern: string): Promise<void>;
  /** Persistent; resolves when the broker has confirmed, rejects when it has not or no queue took it. */
  publish(publication: Publication): Promise<void>;
  /** From now on, all that this exchange routes by `pattern` appears in the array returned. */
  collect(exchange: string, pattern?: string): Promise<readonly Received[]>;
  /** Takes the first message off a queue for good; undefined when there is none. */
  take(queue: string): Promise<Received | undefined>;
  /** Takes all that is ready on a queue now, for good. */
  takeAll(queue: string): Promise<Received[]>;
  /** Undefined when there is no such queue. Messages that a consumer has not settled are not `ready`. */
  counts(queue: string): Promise<QueueCounts | undefined>;
  deleteQueue(name: string): Promise<void>;
  deleteExchange(name: string): Promise<void>;
  /** Never rejects: a connection that is lost is closed. */
  close(): Promise<void>;
}

/** What tests do to a broker by themselves, beside the worker under test. Throws what goes wrong at once. */
export async function connectBroker(url: string): Promise<BrokerClient> {
  const connection = await amqp.connect(url);
  // Who awaits an answer learns of a lost connection by its rejection.
  connection.on('error', () => undefined);
  const channel = await openChannel();
  const returned = new Set<string>();
  channel.on('return', ({ fields, content }) => {
    returned.add(fingerprint(fields.exchange, fields.routingKey, content));
  });

  async function openChannel(): Promise<ConfirmChannel> {
    const opened = await connection.createConfirmChannel();
    opened.on('error', () => undefined);
    return opened;
  }

  /** What the broker answers with an error closes the channel it was asked on. */
  async function onScratchChannel<T>(ask: (scratch: ConfirmChannel) => Promise<T>): Promise<T> {
    const scratch = await openChannel();
    const answer = await ask(scratch);
    await scratch.close();
    return answer;
  }

  return {
    async declareQueue(name, queueArguments = { 'x-queue-type': 'quorum' }) {
      await onScratchChannel((scratch) =>
        scratch.assertQueue(name, { durable: true, arguments: queueArguments }),
      );
    },
    async declareExchange(name, type = 'topic') {
      await onScratchChannel((scratch) => scratch.assertExchange(name, type, { durable: true }));
    },
    async bind(queue, exchange, pattern) {
      await onScratchChannel((scratch) => scratch.bindQueue(queue, exchange, pattern));
    },
    publish({ exchange = '', routingKey, body, properties }) {
      const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
      const options = { persistent: true, ...properties, mandatory: true };
      return new Promise((resolve, reject) => {
        const fail = (why: string): void => {
          reject(new Error(`"${routingKey}" to exchange "${exchange}" ${why}`));
        };
        channel.publish(exchange, routingKey, bytes, options, (error: unknown) => {
          // A return comes before the confirm of the same message.
          if (error instanceof Error) fail(`was not confirmed: ${error.message}`);
          else if (returned.delete(fingerprint(exchange, routingKey, bytes))) fail('was routed to no queue');
          else resolve();
        });
      });
    },
    async collect(exchange, pattern = '#') {
      const received: Received[] = [];
      const { queue } = await channel.assertQueue('', { exclusive: true, autoDelete: true });
      await channel.bindQueue(queue, exchange, pattern);
      const onMessage = (message: ConsumeMessage | null): void => {
        if (message) received.push(asReceived(message));
      };
      await channel.consume(queue, onMessage, { noAck: true });
      return received;
    },
    async take(queue) {
      const message = await onScratchChannel((scratch) => scratch.get(queue, { noAck: true }));
      return message === false ? undefined : asReceived(message);
    },
    takeAll(queue) {
      return onScratchChannel(async (scratch) => {
        const all: Received[] = [];
        for (;;) {
          const message = await scratch.get(queue, { noAck: true });
          if (message === false) return all;
          all.push(asReceived(message));
        }
      });
    },
    async counts(queue) {
      try {
        const { messageCount, consumerCount } = await onScratchChannel((scratch) =>
          scratch.checkQueue(queue),
        );
        return { ready: messageCount, consumers: consumerCount };
      } catch (error) {
        if ((error as { code?: number }).code === notFound) return undefined;
        throw error;
      }
    },
    async deleteQueue(name) {
      await onScratchChannel((scratch) => scratch.deleteQueue(name));
    },
    async deleteExchange(name) {
      await onScratchChannel((scratch) => scratch.deleteExchange(name));
    },
    async close() {
      // On a peer that is frozen, or a socket that was just reset, amqplib waits for ever.
      const gaveUp = sleep(closeTimeoutMs, undefined, { ref: false });
      await Promise.race([connection.close().catch(() => undefined), gaveUp]);
    },
  };
}

const notFound = 404;
const closeTimeoutMs = 1_000;

/** Nothing is added to a message to know it by: the worker under test must see what the test sent. */
function fingerprint(exchange: string, routingKey: string, content: Buffer): string {
  return JSON.stringify([exchange, routingKey, content.toString('base64')]);
}

function asReceived({ content, fields, properties }: Message): Received {
  const { routingKey, exchange, redelivered } = fields;
  return { routingKey, exchange, redelivered, body: content, headers: properties.headers ?? {}, properties };
}
