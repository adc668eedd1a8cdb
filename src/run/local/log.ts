import type { Logger } from 'pino'
import { openLog } from '../../observe/log.ts'
import { StandardOutput } from '../../observe/standard-output.ts'

/**
 * Opens the log of `npm start`: JSON lines, or coloured lines at a terminal. Server and worker write to the same
 * output. `dropped` is called for each dropped line.
 */
export async function openLocalLog(level: string, dropped: () => void): Promise<Logger> {
  const format = process.stdout.isTTY === true ? await makeReadable() : undefined
  return openLog(level, new StandardOutput({ dropped, ...(format && { format }) }))
}

async function makeReadable(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty')
  return prettyFactory({ colorize: true, translateTime: 'SYS:HH:MM:ss', ignore: 'followers,queues' })
}
