import { Metrics } from '../../../src/observe/metrics/metrics.ts'
import { parseConfig } from '../../../src/run/config.ts'
import { startServer } from '../../../src/run/server.ts'
import { startWorker } from '../../../src/run/worker.ts'
import { ProductProcess, WORKER_IS_READY } from './product-process.ts'

export type PartName = 'api' | 'worker'

export type PartOptions = {
  readonly env: NodeJS.ProcessEnv
  /**
   * Path of the log; null if the part runs in this process. A part in this process costs a fraction of the CPU, but it
   * cannot be killed.
   */
  readonly log: string | null
  readonly root?: string
  readonly nodeArgs?: readonly string[]
  /** Time that open answers get when a server in this process (`startServer`) is stopped. */
  readonly closeStreamsMs?: number
}

export type Part = {
  /** The process; null if the part runs in this process. */
  readonly process: ProductProcess | null
  /** URL of a server; null if the part is a worker. */
  readonly url: string | null
  readonly metrics: Metrics | null
  end(signal: NodeJS.Signals): Promise<number | string>
}

/**
 * Starts a part and resolves when it is ready. Rejects if a worker cannot reach its database, because such a worker
 * ends.
 */
export async function startPart(name: PartName, options: PartOptions): Promise<Part> {
  if (options.log === null) return startHere(name, options)
  const started = spawnPart(name, { ...options, log: options.log })
  const url = name === 'api' ? `http://127.0.0.1:${options.env['TALLYSTICK_PORT']}` : null
  await (url === null ? started.says(WORKER_IS_READY) : started.isReadyAt(url)).catch(async (error) => {
    await started.end('SIGKILL')
    throw error
  })
  return { process: started, url, metrics: null, end: (signal) => started.end(signal) }
}

/** Starts the process of a part without waiting until it is ready. */
export function spawnPart(
  name: PartName,
  { log, env, root, nodeArgs }: PartOptions & { readonly log: string },
): ProductProcess {
  return new ProductProcess({
    env,
    ...(root && { root }),
    ...(nodeArgs && { nodeArgs }),
    script: name === 'api' ? 'server' : 'worker',
    output: log,
  })
}

async function startHere(name: PartName, { env, closeStreamsMs }: PartOptions): Promise<Part> {
  const metrics = new Metrics()
  const config = parseConfig({ ...env, TALLYSTICK_LOG_LEVEL: 'silent' })
  const service =
    name === 'api' ? await startServer(config, closeStreamsMs, metrics) : await startWorker(config, metrics)
  let closing: Promise<void> | null = null
  return {
    process: null,
    url: 'url' in service ? (service.url as string) : null,
    metrics,
    async end(signal) {
      if (signal === 'SIGKILL') throw new Error('only processes can be killed')
      closing ??= service.close()
      await closing
      return 0
    },
  }
}
