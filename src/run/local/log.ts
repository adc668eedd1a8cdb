import type { DestinationStream, Logger } from 'pino'
import { openLog } from '../../observe/log.ts'

/** For a person at a terminal the same lines in colours and without JSON. Server and worker write to the same place. */
export async function openLocalLog(level: string): Promise<Logger> {
  return process.stdout.isTTY === true ? openLog(level, await openReadableLines()) : openLog(level)
}

async function openReadableLines(): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty')
  return pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', ignore: 'followers,queues', sync: true })
}
