import type { AddCommand } from '../context.ts';
import { addPublishCommand } from './orders-publish.ts';
import { addReopenCommand } from './orders-reopen.ts';
import { addShowCommand } from './orders-show.ts';

export const addOrdersCommand: AddCommand = (program, context) => {
  const { orderPublisher, orderHistory } = context.parts;
  if (orderPublisher === undefined && orderHistory === undefined) return;
  const orders = program.command('orders').summary('publish orders, and see what became of one');
  addPublishCommand(orders, context);
  addShowCommand(orders, context);
  addReopenCommand(orders, context);
};
