/** Downstream: writes down every announcement, then acks it. */
import { openSteadyReceiver } from '../support/steady-receiver.ts';
import { record } from './files.ts';

export interface ReceiverTask {
  readonly folder: string;
  readonly urls: string;
  readonly queue: string;
  readonly exchange: string;
}

/** A line of receipts.ndjson. */
export interface Receipt {
  readonly atMs: number;
  readonly eventId: string | undefined;
  readonly correlationId: string | undefined;
  readonly routingKey: string;
  readonly body: {
    readonly orderId: string;
    readonly status: string;
    readonly amountMinor: string;
    readonly currency: string;
    readonly authorizationId: string | null;
  };
}

const { folder, urls, queue, exchange } = JSON.parse(process.argv[2] ?? '') as ReceiverTask;
const receiver = openSteadyReceiver({
  urls,
  queue,
  prepare: async (channel) => {
    await channel.assertExchange(exchange, 'topic', { durable: true });
    await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
    await channel.bindQueue(queue, exchange, '#');
  },
  onMessage: ({ content, fields, properties }) => {
    record(folder, 'receipts', {
      atMs: Date.now(),
      eventId: properties.messageId as unknown,
      correlationId: properties.correlationId as unknown,
      routingKey: fields.routingKey,
      body: JSON.parse(content.toString()) as unknown,
    });
  },
});
process.once('SIGTERM', () => void receiver.close());
