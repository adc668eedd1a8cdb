import { EXIT } from './exit-codes.ts'
import { PROCESS_IO } from './io.ts'
import { main } from './main.ts'

/** `tallystick ARGS…` as this process: its standard streams, its exit code. */
export async function runAsProcess(args: readonly string[]): Promise<void> {
  // Whoever reads the output has seen enough (`| head`): nothing is left to say, and nobody to say it to.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE')
      process.stderr.write(`tallystick: the output cannot be written (${error.code})\n`)
    process.exit(EXIT.io)
  })
  // What is under way goes on, whether somebody reads about it or not.
  process.stderr.on('error', () => {})
  process.exitCode = await main(args, PROCESS_IO)
}
