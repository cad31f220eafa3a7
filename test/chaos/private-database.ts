import type { Keeper, Kept } from '../support/private-services.ts';
import { findPostgres, freePorts, preparePostgres } from '../support/private-services.ts';

/** A PostgreSQL server that may be crashed. */
export class PrivateDatabase {
  readonly url: string;
  readonly #start: () => Promise<Kept>;
  #server: Kept;

  private constructor(url: string, start: () => Promise<Kept>, server: Kept) {
    this.url = url;
    this.#start = start;
    this.#server = server;
  }

  static async start(keeper: Keeper, directory: string): Promise<PrivateDatabase> {
    const binaries = findPostgres();
    if (binaries === undefined) throw new Error('chaos needs PostgreSQL to be installed');
    const [port = 0] = await freePorts(1);
    // A crash of the server, other than one of the machine, loses nothing that was written without fsync.
    const { url, start } = await preparePostgres({ keeper, binaries, directory, port, fsync: false });
    return new PrivateDatabase(url, start, await start());
  }

  /** `pg_ctl stop -m immediate`: every session is ended at once, nothing is written, the next start recovers. */
  async crash(): Promise<void> {
    process.kill(this.#server.pid, 'SIGQUIT');
    await this.#server.exited;
  }

  /** After a crash; resolves when it answers. */
  async startAgain(): Promise<void> {
    this.#server = await this.#start();
  }
}
