import { randomBytes } from 'node:crypto';
import { rabbitmqctl, testServices } from './services.ts';

export interface BrokerUser {
  readonly name: string;
  /** Of the vhost, with the user's name and password. */
  readonly url: string;
  /** Patterns for configure, write and read. */
  allow(configure: string, write: string, read: string): Promise<void>;
  drop(): Promise<void>;
}

/** A user of one test's own on the private broker, without any permission yet. */
export async function createBrokerUser(
  options: { readonly name?: string; readonly password?: string; readonly vhost?: string } = {},
): Promise<BrokerUser> {
  const { name = `t-${randomBytes(6).toString('hex')}`, password = randomBytes(6).toString('hex') } = options;
  const { vhost = '/' } = options;
  await rabbitmqctl('add_user', name, password);
  const url = new URL(testServices().amqpUrl);
  url.username = encodeURIComponent(name);
  url.password = encodeURIComponent(password);
  url.pathname = `/${encodeURIComponent(vhost)}`;
  return {
    name,
    url: url.href,
    async allow(configure, write, read) {
      await rabbitmqctl('set_permissions', '--vhost', vhost, name, configure, write, read);
    },
    async drop() {
      await rabbitmqctl('delete_user', name);
    },
  };
}
