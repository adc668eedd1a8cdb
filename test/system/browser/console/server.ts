import pg from 'pg'
import { Tallystick } from '../../../../sdk/client.ts'
import type { NewLedger } from '../../../../sdk/resources/ledgers.ts'
import { post } from '../../../helpers/post.ts'
import { startHere } from '../../deployment/deployment.ts'

/** A server with its own worker and Postgres. Other servers of this machine can reach it. */
export type Served = {
  readonly url: string
  /** Creates a ledger. Returns its first agent, with a key and a client of that agent. */
  newLedger(
    name: string,
  ): Promise<{ readonly made: NewLedger; readonly client: Tallystick; readonly key: string }>
  clientOf(key: string): Tallystick
  tamper(text: string, values: unknown[]): Promise<number>
  stopServer(): Promise<unknown>
  close(): Promise<void>
}

export async function serve(): Promise<Served> {
  // Streams are closed immediately, because browsers leave them open.
  const deployment = await startHere({}, { closeStreamsMs: 0, publicly: async (url) => url })
  const { url, operatorKey, superuserUrl } = deployment
  const clientOf = (apiKey: string) => new Tallystick({ baseUrl: url, apiKey })
  return {
    url,
    clientOf,
    async newLedger(name) {
      const made = await post<NewLedger>(`${url}/v1/ledgers`, operatorKey, { name, agent: 'operations' })
      return { made, client: clientOf(made.key.key), key: made.key.key }
    },
    async tamper(text, values) {
      const client = new pg.Client({ connectionString: superuserUrl })
      await client.connect()
      await client.query('set session_replication_role = replica')
      const { rowCount } = await client.query(text, values)
      await client.end()
      return rowCount ?? 0
    },
    stopServer: () => deployment.stopApi(),
    close: () => deployment.stop(),
  }
}
