import { isHangupIgnored } from '../src/hangup.ts'
import { environment } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { PROCESS_IO } from './io.ts'
import { main } from './main.ts'

/** `tallystick ARGS…` as this process: its standard streams, its exit code. */
export async function runAsProcess(args: readonly string[]): Promise<void> {
  // The reader of the output has seen enough (`| head`): there is nobody left to write to.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE')
      process.stderr.write(`tallystick: the output cannot be written (${error.code})\n`)
    process.exit(EXIT.io)
  })
  // The work goes on, whether somebody reads about it or not.
  process.stderr.on('error', () => {})
  for (const line of environment.warnings()) process.stderr.write(`${line}\n`)
  if (isHangupIgnored()) process.on('SIGHUP', () => {})
  process.exitCode = await main(args, PROCESS_IO)
}
