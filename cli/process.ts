import { isHangupIgnored } from '../src/hangup.ts'
import { environment } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { PROCESS_IO } from './io.ts'
import { main } from './main.ts'

/** Runs `tallystick ARGS…` as this process, with its streams and exit code. */
export async function runAsProcess(args: readonly string[]): Promise<void> {
  // The reader closed the output (`| head`), so the program can end.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE')
      process.stderr.write(`tallystick: the output cannot be written (${error.code})\n`)
    process.exit(EXIT.io)
  })
  // Errors are ignored, because the work continues without a reader of stderr.
  process.stderr.on('error', () => {})
  for (const line of environment.warnings()) process.stderr.write(`${line}\n`)
  if (isHangupIgnored()) process.on('SIGHUP', () => {})
  process.exitCode = await main(args, PROCESS_IO)
}
