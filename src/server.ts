import { buildApp } from './app.ts'
import { type Config, parseConfig } from './config.ts'
import { openDeps } from './deps.ts'
import { runProcess, type Service } from './run-process.ts'

/**
 * Opens the database, then listens. `close` takes no new requests, answers those that it has, lets the appender
 * commit what it took, and closes the database.
 */
export async function startServer(config: Config): Promise<Service & { readonly url: string }> {
  const deps = await openDeps(config)
  const app = buildApp(deps)
  try {
    const url = await app.listen({ host: config.host, port: config.port })
    return {
      url,
      async close() {
        await app.close()
        await deps.close()
      },
    }
  } catch (error) {
    await deps.close()
    throw error
  }
}

if (import.meta.main) await runProcess('server', () => startServer(parseConfig(process.env)))
