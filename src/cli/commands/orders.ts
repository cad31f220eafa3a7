import type { AddCommand } from '../context.ts';
import { addExplainCommand } from './orders-explain.ts';
import { addListCommand } from './orders-list.ts';
import { addPublishCommand } from './orders-publish.ts';
import { addReopenCommand } from './orders-reopen.ts';
import { addShowCommand } from './orders-show.ts';
import { addValidateCommand } from './orders-validate.ts';

export const addOrdersCommand: AddCommand = (program, context) => {
  const orders = program.command('orders').summary('find, explain, check and publish orders');
  addListCommand(orders, context);
  addShowCommand(orders, context);
  addExplainCommand(orders, context);
  addValidateCommand(orders, context);
  addPublishCommand(orders, context);
  addReopenCommand(orders, context);
};
