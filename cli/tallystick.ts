#!/usr/bin/env node
import { EXIT } from './exit-codes.ts'
import { PROCESS_IO } from './io.ts'
import { main } from './main.ts'

// Whoever reads the output has seen enough (`| head`): nothing is left to say, and nobody to say it to.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.io)
  throw error
})

process.exitCode = await main(process.argv.slice(2), PROCESS_IO)
