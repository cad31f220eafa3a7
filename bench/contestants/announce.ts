import type { ChannelModel } from 'amqplib';
import type { OrderMessage } from './order-message.ts';

export interface Announcer {
  /** Resolves when the broker has confirmed it. */
  announce(order: OrderMessage, reference: string): Promise<void>;
}

/** Persistent messages on one confirm channel, as many at a time as there are orders. */
export async function openAnnouncer(connection: ChannelModel, exchange: string): Promise<Announcer> {
  const channel = await connection.createConfirmChannel();
  return {
    announce: (order, reference) =>
      new Promise((resolve, reject) => {
        const body = {
          orderId: String(order.id),
          customerId: String(order.customerId),
          status: 'ready-to-ship',
          reason: null,
          amountMinor: String(Math.round(order.chargeAmount * 100)),
          currency: 'USD',
          authorizationId: reference,
          occurredAt: new Date().toISOString(),
        };
        const properties = { persistent: true, messageId: `order-${order.id}-ready-to-ship-1` };
        channel.publish(
          exchange,
          'order.ready-to-ship',
          Buffer.from(JSON.stringify(body)),
          properties,
          (error: unknown) => {
            if (error instanceof Error) reject(error);
            else resolve();
          },
        );
      }),
  };
}
