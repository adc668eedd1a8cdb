import pg from 'pg'
import { Tallystick } from '../../../../sdk/client.ts'
import type { NewLedger } from '../../../../sdk/resources/ledgers.ts'
import { startServer } from '../../../../src/run/server.ts'
import { startWorker } from '../../../../src/run/worker.ts'
import { post } from '../../../helpers/deployment.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { startScratch } from '../../../helpers/scratch.ts'

/** A server with its worker and a Postgres of its own, which other servers of this machine can reach. */
export type Served = {
  readonly url: string
  /** A ledger of its own: its first agent, and a client with the key of that. */
  newLedger(
    name: string,
  ): Promise<{ readonly made: NewLedger; readonly client: Tallystick; readonly key: string }>
  clientOf(key: string): Tallystick
  /** As the database's superuser, past every defence of the database. */
  tamper(text: string, values: unknown[]): Promise<number>
  /** The server alone: the worker and the database go on. */
  stopServer(): Promise<void>
  close(): Promise<void>
}

export async function serve(): Promise<Served> {
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const { config, operatorKey, superuserUrl, stop } = await startScratch({
    TALLYSTICK_PORT: port,
    TALLYSTICK_PUBLIC_URL: publicUrl,
    TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.0/8',
  })
  const server = await startServer(config, 0)
  const worker = await startWorker(config)
  const clientOf = (apiKey: string) => new Tallystick({ baseUrl: server.url, apiKey })
  let isStopped = false
  const stopServer = async () => {
    if (!isStopped) await server.close()
    isStopped = true
  }
  return {
    url: server.url,
    clientOf,
    async newLedger(name) {
      const made = await post<NewLedger>(`${server.url}/v1/ledgers`, operatorKey, {
        name,
        agent: 'operations',
      })
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
    stopServer,
    async close() {
      await worker.close()
      await stopServer()
      await stop()
    },
  }
}
